#include "src/hlo/evaluator_kernel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace kiln::hlo::evaluator {
namespace {

constexpr int64_t kBlock = 128;
constexpr int kMaxOperands = 3;

struct alignas(16) Block {
  std::byte bytes[kBlock * sizeof(Complex)];
};

void LoadBlock(PrimitiveType type, const std::byte* source, bool splat, int64_t n, Block* block) {
  WithValueClass(
      type, [&](auto zero) { LoadElements(type, source, splat, n, reinterpret_cast<decltype(zero)*>(block->bytes)); });
}

void StoreBlock(PrimitiveType type, const Block& block, int64_t n, std::byte* destination) {
  WithValueClass(type, [&](auto zero) {
    StoreElements(type, reinterpret_cast<const decltype(zero)*>(block.bytes), n, destination);
  });
}

const std::byte* ElementOf(const KernelOperand& operand, int width, int64_t i) {
  return operand.data + (operand.splat ? 0 : i * width);
}

void StoreAs(PrimitiveType type, Complex value, std::byte* out) {
  const double real = value.real();
  if (IsComplex(type)) {
    StoreElements(type, &value, 1, out);
  } else if (IsFloating(type)) {
    StoreElements(type, &real, 1, out);
  } else if (type == PrimitiveType::kPred) {
    *out = std::byte{value != Complex(0, 0)};
  } else {
    StoreReal(type, real, out);
  }
}

// Integers wrap, floats saturate.
template <typename T>
void StoreAs(PrimitiveType type, T value, std::byte* out) {
  const bool wraps = IsIntegral(type) || type == PrimitiveType::kPred;
  if (std::is_integral_v<T> ? wraps : IsFloating(type)) {
    StoreElements(type, &value, 1, out);
  } else {
    StoreReal(type, static_cast<long double>(value), out);  // exact: 64 bits of mantissa
  }
}

void Convert(const KernelSpec& spec, int64_t n, const KernelOperand* in, std::byte* out) {
  const int from_width = ByteWidth(spec.operand_type), to_width = ByteWidth(spec.result_type);
  WithValueClass(spec.operand_type, [&](auto zero) {
    for (int64_t i = 0; i < n; ++i) {
      const auto value = LoadElement<decltype(zero)>(spec.operand_type, ElementOf(in[0], from_width, i));
      StoreAs(spec.result_type, value, out + i * to_width);
    }
  });
}

void Select(const KernelSpec& spec, int64_t n, const KernelOperand* in, std::byte* out) {
  const int width = ByteWidth(spec.result_type);
  for (int64_t i = 0; i < n; ++i) {
    const bool predicate = *ElementOf(in[0], 1, i) != std::byte{0};
    std::memmove(out + i * width, ElementOf(in[predicate ? 1 : 2], width, i), width);
  }
}

void BitcastSameWidth(const KernelSpec& spec, int64_t n, const KernelOperand* in, std::byte* out) {
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t bits = LoadElement<uint64_t>(spec.operand_type, ElementOf(in[0], ByteWidth(spec.operand_type), i));
    if (IsFloating(spec.result_type)) {
      std::memcpy(out + i * ByteWidth(spec.result_type), &bits, ByteWidth(spec.result_type));
    } else {
      StoreElements(spec.result_type, &bits, 1, out + i * ByteWidth(spec.result_type));
    }
  }
}

// Orders the codes of a float type: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN.
int64_t TotalOrderKey(PrimitiveType type, const std::byte* element) {
  const int bits = BitWidth(type);
  const uint64_t code = LoadElement<uint64_t>(type, element);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  if (type == PrimitiveType::kF8E8M0FNU) return static_cast<int64_t>(code);  // no sign
  const int64_t magnitude = static_cast<int64_t>(code & (sign - 1));
  // Where the code of negative zero is the one NaN, it is a negative NaN.
  const FloatFormat* format = NarrowFormat(type);
  const bool unsigned_zero = format != nullptr && format->specials == FloatSpecials::kUnsigned0;
  if (code == sign && unsigned_zero) return -static_cast<int64_t>(sign) - 1;
  return (code & sign) != 0 ? -magnitude - 1 : magnitude;
}

