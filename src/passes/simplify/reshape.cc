// Reshape, bitcast and copy.
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::Instruction;
using hlo::Opcode;

Instruction* Operand(const Match& match, hlo::Builder&) { return match['x']; }

Instruction* ReshapeOfReshape(const Match& match, hlo::Builder& builder) {
  return builder.Reshape(match['x'], match.root()->shape().dimensions());
}

// reshape(broadcast(x)) of a scalar x.
Instruction* ReshapeOfSplat(const Match& match, hlo::Builder& builder) {
  if (!match['x']->shape().IsScalar()) return nullptr;
  return builder.BroadcastScalar(match['x'], match.root()->shape().dimensions());
}

// A reshape that only adds or drops dimensions of size 1 maps every other dimension to one of its size: those of a
// broadcast's operand stay dimensions of the result.
Instruction* UnitReshapeOfBroadcast(const Match& match, hlo::Builder& builder) {
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
  hlo::DimensionVector map, kept;
  for (int64_t dimension : broadcast.dimensions()) {
    if (position[dimension] < 0) continue;
    map.push_back(position[dimension]);
    kept.push_back(from[dimension]);
  }
  return builder.Broadcast(builder.Reshape(match['x'], kept), to, map);
}

// With row-major layouts on both sides a bitcast is a reshape.
Instruction* BitcastIsReshape(const Match& match, hlo::Builder& builder) {
  const hlo::Shape& from = match['x']->shape();
  const hlo::Shape& to = match.root()->shape();
  if (!from.IsArray() || !to.IsArray() || from.element_type() != to.element_type() || !from.HasDescendingLayout() ||
      !to.HasDescendingLayout()) {
    return nullptr;
  }
  return builder.Reshape(match['x'], to.dimensions());
}

constexpr Rule kRules[] = {
    {"copy(x)", Operand},
    {"reshape(x)", Operand},
    {"reshape(reshape(x))", ReshapeOfReshape},
    {"reshape(broadcast(x))", ReshapeOfSplat},
    {"reshape(broadcast(x))", UnitReshapeOfBroadcast},
    {"bitcast(x)", BitcastIsReshape},
};

}  // namespace

absl::Span<const Rule> ReshapeRules() { return kRules; }

}  // namespace kiln::passes::simplify
