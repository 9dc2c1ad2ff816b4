#include "src/passes/simplify/guards.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "src/hlo/literal.h"
#include "src/passes/simplify/indices.h"

namespace kiln::passes::simplify {

namespace {

// The value of constant `letter`, which the pattern holds to be one.
Literal ValueOf(const Match& match, char letter) { return *SplatValue(*match[letter]); }

// As an unsigned number of the type's width, so that negative shifts are large.
uint64_t UnsignedValue(const Match& match, char letter) {
  const Literal value = ValueOf(match, letter);
  const int bits = hlo::BitWidth(value.shape().element_type());
  const uint64_t number = static_cast<uint64_t>(hlo::ElementAsInt64(value, 0));
  return bits >= 64 ? number : number & ((uint64_t{1} << bits) - 1);
}

// Where the elements of `x` come from, some steps back.
const Instruction& Source(const Instruction& moved) {
  const Instruction* x = &moved;
  for (int steps = 0; steps < 4; ++steps) {
    const Opcode opcode = x->opcode();
    if (opcode != Opcode::kBroadcast && opcode != Opcode::kReshape && opcode != Opcode::kTranspose &&
        opcode != Opcode::kSlice && opcode != Opcode::kReverse && opcode != Opcode::kDynamicSlice) {
      break;
    }
    x = x->operand(0);
  }
  return *x;
}

// Rules are tried again and again: what takes long to look at is left alone.
constexpr int64_t kMaxElements = 1 << 12;
constexpr int64_t kMaxOperands = 8;

// Whether `x` is a constant whose elements, as `kValueOf` gives them, all are as wanted.
template <auto kValueOf = hlo::ElementAsDouble, typename Holds>
bool IsConstantOf(const Instruction& x, Holds holds) {
  if (!x.IsConstant() || !x.shape().IsArray() || hlo::IsComplex(x.shape().element_type()) ||
      x.shape().element_count() > kMaxElements) {
    return false;
  }
  for (int64_t i = 0; i < x.literal().element_count(); ++i) {
    if (!holds(kValueOf(x.literal(), i))) return false;
  }
  return true;
}

// One over it is no more and no less than it is: of the smallest f64 powers it is infinite, of the largest subnormal.
bool IsPower(double value, PrimitiveType type) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  const int limit = type == PrimitiveType::kF64 ? 1000 : type == PrimitiveType::kF16 ? 12 : 120;
  return std::abs(mantissa) == 0.5 && std::abs(exponent) <= limit && hlo::BitWidth(type) >= 16;
}

}  // namespace

PrimitiveType TypeOf(const Match& match) {
  const Instruction& root = *match.root();
  return (root.opcode() == Opcode::kCompare ? root.operand(0) : &root)->shape().element_type();
}

bool IsPred(PrimitiveType type) { return type == PrimitiveType::kPred; }
bool IsIntegralOrPred(PrimitiveType type) { return hlo::IsIntegral(type) || IsPred(type); }
bool IsWideFloat(PrimitiveType type) { return hlo::IsFloating(type) && hlo::BitWidth(type) >= 16; }
bool IsNotComplex(PrimitiveType type) { return !hlo::IsComplex(type); }

bool IsNonNegative(const Instruction& moved, int steps) {
  const Instruction& x = Source(moved);
  const PrimitiveType type = x.shape().element_type();
  if (hlo::IsUnsignedIntegral(type)) return true;
  if (hlo::IsComplex(type) || steps == 0) return false;
  const auto holds = [&](int64_t operand) { return IsNonNegative(*x.operand(operand), steps - 1); };
  switch (x.opcode()) {
    case Opcode::kAbs:
    case Opcode::kExp:
    case Opcode::kExp2:
    case Opcode::kLogistic:
      return hlo::IsFloating(type);
    case Opcode::kSqrt:
      return hlo::IsFloating(type) && holds(0);
    case Opcode::kMultiply:
      return hlo::IsFloating(type) && (x.operand(0) == x.operand(1) || (holds(0) && holds(1)));
    case Opcode::kAdd:
    case Opcode::kDivide:
      return (hlo::IsFloating(type) && holds(0) && holds(1)) || FirstOfCount(x);
    case Opcode::kIota:
      return hlo::BitWidth(type) >= 32 &&
             x.shape().dimensions(x.dimensions()[0]) <= std::numeric_limits<int32_t>::max();
    case Opcode::kConstant:
      // -0 not among them.
      return IsConstantOf(x, [](double value) { return value >= 0 && !std::signbit(value); });
    case Opcode::kConvert: {
      const PrimitiveType from = x.operand(0)->shape().element_type();
      // A wider integer may be cut to a negative one; a negative float may round to -0.
      const bool widens = hlo::IsFloating(type) || hlo::BitWidth(from) < hlo::BitWidth(type);
      return from == PrimitiveType::kPred || (hlo::IsUnsignedIntegral(from) && widens);
    }
    case Opcode::kMaximum:
      // max(-0, 0) is 0 here, but NaN wins: it may be among them.
      return holds(0) || holds(1);
    case Opcode::kMinimum:
      return holds(0) && holds(1);
    case Opcode::kClamp:
      return holds(0) && holds(2);
    case Opcode::kSelect:
      return holds(1) && holds(2);
    default:
      return false;
  }
}

bool IsWhole(const Instruction& x) {
  switch (x.opcode()) {
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
      return true;
    case Opcode::kConvert:
      return IsIntegralOrPred(x.operand(0)->shape().element_type());
    default:
      return false;
  }
}

