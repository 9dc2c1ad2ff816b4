// Broadcast, in one form: operand dimensions ascending and none of size 1, unless the operand is whole.

#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

bool AllDimensions(const Instruction& broadcast) {
  return broadcast.operand(0)->shape().rank() == broadcast.shape().rank();
}

bool KeepsAll(const Match& match) {
  const auto& map = match.root()->dimensions();
  return AllDimensions(*match.root()) && absl::c_is_sorted(map);
}

Instruction* BroadcastOfBroadcast(const Match& match, Builder& builder) {
  const auto& outer = match.root()->dimensions();
  DimensionVector map;
  for (int64_t dimension : match.root()->operand(0)->dimensions()) map.push_back(outer[dimension]);
  return builder.Broadcast(match['x'], match.root()->shape().dimensions(), map);
}

// Operand dimensions of size 1 say nothing.
Instruction* DropUnitDimensions(const Match& match, Builder& builder) {
  const auto& from = match['x']->shape().dimensions();
  if (!Contains(from, 1)) return nullptr;
  DimensionVector kept, map;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == 1) continue;
    kept.push_back(from[i]);
    map.push_back(match.root()->dimensions()[i]);
  }
  return builder.Broadcast(builder.Reshape(match['x'], kept), match.root()->shape().dimensions(), map);
}

// A broadcast that only adds dimensions of size 1.
Instruction* BroadcastIsReshape(const Match& match, Builder& builder) {
  const auto& map = match.root()->dimensions();
  if (match.root()->shape().element_count() != match['x']->shape().element_count() || !absl::c_is_sorted(map) ||
      match.root()->shape().element_count() == 0 || match['x']->IsConstant()) {
    return nullptr;
  }
  return builder.Reshape(match['x'], match.root()->shape().dimensions());
}

// A map out of order is a transpose first.
Instruction* SortMap(const Match& match, Builder& builder) {
  const auto& map = match.root()->dimensions();
  if (absl::c_is_sorted(map)) return nullptr;
  DimensionVector permutation(map.size());
  absl::c_iota(permutation, 0);
  absl::c_sort(permutation, [&](int64_t a, int64_t b) { return map[a] < map[b]; });
  DimensionVector sorted(map.begin(), map.end());
  absl::c_sort(sorted);
  return builder.Broadcast(builder.Transpose(match['x'], permutation), match.root()->shape().dimensions(), sorted);
}

// An elementwise op over what is spread out in one way is spread out itself: the arithmetic is done once.
Instruction* SinkThroughElementwise(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  if (root.shape().IsScalar() || root.operand_count() == 0) return nullptr;
  const Instruction* pattern = nullptr;  // a broadcast of no scalar; all others are like it
  for (const Instruction* operand : root.operands()) {
    if (operand->shape().IsScalar()) continue;
    if (operand->opcode() != Opcode::kBroadcast) return nullptr;
    if (operand->operand(0)->shape().IsScalar()) continue;
    if (pattern == nullptr) pattern = operand;
    if (operand->dimensions() != pattern->dimensions()) return nullptr;
  }
  const DimensionVector dimensions = pattern == nullptr ? DimensionVector() : pattern->operand(0)->shape().dimensions();
  std::vector<Instruction*> sources;
  for (Instruction* operand : root.operands()) {
    Instruction* source = operand->shape().IsScalar() ? operand : operand->operand(0);
    const bool spread = source != operand && source->shape().IsScalar();
    sources.push_back(spread ? builder.BroadcastScalar(source, dimensions) : source);
  }
  Instruction* result =
      builder.Add(root.opcode(), Shape(root.shape().element_type(), dimensions), std::move(sources), root.attributes());
  return builder.Broadcast(result, root.shape().dimensions(),
                           pattern == nullptr ? DimensionVector() : pattern->dimensions());
}

// A constant of one value repeated is a scalar constant spread out.
Instruction* SplatConstant(const Match& match, Builder& builder) {
  const Shape& shape = match.root()->shape();
  if (!shape.IsArray() || shape.rank() == 0 || shape.element_count() < 1) return nullptr;
  std::optional<Literal> scalar = SplatValue(*match.root());
  return scalar ? builder.Splat(shape, *std::move(scalar)) : nullptr;
}

// Copies of a count along other dimensions count along the same one.
Instruction* BroadcastOfIota(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const int64_t dimension = root.dimensions()[root.operand(0)->dimensions()[0]];
  return builder.Add(Opcode::kIota, Shape(root.shape().element_type(), root.shape().dimensions()), {},
                     hlo::DimensionsAttributes{{dimension}});
}

constexpr Rule kBroadcastRules[] = {
    {"constant()", "broadcast(c), where one value repeats", SplatConstant},
    {"broadcast(x)", "x", Guard{"all dimensions stay", KeepsAll}},
    {"broadcast(broadcast(x))", "broadcast(x)", BroadcastOfBroadcast},
    {"broadcast(x)", "broadcast(reshape(x)), without sizes of 1", DropUnitDimensions},
    {"broadcast(x)", "broadcast(transpose(x)), dimensions ascending", SortMap},
    {"broadcast(x)", "reshape(x), where only sizes of 1 are new", BroadcastIsReshape},
    {"broadcast(iota())", "iota()", BroadcastOfIota},
    {"elementwise(...)", "broadcast(elementwise(...)), where operands are spread alike", SinkThroughElementwise},
};

}  // namespace

absl::Span<const Rule> BroadcastRules() { return kBroadcastRules; }

}  // namespace kiln::passes::simplify
