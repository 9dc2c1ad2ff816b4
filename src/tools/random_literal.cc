#include "src/tools/random_literal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "src/hlo/elements.h"

namespace kiln::tools {
namespace {

// SplitMix64.
uint64_t Next(uint64_t* seed) {
  uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double Uniform(uint64_t* seed) { return static_cast<double>(Next(seed) >> 11) / 9007199254740992.0; }

// The mean of four uniform values in [-1, 1).
double NearNormal(uint64_t* seed) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += 2 * Uniform(seed) - 1;
  return sum / 4;
}

// Fills `bytes` with elements of `type`, in pieces, since arguments may be large.
template <typename Function>
void Fill(hlo::PrimitiveType type, absl::Span<std::byte> bytes, Function next) {
  const int64_t width = hlo::ByteWidth(type), count = static_cast<int64_t>(bytes.size()) / width;
  std::array<decltype(next()), 256> values;
  for (int64_t begin = 0; begin < count; begin += std::ssize(values)) {
    const int64_t size = std::min(std::ssize(values), count - begin);
    std::generate_n(values.begin(), size, next);
    hlo::StoreElements(type, values.data(), size, bytes.data() + begin * width);
  }
}

// Any integer: of all bits, or beside zero or the ends of `bits` bits, where sums wrap.
uint64_t AnyInteger(int bits, uint64_t* seed) {
  const uint64_t random = Next(seed), near = (random >> 8) % 5 - 2;
  switch (random & 3) {
    case 0:
      return near;
    case 1:
      return near + (uint64_t{1} << (bits - 1));
    default:
      return Next(seed);
  }
}

// NaN, an infinity, a zero, a value of any exponent or of a subnormal's, an extreme.
double SpecialReal(hlo::PrimitiveType type, uint64_t* seed) {
  const uint64_t random = Next(seed);
  const double sign = random >> 63 != 0 ? -1 : 1;
  // Exponents up to somewhat more than the type has, and as far down.
  const int bits = hlo::BitWidth(type);
  const int range = bits == 64 ? 1080 : type == hlo::PrimitiveType::kF16 ? 26 : bits < 16 ? 18 : 152;
  switch (random & 7) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return sign * HUGE_VAL;
    case 2:
      return sign * 0.0;
    case 3:
      return sign * hlo::ElementAsDouble(hlo::MaxLiteral(type), 0);
    case 4:
      return sign * static_cast<double>(random >> 8 & 3);
    default:
      return std::ldexp(sign * (1 + Uniform(seed)), static_cast<int>((random >> 8) % (2 * range)) - range);
  }
}

}  // namespace

hlo::Literal RandomLiteral(const hlo::Shape& shape, uint64_t* seed, RandomKind kind) {
  if (shape.IsTuple()) {
    std::vector<hlo::Literal> elements;
    for (const hlo::Shape& element : shape.tuple_shapes()) elements.push_back(RandomLiteral(element, seed, kind));
    return hlo::Literal::Tuple(std::move(elements));
  }
  hlo::Literal literal(shape);
  if (!shape.IsArray()) return literal;
  absl::Span<std::byte> bytes = literal.mutable_bytes();
  const bool special = kind == RandomKind::kSpecial;
  // Complex values: both parts, one after the other.
  const hlo::PrimitiveType part = hlo::ComplexComponentType(shape.element_type());
  const int bits = hlo::BitWidth(part);
  if (hlo::IsFloating(part)) {
    Fill(part, bytes, [&] { return special && Next(seed) >> 63 != 0 ? SpecialReal(part, seed) : NearNormal(seed); });
  } else if (part == hlo::PrimitiveType::kPred) {
    Fill(part, bytes, [&] { return Next(seed) >> 63; });
  } else {
    const bool any = special || (!shape.IsScalar() && (bits < 32 || hlo::IsUnsignedIntegral(part)));
    const auto next = [&] {
      return any && Next(seed) >> 63 != 0 ? AnyInteger(bits, seed) : Next(seed) % (bits < 4 ? 2 : 8);
    };
    hlo::IsSignedIntegral(part) ? Fill(part, bytes, [&] { return static_cast<int64_t>(next()); })
                                : Fill(part, bytes, next);
  }
  return literal;
}

std::vector<hlo::Literal> RandomArguments(const hlo::Computation& computation, uint64_t seed, RandomKind kind) {
  std::vector<hlo::Literal> arguments;
  for (const hlo::Instruction* parameter : computation.parameters()) {
    arguments.push_back(RandomLiteral(parameter->shape(), &seed, kind));
  }
  return arguments;
}

}  // namespace kiln::tools