void CompareTotalOrder(const KernelSpec& spec, int64_t n, const KernelOperand* in, std::byte* out) {
  const int width = ByteWidth(spec.operand_type);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t a = TotalOrderKey(spec.operand_type, ElementOf(in[0], width, i));
    const int64_t b = TotalOrderKey(spec.operand_type, ElementOf(in[1], width, i));
    out[i] = std::byte{Holds(spec.comparison.direction, a, b)};
  }
}

// On the bits of f16, bf16, f32 and f64: rounds the mantissa to nearest even, then sends exponents above the target's
// to infinity and below its smallest normal to zero.
void ReducePrecision(const KernelSpec& spec, int64_t n, const KernelOperand* in, std::byte* out) {
  const int width = ByteWidth(spec.operand_type);
  int exponent_width = 8, mantissa_width = 23;
  if (spec.operand_type == PrimitiveType::kF64) exponent_width = 11, mantissa_width = 52;
  if (const FloatFormat* format = NarrowFormat(spec.operand_type)) {
    exponent_width = format->exponent_bits;
    mantissa_width = format->mantissa_bits;
  }
  const int kept = static_cast<int>(std::min<int64_t>(spec.precision.mantissa_bits, mantissa_width));
  const uint64_t sign_mask = uint64_t{1} << (exponent_width + mantissa_width);
  const uint64_t exponent_mask = ((uint64_t{1} << exponent_width) - 1) << mantissa_width;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t original = LoadElement<uint64_t>(spec.operand_type, ElementOf(in[0], width, i));
    const uint64_t sign = original & sign_mask;
    uint64_t magnitude = original & ~sign_mask;
    uint64_t result = original;
    if (magnitude <= exponent_mask) {  // not a NaN
      if (kept < mantissa_width) {
        const int dropped = mantissa_width - kept;
        const uint64_t last_kept_bit = (magnitude >> dropped) & 1;
        magnitude += (uint64_t{1} << (dropped - 1)) - 1 + last_kept_bit;
        magnitude &= ~((uint64_t{1} << dropped) - 1);
      }
      if (spec.precision.exponent_bits < exponent_width) {
        const int64_t bias = (int64_t{1} << (exponent_width - 1)) - 1;
        const int64_t target_bias = (int64_t{1} << (spec.precision.exponent_bits - 1)) - 1;
        const int64_t exponent = static_cast<int64_t>(magnitude >> mantissa_width);
        if (exponent > bias + target_bias) {
          magnitude = exponent_mask;
        } else if (exponent <= bias - target_bias) {
          magnitude = 0;
        }
      }
      result = sign | magnitude;
    }
    std::memcpy(out + i * width, &result, width);
  }
}

// Rounds up with the probability of the discarded fraction: the random bits, as a fraction of 2^width, are compared
// with it. Integers saturate; floats choose between the two neighbours.
void StochasticConvert(const KernelSpec& spec, int64_t n, const KernelOperand* in, std::byte* out) {
  const int width = ByteWidth(spec.operand_type), random_width = ByteWidth(spec.other_type);
  const int result_width = ByteWidth(spec.result_type);
  const int random_bits = BitWidth(spec.other_type);
  for (int64_t i = 0; i < n; ++i) {
    const double value = LoadElement<double>(spec.operand_type, ElementOf(in[0], width, i));
    const uint64_t random = LoadElement<uint64_t>(spec.other_type, ElementOf(in[1], random_width, i));
    std::byte* result = out + i * result_width;
    double below = 0, above = 0;
    const double magnitude = std::fabs(value);
    if (!std::isfinite(value)) {
      StoreReal(spec.result_type, value, result);
      continue;
    }
    if (IsFloating(spec.result_type)) {
      // The neighbours: the value rounded to nearest and, on the other side, the next code.
      std::byte nearest[8];
      StoreReal(spec.result_type, magnitude, nearest);
      const double rounded = LoadElement<double>(spec.result_type, nearest);
      if (rounded == magnitude || !std::isfinite(rounded)) {
        StoreReal(spec.result_type, value, result);
        continue;
      }
      uint64_t code = LoadElement<uint64_t>(spec.result_type, nearest);
      code = rounded < magnitude ? code + 1 : code - 1;
      std::byte other_bytes[8];
      std::memcpy(other_bytes, &code, sizeof(code));
      const double other = LoadElement<double>(spec.result_type, other_bytes);
      // Past the largest number there is nothing to choose from.
      if (!std::isfinite(other) || (rounded < magnitude ? other < rounded : other > rounded)) {
        StoreReal(spec.result_type, value, result);
        continue;
      }
      below = std::min(rounded, other);
      above = std::max(rounded, other);
    } else {
      below = std::trunc(magnitude);
      above = below + 1;
    }
    double chosen = below;
    if (below != magnitude) {
      const double fraction = (magnitude - below) / (above - below);
      const uint64_t threshold = static_cast<uint64_t>(std::ldexp(fraction, random_bits));
      if (random < threshold) chosen = above;
    }
    StoreReal(spec.result_type, std::copysign(chosen, value), result);
  }
}

}  // namespace

