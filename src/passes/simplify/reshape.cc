// Reshape, bitcast and copy.
#include <algorithm>
#include <vector>

#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

// Dimensions [from, from_end) of an array that a reshape makes [to, to_end) of, as few as there can be.
struct ReshapedGroup {
  size_t from, from_end, to, to_end;
};

std::vector<ReshapedGroup> ReshapedGroups(const Shape& from, const Shape& to) {
  std::vector<ReshapedGroup> groups;
  size_t i = 0, j = 0;
  const auto sizes = from.dimensions().size(), new_sizes = to.dimensions().size();
  while (i < sizes || j < new_sizes) {
    ReshapedGroup group{i, i, j, j};
    int64_t product = i < sizes ? from.dimensions()[i++] : 1, new_product = j < new_sizes ? to.dimensions()[j++] : 1;
    while (product != new_product) {
      product < new_product ? product *= from.dimensions()[i++] : new_product *= to.dimensions()[j++];
    }
    group.from_end = i, group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

// Of dimensions that a reshape makes others of together, all have to be the operand's or new.
Instruction* ReshapeOfBroadcast(const Match& match, Builder& builder) {
  const Instruction& broadcast = *match.root()->operand(0);
  const Shape& from = broadcast.shape();
  const Shape& to = match.root()->shape();
  if (from.element_count() == 0) return nullptr;
  const auto kept = broadcast.dimensions();
  DimensionVector map, sizes;
  size_t next = 0;  // of the operand's dimensions
  const auto skip_units = [&] {
    while (next < kept.size() && from.dimensions(kept[next]) == 1) ++next;
  };
  std::vector<ReshapedGroup> groups = ReshapedGroups(from, to);
  for (skip_units(); next < kept.size(); skip_units()) {
    const auto is_here = [&](const ReshapedGroup& g) {
      return static_cast<size_t>(kept[next]) >= g.from && static_cast<size_t>(kept[next]) < g.from_end;
    };
    const auto group = std::find_if(groups.begin(), groups.end(), is_here);
    for (size_t i = group->from; i < group->from_end; ++i) {
      if (from.dimensions()[i] == 1) continue;
      if (next == kept.size() || static_cast<size_t>(kept[next]) != i) return nullptr;
      ++next;
      skip_units();
    }
    for (size_t j = group->to; j < group->to_end; ++j) {
      map.push_back(static_cast<int64_t>(j));
      sizes.push_back(to.dimensions()[j]);
    }
  }
  return builder.Broadcast(builder.Reshape(match['x'], sizes), to.dimensions(), map);
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
constexpr Rule kReshapeRules[] = {
    {"copy(x)", "x"},
    {"reshape(x)", "x"},
    {"reshape(reshape(x))", "reshape(x)"},
    {"reshape(broadcast(x))", "broadcast(x)", ScalarX},
    {"reshape(broadcast(x))", "broadcast(reshape(x)), where no dimensions of x and others become one",
     ReshapeOfBroadcast},
    {"reshape(iota())", "iota(), where the counted dimension stays", ReshapeOfIota},
    {"bitcast(x)", "reshape(x), where layouts are row-major", BitcastIsReshape},
};

}  // namespace

absl::Span<const Rule> ReshapeRules() { return kReshapeRules; }

}  // namespace kiln::passes::simplify
