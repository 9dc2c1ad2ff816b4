// Dots of what is joined, joined dots, and dots with rows that do not differ along the sum.
#include <algorithm>
#include <vector>

#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::DotAttributes;

// For each dimension of an operand of a dot, which dimension of the result it is; -1 for those summed over.
DimensionVector PlacesInResult(const Instruction& dot, int64_t side) {
  const auto& a = dot.Get<DotAttributes>();
  const DimensionVector& batch = side == 0 ? a.lhs_batch : a.rhs_batch;
  const DimensionVector& contracting = side == 0 ? a.lhs_contracting : a.rhs_contracting;
  const int64_t rank = dot.operand(side)->shape().rank();
  const int64_t free = rank - static_cast<int64_t>(batch.size() + contracting.size());
  int64_t next = side == 0 ? static_cast<int64_t>(batch.size()) : dot.shape().rank() - free;
  DimensionVector places;
  for (int64_t i = 0; i < rank; ++i) {
    const auto in_batch = absl::c_find(batch, i);
    places.push_back(Contains(contracting, i) ? -1 : in_batch != batch.end() ? in_batch - batch.begin() : next++);
  }
  return places;
}

bool IsPlainDot(const Instruction& dot) {
  return dot.operand_count() == 2 && dot.Get<DotAttributes>().algorithm == hlo::DotAlgorithm::kUnset;
}

// Both sides joined along the sum, in pieces that fit: a sum of dots, where that adds less than joining copies.
Instruction* DotOfJoined(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &lhs = *match['s'], &rhs = *match['t'];
  const auto& a = root.Get<DotAttributes>();
  const PrimitiveType type = root.shape().element_type();
  const int64_t pieces = lhs.operand_count();
  const auto along = absl::c_find(a.lhs_contracting, lhs.dimensions()[0]);
  if (!IsPlainDot(root) || pieces != rhs.operand_count() || hlo::BitWidth(type) < 32 ||
      along == a.lhs_contracting.end() || a.rhs_contracting[along - a.lhs_contracting.begin()] != rhs.dimensions()[0]) {
    return nullptr;
  }
  for (int64_t i = 0; i < pieces; ++i) {
    if (lhs.operand(i)->shape().dimensions(lhs.dimensions()[0]) !=
        rhs.operand(i)->shape().dimensions(rhs.dimensions()[0])) {
      return nullptr;
    }
  }
  const int64_t joined = lhs.shape().element_count() + rhs.shape().element_count();
  if ((pieces - 1) * root.shape().element_count() > joined / 2) return nullptr;
  Instruction* sum = nullptr;
  for (int64_t i = 0; i < pieces; ++i) {
    Instruction* part = builder.Add(Opcode::kDot, root.shape(), {lhs.operands()[i], rhs.operands()[i]}, a);
    sum = sum == nullptr ? part : builder.Binary(Opcode::kAdd, sum, part);
  }
  return sum;
}

// Dots that share one side, joined along a dimension of the other: one dot, where joining what goes in is cheaper than
// joining what comes out, or than reading a large common side again.
Instruction* JoinedDots(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &first = *match['t'];
  const auto dots = root.operands();
  const int64_t along = root.dimensions()[0];
  if (dots.size() < 2 || !IsPlainDot(first)) return nullptr;
  const int64_t common = dots[1]->opcode() == Opcode::kDot && dots[1]->operand(0) == first.operand(0) ? 0 : 1;
  const DimensionVector places = PlacesInResult(first, 1 - common);
  const auto place = absl::c_find(places, along);
  // A dimension of the batch is of both sides.
  if (place == places.end() || along < static_cast<int64_t>(first.Get<DotAttributes>().lhs_batch.size()))
    return nullptr;
  std::vector<Instruction*> others;
  int64_t in = 0;
  for (const Instruction* dot : dots) {
    if (dot->opcode() != Opcode::kDot || dot->users().size() != 1 || dot->attributes() != first.attributes() ||
        dot->operand_count() != 2 || dot->operand(common) != first.operand(common) ||
        dot->operand(1 - common)->shape().element_type() != first.operand(1 - common)->shape().element_type()) {
      return nullptr;
    }
    others.push_back(dot->operands()[1 - common]);
    in += others.back()->shape().element_count();
  }
  if (in > std::max(root.shape().element_count(), first.operand(common)->shape().element_count() / 4)) return nullptr;
  Instruction* operands[] = {first.operands()[0], first.operands()[1]};
  operands[1 - common] = builder.Concatenate(others, place - places.begin());
  return builder.Add(Opcode::kDot, root.shape(), {operands[0], operands[1]}, first.attributes());
}

// What does not change along the sum is a factor of it.
Instruction* DotWithCopies(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &copies = *match['b'];
  const auto& a = root.Get<DotAttributes>();
  Instruction* x = match['x'];
  const int64_t side = root.operand(0) == &copies ? 0 : 1;
  const PrimitiveType type = root.shape().element_type();
  const DimensionVector& summed = side == 0 ? a.lhs_contracting : a.rhs_contracting;
  if (!IsPlainDot(root) || summed.empty() || x == &copies || x->shape().element_type() != type ||
      copies.shape().element_type() != type ||
      absl::c_any_of(summed, [&](int64_t d) { return Contains(copies.dimensions(), d); })) {
    return nullptr;
  }
  const DimensionVector places = PlacesInResult(root, side), x_places = PlacesInResult(root, 1 - side);
  DimensionVector map, x_map;
  for (int64_t dimension : copies.dimensions()) map.push_back(places[dimension]);
  for (int64_t dimension : x_places) {
    if (dimension >= 0) x_map.push_back(dimension);
  }
  Instruction* sum =
      builder.Reduce(x, builder.Scalar(type, 0), side == 0 ? a.rhs_contracting : a.lhs_contracting, Opcode::kAdd);
  return builder.Binary(Opcode::kMultiply, builder.Broadcast(sum, root.shape().dimensions(), x_map),
                        builder.Broadcast(match['y'], root.shape().dimensions(), map));
}

constexpr Rule kJoinedDotsRules[] = {
    {"dot(s:concatenate'(...), t:concatenate'(...))", "add(dot(p, q), dot(r, s), ...), of pieces of the sum",
     DotOfJoined, AnyOrder},
    {"concatenate(t:dot'(_, _), ...)", "dot(concatenate(...), y), of dots that share an operand", JoinedDots, AnyOrder},
    {"dot(x, b:broadcast(y))", "multiply(reduce.add(x, 0), y), of what is copied along the sum", DotWithCopies,
     Integer},
    {"dot(b:broadcast(y), x)", "multiply(y, reduce.add(x, 0)), of what is copied along the sum", DotWithCopies,
     Integer},
};

}  // namespace

absl::Span<const Rule> JoinedDotRules() { return kJoinedDotsRules; }

}  // namespace kiln::passes::simplify
