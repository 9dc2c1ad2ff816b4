// Transpose, reverse and iota.
#include <algorithm>

#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::DimensionVector;
using hlo::Instruction;
using hlo::Opcode;

Instruction* IdentityTranspose(const Match& match, hlo::Builder&) {
  const auto& permutation = match.root()->dimensions();
  return std::is_sorted(permutation.begin(), permutation.end()) ? match['x'] : nullptr;
}

Instruction* TransposeOfTranspose(const Match& match, hlo::Builder& builder) {
  const auto& inner = match.root()->operand(0)->dimensions();
  DimensionVector permutation;
  for (int64_t dimension : match.root()->dimensions()) permutation.push_back(inner[dimension]);
  return builder.Transpose(match['x'], permutation);
}

// Moving only dimensions of size 1 moves nothing in memory.
Instruction* TransposeIsReshape(const Match& match, hlo::Builder& builder) {
  int64_t previous = -1;
  for (int64_t dimension : match.root()->dimensions()) {
    if (match['x']->shape().dimensions(dimension) == 1) continue;
    if (dimension < previous) return nullptr;
    previous = dimension;
  }
  return builder.Reshape(match['x'], match.root()->shape().dimensions());
}

Instruction* TransposeOfBroadcast(const Match& match, hlo::Builder& builder) {
  const auto& permutation = match.root()->dimensions();
  DimensionVector map;
  for (int64_t dimension : match.root()->operand(0)->dimensions()) {
    map.push_back(std::find(permutation.begin(), permutation.end(), dimension) - permutation.begin());
  }
  return builder.Broadcast(match['x'], match.root()->shape().dimensions(), map);
}

Instruction* TransposeOfIota(const Match& match, hlo::Builder& builder) {
  const auto& permutation = match.root()->dimensions();
  const int64_t dimension = match.root()->operand(0)->dimensions()[0];
  const int64_t moved = std::find(permutation.begin(), permutation.end(), dimension) - permutation.begin();
  return builder.Add(Opcode::kIota,
                     hlo::Shape(match.root()->shape().element_type(), match.root()->shape().dimensions()), {},
                     hlo::DimensionsAttributes{{moved}});
}

// Reversing a dimension of size 1 does nothing.
Instruction* DropReversedDimensions(const Match& match, hlo::Builder& builder) {
  const auto& dimensions = match.root()->dimensions();
  DimensionVector kept;
  for (int64_t dimension : dimensions) {
    if (match['x']->shape().dimensions(dimension) != 1) kept.push_back(dimension);
  }
  if (kept.size() == dimensions.size()) return nullptr;
  if (kept.empty()) return match['x'];
  return builder.Add(Opcode::kReverse, match.root()->shape(), {match['x']}, hlo::DimensionsAttributes{kept});
}

Instruction* ReverseOfReverse(const Match& match, hlo::Builder& builder) {
  // What both reverse stays as it was.
  DimensionVector once(match.root()->dimensions());
  for (int64_t dimension : match.root()->operand(0)->dimensions()) {
    auto it = std::find(once.begin(), once.end(), dimension);
    if (it == once.end()) {
      once.push_back(dimension);
    } else {
      once.erase(it);
    }
  }
  if (once.empty()) return match['x'];
  std::sort(once.begin(), once.end());
  return builder.Add(Opcode::kReverse, match.root()->shape(), {match['x']}, hlo::DimensionsAttributes{once});
}

// Counting along a dimension of size 1 stays at zero.
Instruction* UnitIota(const Match& match, hlo::Builder& builder) {
  const hlo::Shape& shape = match.root()->shape();
  const int64_t dimension = match.root()->dimensions()[0];
  if (shape.dimensions(dimension) == 1) return builder.Splat(shape, 0.0);
  return nullptr;
}

// Copies of a count along other dimensions count along the same one.
Instruction* BroadcastOfIota(const Match& match, hlo::Builder& builder) {
  const Instruction& root = *match.root();
  const int64_t dimension = root.dimensions()[root.operand(0)->dimensions()[0]];
  return builder.Add(Opcode::kIota, hlo::Shape(root.shape().element_type(), root.shape().dimensions()), {},
                     hlo::DimensionsAttributes{{dimension}});
}

// A reshape that keeps the products of the dimensions before and behind the counted one.
Instruction* ReshapeOfIota(const Match& match, hlo::Builder& builder) {
  const hlo::Shape& from = match.root()->operand(0)->shape();
  const hlo::Shape& to = match.root()->shape();
  const int64_t counted = match.root()->operand(0)->dimensions()[0];
  if (from.element_count() == 0) return nullptr;
  int64_t before = 1;
  for (int64_t i = 0; i < counted; ++i) before *= from.dimensions(i);
  int64_t product = 1;
  for (int64_t i = 0; i < to.rank(); product *= to.dimensions(i++)) {
    if (product != before || to.dimensions(i) != from.dimensions(counted)) continue;
    return builder.Add(Opcode::kIota, hlo::Shape(to.element_type(), to.dimensions()), {},
                       hlo::DimensionsAttributes{{i}});
  }
  return nullptr;
}

constexpr Rule kRules[] = {
    {"transpose(x)", IdentityTranspose},    {"transpose(transpose(x))", TransposeOfTranspose},
    {"transpose(x)", TransposeIsReshape},   {"transpose(broadcast(x))", TransposeOfBroadcast},
    {"transpose(iota())", TransposeOfIota}, {"iota()", UnitIota},
    {"reverse(x)", DropReversedDimensions}, {"reverse(reverse(x))", ReverseOfReverse},
};

}  // namespace

absl::Span<const Rule> TransposeRules() { return kRules; }

}  // namespace kiln::passes::simplify
