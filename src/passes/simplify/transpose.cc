// Transpose, reverse and iota.

#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

bool KeepsOrder(const Match& match) {
  const auto& permutation = match.root()->dimensions();
  return absl::c_is_sorted(permutation);
}

Instruction* TransposeOfTranspose(const Match& match, Builder& builder) {
  const auto& inner = match.root()->operand(0)->dimensions();
  DimensionVector permutation;
  for (int64_t dimension : match.root()->dimensions()) permutation.push_back(inner[dimension]);
  return builder.Transpose(match['x'], permutation);
}

Instruction* TransposeOfBroadcast(const Match& match, Builder& builder) {
  const auto& permutation = match.root()->dimensions();
  DimensionVector map;
  for (int64_t dimension : match.root()->operand(0)->dimensions()) {
    map.push_back(absl::c_find(permutation, dimension) - permutation.begin());
  }
  return builder.Broadcast(match['x'], match.root()->shape().dimensions(), map);
}

Instruction* TransposeOfIota(const Match& match, Builder& builder) {
  const auto& permutation = match.root()->dimensions();
  const int64_t dimension = match.root()->operand(0)->dimensions()[0];
  const int64_t moved = absl::c_find(permutation, dimension) - permutation.begin();
  return builder.Add(Opcode::kIota, Shape(match.root()->shape().element_type(), match.root()->shape().dimensions()), {},
                     hlo::DimensionsAttributes{{moved}});
}

// Moving only dimensions of size 1 moves nothing in memory.
bool MovesNothing(const Shape& shape, const DimensionVector& permutation) {
  int64_t previous = -1;
  for (int64_t dimension : permutation) {
    if (shape.dimensions(dimension) == 1) continue;
    if (dimension < previous) return false;
    previous = dimension;
  }
  return true;
}

Instruction* TransposeIsReshape(const Match& match, Builder& builder) {
  if (!MovesNothing(match['x']->shape(), match.root()->dimensions())) return nullptr;
  return builder.Reshape(match['x'], match.root()->shape().dimensions());
}

// Stacks along a new last dimension.
Instruction* TransposeOfConcatenate(const Match& match, Builder& builder) {
  const auto& permutation = match.root()->dimensions();
  const Instruction& concatenate = *match['t'];
  const auto moves_nothing = [&](const Instruction* operand) { return MovesNothing(operand->shape(), permutation); };
  if (!absl::c_all_of(concatenate.operands(), moves_nothing)) return nullptr;
  std::vector<Instruction*> reshaped;
  for (Instruction* operand : concatenate.operands()) {
    DimensionVector dimensions;
    for (int64_t dimension : permutation) dimensions.push_back(operand->shape().dimensions(dimension));
    reshaped.push_back(builder.Reshape(operand, dimensions));
  }
  return builder.Concatenate(reshaped, absl::c_find(permutation, concatenate.dimensions()[0]) - permutation.begin());
}

// Reversing a dimension of size 1 does nothing.
Instruction* DropReversedDimensions(const Match& match, Builder& builder) {
  const auto& dimensions = match.root()->dimensions();
  DimensionVector kept;
  for (int64_t dimension : dimensions) {
    if (match['x']->shape().dimensions(dimension) != 1) kept.push_back(dimension);
  }
  if (kept.size() == dimensions.size()) return nullptr;
  if (kept.empty()) return match['x'];
  return builder.Add(Opcode::kReverse, match.root()->shape(), {match['x']}, hlo::DimensionsAttributes{kept});
}

Instruction* ReverseOfReverse(const Match& match, Builder& builder) {
  // What both reverse stays as it was.
  DimensionVector once(match.root()->dimensions());
  for (int64_t dimension : match.root()->operand(0)->dimensions()) {
    auto it = absl::c_find(once, dimension);
    if (it == once.end()) {
      once.push_back(dimension);
    } else {
      once.erase(it);
    }
  }
  if (once.empty()) return match['x'];
  absl::c_sort(once);
  return builder.Add(Opcode::kReverse, match.root()->shape(), {match['x']}, hlo::DimensionsAttributes{once});
}

// Counting along a dimension of size 1 stays at zero.
bool CountsToOne(const Match& match) { return match.root()->shape().dimensions(match.root()->dimensions()[0]) == 1; }

// Dimensions that are only copies are the same in reverse.
Instruction* ReverseOfBroadcast(const Match& match, Builder& builder) {
  const Instruction& broadcast = *match.root()->operand(0);
  const auto& map = broadcast.dimensions();
  DimensionVector reversed;  // of x
  for (int64_t dimension : match.root()->dimensions()) {
    const auto it = absl::c_find(map, dimension);
    if (it != map.end()) reversed.push_back(it - map.begin());
  }
  if (reversed.size() == match.root()->dimensions().size() && broadcast.users().size() > 1) return nullptr;
  Instruction* x = match['x'];
  absl::c_sort(reversed);
  if (!reversed.empty()) x = builder.Add(Opcode::kReverse, x->shape(), {x}, hlo::DimensionsAttributes{reversed});
  return builder.Broadcast(x, broadcast.shape().dimensions(), map);
}

constexpr Rule kRules[] = {
    {"transpose(x)", "x", Guard{"the order stays", KeepsOrder}},
    {"transpose(transpose(x))", "transpose(x)", TransposeOfTranspose},
    {"transpose(x)", "reshape(x), where only sizes of 1 move", TransposeIsReshape},
    {"transpose(broadcast(x))", "broadcast(x)", TransposeOfBroadcast},
    {"transpose(t:concatenate'(...))", "concatenate(reshape(p), reshape(q), ...), of operands whose order stays",
     TransposeOfConcatenate},
    {"transpose(iota())", "iota()", TransposeOfIota},
    {"iota()", "0", Guard{"it counts to 1", CountsToOne}},
    {"reverse(x)", "reverse(x), without dimensions of size 1", DropReversedDimensions},
    {"reverse(reverse(x))", "reverse(x), of what one of both reverses", ReverseOfReverse},
    {"reverse(broadcast(x))", "broadcast(reverse(x))", ReverseOfBroadcast},
};

}  // namespace

absl::Span<const Rule> TransposeRules() { return kRules; }

}  // namespace kiln::passes::simplify