RawFunction RawFunctionOf(const KernelSpec& spec) {
  const PrimitiveType type = spec.operand_type;
  switch (spec.opcode) {
    case Opcode::kConvert:
      return Convert;
    case Opcode::kSelect:
      return Select;
    case Opcode::kBitcastConvert:
      return BitcastSameWidth;
    case Opcode::kCompare:
      return IsFloating(type) && spec.comparison.type == ComparisonType::kTotalOrder ? CompareTotalOrder : nullptr;
    case Opcode::kReducePrecision: {
      const FloatFormat* format = NarrowFormat(type);
      const bool ieee = type == PrimitiveType::kF32 || type == PrimitiveType::kF64 ||
                        (format != nullptr && format->specials == FloatSpecials::kIeee);
      return ieee && spec.precision.exponent_bits >= 1 && spec.precision.exponent_bits <= 62 &&
                     spec.precision.mantissa_bits >= 0
                 ? ReducePrecision
                 : nullptr;
    }
    case Opcode::kStochasticConvert: {
      const bool to_real = IsFloating(spec.result_type) && spec.result_type != PrimitiveType::kF8E8M0FNU;
      return IsFloating(type) && IsUnsignedIntegral(spec.other_type) && (to_real || IsIntegral(spec.result_type))
                 ? StochasticConvert
                 : nullptr;
    }
    default:
      return nullptr;
  }
}

absl::StatusOr<KernelSpec> MakeKernel(const Instruction& instruction) {
  KernelSpec spec;
  spec.opcode = instruction.opcode();
  spec.operand_count = static_cast<int>(instruction.operand_count());
  spec.operand_type = instruction.operand(spec.opcode == Opcode::kSelect ? 1 : 0)->shape().element_type();
  spec.other_type =
      spec.operand_count > 1 ? instruction.operand(1)->shape().element_type() : PrimitiveType::kInvalid;
  spec.result_type = instruction.shape().element_type();
  spec.bits = BitWidth(spec.operand_type);
  if (const auto* comparison = instruction.GetIf<CompareAttributes>()) spec.comparison = *comparison;
  if (const auto* precision = instruction.GetIf<ReducePrecisionAttributes>()) spec.precision = *precision;
  spec.raw = RawFunctionOf(spec);
  if (spec.raw == nullptr) spec.compute = spec.operand_count == 1 ? UnaryFunction(spec) : BinaryFunction(spec);
  if (spec.raw == nullptr && spec.compute == nullptr) {
    return Unimplemented(instruction.Describe(), ": ", OpcodeName(spec.opcode), " from ",
                         PrimitiveTypeName(spec.operand_type), " to ", PrimitiveTypeName(spec.result_type),
                         " is not defined");
  }
  return spec;
}

void RunKernel(const KernelSpec& spec, int64_t n, absl::Span<const KernelOperand> operands, std::byte* out) {
  if (spec.raw != nullptr) {
    spec.raw(spec, n, operands.data(), out);
    return;
  }
  Block in[kMaxOperands];
  Block result;
  const void* pointers[kMaxOperands];
  const int width = ByteWidth(spec.operand_type), result_width = ByteWidth(spec.result_type);
  for (int64_t start = 0; start < n; start += kBlock) {
    const int64_t count = std::min(kBlock, n - start);
    for (int i = 0; i < spec.operand_count; ++i) {
      const std::byte* source = operands[i].data + (operands[i].splat ? 0 : start * width);
      LoadBlock(spec.operand_type, source, operands[i].splat, count, &in[i]);
      pointers[i] = &in[i];
    }
    spec.compute(spec, count, pointers, &result);
    StoreBlock(spec.result_type, result, count, out + start * result_width);
  }
}

}  // namespace kiln::hlo::evaluator
