// Reshape, bitcast and copy.
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

// A reshape that only adds or drops dimensions of size 1 maps every other dimension to one of its size: those of a
// broadcast's operand stay dimensions of the result.
Instruction* UnitReshapeOfBroadcast(const Match& match, Builder& builder) {
  const Instruction& broadcast = *match.root()->operand(0);
  const auto& from = broadcast.shape().dimensions();
  const auto& to = match.root()->shape().dimensions();
  std::vector<int64_t> position(from.size(), -1);  // of a broadcast dimension in the result
  size_t j = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == 1) continue;
    while (j < to.size() && to[j] == 1) ++j;
    if (j == to.size() || to[j] != from[i]) return nullptr;
    position[i] = static_cast<int64_t>(j++);
  }
  while (j < to.size() && to[j] == 1) ++j;
  if (j != to.size()) return nullptr;
  DimensionVector map, kept;
  for (int64_t dimension : broadcast.dimensions()) {
    if (position[dimension] < 0) continue;
    map.push_back(position[dimension]);
    kept.push_back(from[dimension]);
  }
  return builder.Broadcast(builder.Reshape(match['x'], kept), to, map);
}

// With row-major layouts on both sides a bitcast is a reshape.
Instruction* BitcastIsReshape(const Match& match, Builder& builder) {
  const Shape& from = match['x']->shape();
  const Shape& to = match.root()->shape();
  if (!from.IsArray() || !to.IsArray() || from.element_type() != to.element_type() || !from.HasDescendingLayout() ||
      !to.HasDescendingLayout()) {
    return nullptr;
  }
  return builder.Reshape(match['x'], to.dimensions());
}

// A reshape that keeps the products of the dimensions before and behind the counted one.
Instruction* ReshapeOfIota(const Match& match, Builder& builder) {
  const Shape& from = match.root()->operand(0)->shape();
  const Shape& to = match.root()->shape();
  const int64_t counted = match.root()->operand(0)->dimensions()[0];
  if (from.element_count() == 0) return nullptr;
  int64_t before = 1;
  for (int64_t i = 0; i < counted; ++i) before *= from.dimensions(i);
  int64_t product = 1;
  for (int64_t i = 0; i < to.rank(); product *= to.dimensions(i++)) {
    if (product != before || to.dimensions(i) != from.dimensions(counted)) continue;
    return builder.Add(Opcode::kIota, Shape(to.element_type(), to.dimensions()), {}, hlo::DimensionsAttributes{{i}});
  }
  return nullptr;
}

// "x" applies where the shapes are equal: a replacement must have the shape of what it replaces.
constexpr Rule kRules[] = {
    {"copy(x)", "x"},
    {"reshape(x)", "x"},
    {"reshape(reshape(x))", "reshape(x)"},
    {"reshape(broadcast(x))", "broadcast(x)", ScalarX},
    {"reshape(broadcast(x))", "broadcast(reshape(x)), where sizes of 1 come and go", UnitReshapeOfBroadcast},
    {"reshape(iota())", "iota(), where the counted dimension stays", ReshapeOfIota},
    {"bitcast(x)", "reshape(x), where layouts are row-major", BitcastIsReshape},
};

}  // namespace

absl::Span<const Rule> ReshapeRules() { return kRules; }

}  // namespace kiln::passes::simplify