bool IsFinite(const Instruction& moved, int steps) {
  const Instruction& x = Source(moved);
  const PrimitiveType type = x.shape().element_type();
  if (IsIntegralOrPred(type)) return true;
  if (steps == 0 || hlo::IsComplex(type) || x.operand_count() > kMaxOperands) return false;
  const auto from = [&](int64_t first) {
    return absl::c_all_of(x.operands().subspan(first), [&](const Instruction* y) { return IsFinite(*y, steps - 1); });
  };
  switch (x.opcode()) {
    case Opcode::kConstant:
      return IsConstantOf(x, [](double value) { return std::isfinite(value); });
    case Opcode::kAbs:
    case Opcode::kNegate:
    case Opcode::kSign:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kTanh:
    case Opcode::kLogistic:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp:
    case Opcode::kConcatenate:
    case Opcode::kPad:
      return from(0);
    case Opcode::kSelect:
      return from(1);
    case Opcode::kConvert: {
      const PrimitiveType given = x.operand(0)->shape().element_type();
      if (hlo::IsFloating(given)) return IsLossless(given, type) && from(0);
      return given == PrimitiveType::kPred ||
             (hlo::IsIntegral(given) && hlo::BitWidth(given) <= 32 && hlo::BitWidth(type) >= 32 &&
              hlo::IsFloating(type)) ||
             (hlo::IsIntegral(given) && hlo::BitWidth(given) <= 8 && hlo::IsFloating(type) &&
              hlo::BitWidth(type) >= 16);
    }
    case Opcode::kIota:
      return x.shape().dimensions(x.dimensions()[0]) <= 1 << 15 && hlo::BitWidth(type) >= 16;
    default:
      return false;
  }
}

bool IsPowerOfTwo(const Match& match) {
  const uint64_t value = UnsignedValue(match, 'c');
  const bool negative = hlo::IsSignedIntegral(TypeOf(match)) && hlo::ElementAsInt64(ValueOf(match, 'c'), 0) < 0;
  return hlo::IsIntegral(TypeOf(match)) && !negative && value != 0 && (value & (value - 1)) == 0;
}

bool HasExactReciprocal(const Match& match) {
  return IsPower(hlo::ElementAsDouble(ValueOf(match, 'c'), 0), TypeOf(match));
}

bool ArePowers(const Instruction& constant) {
  const Instruction& k = Source(constant);
  const PrimitiveType type = k.shape().element_type();
  if (!hlo::IsIntegral(type)) return IsConstantOf(k, [&](double value) { return IsPower(value, type); });
  return IsConstantOf<hlo::ElementAsInt64>(
      k, [](int64_t value) { return std::has_single_bit(static_cast<uint64_t>(value)); });
}

bool IsZero(const Match& match) { return hlo::IsSplatOf(ValueOf(match, 'c'), 0); }

namespace {

bool IsOrderedPair(const Match& match, char low, char high) {
  const Literal a = ValueOf(match, low), b = ValueOf(match, high);
  if (!hlo::IsIntegral(a.shape().element_type())) return hlo::ElementAsDouble(a, 0) <= hlo::ElementAsDouble(b, 0);
  if (hlo::IsUnsignedIntegral(a.shape().element_type())) return UnsignedValue(match, low) <= UnsignedValue(match, high);
  return hlo::ElementAsInt64(a, 0) <= hlo::ElementAsInt64(b, 0);
}

}  // namespace

bool AreOrdered(const Match& match) { return IsNotComplex(TypeOf(match)) && IsOrderedPair(match, 'c', 'd'); }
bool AreRanges(const Match& match) {
  return IsNotComplex(TypeOf(match)) && IsOrderedPair(match, 'c', 'f') && IsOrderedPair(match, 'd', 'e');
}

bool ProductFits(const Match& match) {
  const int bits = hlo::BitWidth(TypeOf(match));
  if (hlo::IsUnsignedIntegral(TypeOf(match))) {
    uint64_t product = 0;
    if (__builtin_mul_overflow(UnsignedValue(match, 'c'), UnsignedValue(match, 'd'), &product)) return false;
    return product != 0 && (bits >= 64 || product >> bits == 0);
  }
  int64_t product = 0;
  const int64_t c = hlo::ElementAsInt64(ValueOf(match, 'c'), 0), d = hlo::ElementAsInt64(ValueOf(match, 'd'), 0);
  if (__builtin_mul_overflow(c, d, &product)) return false;
  const int64_t limit = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return product != 0 && product <= limit && product >= -limit && c != -1 && d != -1;
}

bool AreShifts(const Match& match) {
  const uint64_t width = static_cast<uint64_t>(hlo::BitWidth(TypeOf(match)));
  return UnsignedValue(match, 'c') < width && UnsignedValue(match, 'd') < width;
}

bool IsPastWidth(const Match& match) {
  return UnsignedValue(match, 'c') >= static_cast<uint64_t>(hlo::BitWidth(TypeOf(match)));
}

bool IsLn2(const Match& match) { return ValueOf(match, 'c') == hlo::LiteralOf(Shape::Scalar(TypeOf(match)), M_LN2); }

bool HavePredicateShape(const Match& match) {
  for (const char letter : {'p', 'q'}) {
    if (match[letter] != nullptr && !Shape::SameDimensions(match[letter]->shape(), match.root()->shape())) {
      return false;
    }
  }
  return true;
}

}  // namespace kiln::passes::simplify
