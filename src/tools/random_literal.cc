#include "src/tools/random_literal.h"

#include <cstring>
#include <utility>
#include <vector>

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

hlo::Literal RandomScalar(hlo::PrimitiveType type, uint64_t* seed) {
  const hlo::Shape scalar = hlo::Shape::Scalar(type);
  if (type == hlo::PrimitiveType::kPred) return hlo::LiteralOf(scalar, static_cast<int64_t>(Next(seed) >> 63));
  if (hlo::IsIntegral(type)) {
    const int64_t limit = hlo::BitWidth(type) >= 4 ? 8 : 2;
    return hlo::LiteralOf(scalar, static_cast<int64_t>(Next(seed) % static_cast<uint64_t>(limit)));
  }
  return hlo::LiteralOf(scalar, NearNormal(seed));
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
  const size_t width = hlo::ByteWidth(part);
  for (size_t offset = 0; offset + width <= bytes.size(); offset += width) {
    const hlo::Literal value = RandomScalar(part, seed);
    std::memcpy(bytes.data() + offset, value.bytes().data(), width);
  }
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
