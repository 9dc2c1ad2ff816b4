// rng-bit-generator (ThreeFry2x32 with 20 rounds, Philox4x32 with 10), rng and rng-get-and-update-state.
//
// The state of rng-bit-generator is u64[2] or u64[3]: a key, then the counter (its low, then its high word). ThreeFry
// takes one counter per pair of 32-bit numbers and Philox one per four.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "src/hlo/elements.h"
#include "src/hlo/evaluator_internal.h"

namespace kiln::hlo::evaluator {
namespace {

uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
uint64_t Join(uint32_t low, uint32_t high) { return low | static_cast<uint64_t>(high) << 32; }

std::array<uint32_t, 2> ThreeFry(uint64_t key, uint64_t counter) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {Low(key), High(key), 0x1BD11BDAu ^ Low(key) ^ High(key)};
  uint32_t x = Low(counter) + keys[0], y = High(counter) + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x += y;
      y = std::rotl(y, rotation) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + group + 1;
  }
  return {x, y};
}

std::array<uint32_t, 4> Philox(uint64_t key, uint64_t low, uint64_t high) {
  std::array<uint32_t, 4> x = {Low(low), High(low), Low(high), High(high)};
  uint32_t k0 = Low(key), k1 = High(key);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const uint64_t a = uint64_t{0xD2511F53u} * x[0], b = uint64_t{0xCD9E8D57u} * x[2];
    x = {High(b) ^ x[1] ^ k0, Low(b), High(a) ^ x[3] ^ k1, Low(a)};
  }
  return x;
}

// 32-bit numbers of a shape: one dimension is cut into pairs (the first even one, else the largest, rounded up), and
// each pair holds the two words of its counter.
std::vector<uint64_t> ThreeFry32(uint64_t key, uint64_t* counter, absl::Span<const int64_t> dimensions) {
  const int64_t rank = static_cast<int64_t>(dimensions.size());
  int64_t split = -1;
  for (int64_t d = 0; d < rank && split < 0; ++d) {
    if (dimensions[d] % 2 == 0) split = d;
  }
  if (split < 0) {
    for (int64_t d = 0; d < rank; ++d) {
      if (split < 0 || dimensions[d] > dimensions[split]) split = d;
    }
  }
  if (rank == 0) {
    const uint64_t value = ThreeFry(key, *counter)[0];
    *counter += 1;
    return {value};
  }
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < split; ++d) outer *= dimensions[d];
  for (int64_t d = split + 1; d < rank; ++d) inner *= dimensions[d];
  const int64_t size = dimensions[split], half = (size + 1) / 2;
  std::vector<uint64_t> numbers(outer * size * inner);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t h = 0; h < half; ++h) {
      for (int64_t i = 0; i < inner; ++i) {
        const auto words = ThreeFry(key, *counter + static_cast<uint64_t>((o * half + h) * inner + i));
        for (int64_t w = 0; w < 2 && 2 * h + w < size; ++w) numbers[(o * size + 2 * h + w) * inner + i] = words[w];
      }
    }
  }
  *counter += static_cast<uint64_t>(outer * half * inner);
  return numbers;
}

// n numbers of 32 or 64 bits, in row-major order; the counter has two words.
std::vector<uint64_t> PhiloxNumbers(uint64_t key, uint64_t counter[2], int64_t n, bool wide) {
  const int64_t per_block = wide ? 2 : 4;
  const int64_t blocks = (n + per_block - 1) / per_block;
  std::vector<uint64_t> numbers(n);
  for (int64_t block = 0; block < blocks; ++block) {
    const uint64_t low = counter[0] + static_cast<uint64_t>(block);
    const auto words = Philox(key, low, counter[1] + (low < counter[0] ? 1 : 0));
    for (int64_t w = 0; w < per_block && block * per_block + w < n; ++w) {
      numbers[block * per_block + w] = wide ? Join(words[2 * w], words[2 * w + 1]) : words[w];
    }
  }
  const uint64_t low = counter[0] + static_cast<uint64_t>(blocks);
  counter[1] += low < counter[0] ? 1 : 0;
  counter[0] = low;
  return numbers;
}

