#include "src/tools/random_literal.h"

#include <algorithm>
#include <array>
#include <iterator>
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

}  // namespace

hlo::Literal RandomLiteral(const hlo::Shape& shape, uint64_t* seed) {
  if (shape.IsTuple()) {
    std::vector<hlo::Literal> elements;
    for (const hlo::Shape& element : shape.tuple_shapes()) elements.push_back(RandomLiteral(element, seed));
    return hlo::Literal::Tuple(std::move(elements));
  }
  hlo::Literal literal(shape);
  if (!shape.IsArray()) return literal;
  absl::Span<std::byte> bytes = literal.mutable_bytes();
  // Complex values: both parts, one after the other.
  const hlo::PrimitiveType part = hlo::ComplexComponentType(shape.element_type());
  if (!hlo::IsIntegral(part) && part != hlo::PrimitiveType::kPred) {
    Fill(part, bytes, [&] { return NearNormal(seed); });
    return literal;
  }
  // Small ones, of the highest bits or the lowest.
  const bool is_pred = part == hlo::PrimitiveType::kPred;
  const uint64_t limit = hlo::BitWidth(part) < 4 ? 2 : 8;
  const auto next = [&] { return is_pred ? Next(seed) >> 63 : Next(seed) % limit; };
  hlo::ClassOf(part) == hlo::TypeClass::kSigned ? Fill(part, bytes, [&] { return static_cast<int64_t>(next()); })
                                                : Fill(part, bytes, next);
  return literal;
}

std::vector<hlo::Literal> RandomArguments(const hlo::Computation& computation, uint64_t seed) {
  std::vector<hlo::Literal> arguments;
  for (const hlo::Instruction* parameter : computation.parameters()) {
    arguments.push_back(RandomLiteral(parameter->shape(), &seed));
  }
  return arguments;
}

}  // namespace kiln::tools