absl::StatusOr<Literal> BitGenerator(Evaluation& evaluation, const Instruction& instruction, const Literal& state) {
  const auto& attributes = instruction.Get<RngAttributes>();
  const Shape& result_shape = instruction.shape();
  KILN_RETURN_IF_ERROR(Require(instruction, result_shape.IsTuple(), "expected a result of (state, values)"));
  // A state of u32 holds each word as two, the lower one first.
  const size_t words = state.bytes().size() / 8;
  KILN_RETURN_IF_ERROR(Require(instruction,
                               (state.shape().element_type() == PrimitiveType::kU64 ||
                                state.shape().element_type() == PrimitiveType::kU32) &&
                                   state.bytes().size() % 8 == 0 && (words == 2 || words == 3),
                               "expected a state of two or three u64"));
  uint64_t values[3] = {0, 0, 0};
  std::memcpy(values, state.bytes().data(), state.bytes().size());
  const Shape& shape = result_shape.tuple_shapes(1);
  const PrimitiveType type = shape.element_type();
  if (IsComplex(type) || type == PrimitiveType::kPred) {
    return Unimplemented(instruction.Describe(), ": random bits of ", PrimitiveTypeName(type));
  }
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  KILN_RETURN_IF_ERROR(evaluation.Charge(shape.element_count() * 16));
  const bool wide = BitWidth(type) == 64;
  const int64_t n = shape.element_count();
  std::vector<uint64_t> numbers;
  if (attributes.algorithm == RngAlgorithm::kThreeFry) {
    if (words != 2) return InvalidArgument(instruction.Describe(), ": ThreeFry has a state of two u64");
    if (wide) {
      for (int64_t i = 0; i < n; ++i) {
        const auto pair = ThreeFry(values[0], values[1] + static_cast<uint64_t>(i));
        numbers.push_back(Join(pair[0], pair[1]));
      }
      values[1] += static_cast<uint64_t>(n);
    } else {
      numbers = ThreeFry32(values[0], &values[1], shape.dimensions());
    }
  } else {
    // Two words: the counter's high word is the key.
    uint64_t counter[2] = {values[1], words == 3 ? values[2] : values[0]};
    numbers = PhiloxNumbers(values[0], counter, n, wide);
    values[1] = counter[0];
    if (words == 3) values[2] = counter[1];
  }
  std::byte* out = result.mutable_bytes().data();
  const int width = ByteWidth(type);
  const uint64_t mask = BitWidth(type) < 8 ? (uint64_t{1} << BitWidth(type)) - 1 : ~uint64_t{0};
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t bits = numbers[i] & mask;
    if (IsIntegral(type)) {
      StoreElements(type, &bits, 1, out + i * width);
    } else {
      std::memcpy(out + i * width, &bits, width);
    }
  }
  Literal new_state(state.shape());
  std::memcpy(new_state.mutable_bytes().data(), values, state.bytes().size());
  return Literal::Tuple({std::move(new_state), std::move(result)});
}

// rng draws from Philox with key 0, one counter per element, from a counter that starts at 0 with the evaluation:
// uniform in [a, b) (integers too), or normal with mean a and deviation b by Box and Muller.
absl::StatusOr<Literal> Rng(Evaluation& evaluation, const Instruction& instruction, const Operands& operands) {
  const auto& attributes = instruction.Get<RngAttributes>();
  const Shape& shape = instruction.shape();
  const PrimitiveType type = shape.element_type();
  const bool normal = attributes.distribution == RngDistribution::kNormal;
  if (IsComplex(type)) {
    return Unimplemented(instruction.Describe(), ": random numbers of ", PrimitiveTypeName(type));
  }
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  std::byte* out = result.mutable_bytes().data();
  const int width = ByteWidth(type);
  for (int64_t i = 0; i < shape.element_count(); ++i, out += width) {
    const auto words = Philox(0, (*evaluation.random_state())++, 0);
    const uint64_t bits = Join(words[0], words[1]);
    const double u = std::ldexp(static_cast<double>(bits >> 11), -53);  // in [0, 1)
    if (IsFloating(type)) {
      const double a = LoadElement<double>(type, operands[0].bytes().data());
      const double b = LoadElement<double>(type, operands[1].bytes().data());
      if (normal) {
        const double v = std::ldexp(static_cast<double>(Join(words[2], words[3]) >> 11), -53);
        const double z = std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * M_PI * v);
        StoreReal(type, a + b * z, out);
      } else {
        StoreReal(type, a + (b - a) * u, out);
        // Rounding must not reach the open end.
        if (b > a && LoadElement<double>(type, out) >= b) std::memcpy(out, operands[0].bytes().data(), width);
      }
      continue;
    }
    const uint64_t a = LoadElement<uint64_t>(type, operands[0].bytes().data());
    const uint64_t range = WrapInteger(type, LoadElement<uint64_t>(type, operands[1].bytes().data()) - a) &
                           (BitWidth(type) >= 64 ? ~uint64_t{0} : (uint64_t{1} << BitWidth(type)) - 1);
    const uint64_t value = range == 0 ? a : a + bits % range;
    StoreElements(type, &value, 1, out);
  }
  return result;
}

}  // namespace

absl::StatusOr<Literal> EvaluateRandom(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  switch (instruction.opcode()) {
    case Opcode::kRngBitGenerator: return BitGenerator(evaluation, instruction, operands[0]);
    case Opcode::kRng: return Rng(evaluation, instruction, operands);
    case Opcode::kRngGetAndUpdateState: {
      // The counter before the update, as u64[1] or, low word last, u64[2].
      const auto& attributes = instruction.Get<RngAttributes>();
      const Shape& shape = instruction.shape();
      KILN_RETURN_IF_ERROR(Require(instruction,
                                   shape.element_type() == PrimitiveType::kU64 && shape.rank() == 1 &&
                                       (shape.dimensions(0) == 1 || shape.dimensions(0) == 2),
                                   "expected a state of one or two u64"));
      KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
      result.mutable_data<uint64_t>()[shape.dimensions(0) - 1] = *evaluation.random_state();
      *evaluation.random_state() += static_cast<uint64_t>(attributes.delta);
      return result;
    }
    default: return Unimplemented(instruction.Describe(), ": no random op the evaluator knows");
  }
}

}  // namespace kiln::hlo::evaluator
