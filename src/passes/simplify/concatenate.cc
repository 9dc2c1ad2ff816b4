// Concatenate.

#include "src/passes/simplify/indices.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

Instruction* DropEmptyOperands(const Match& match, Builder& builder) {
  std::vector<Instruction*> kept;
  for (Instruction* operand : match.root()->operands()) {
    if (operand->shape().element_count() > 0) kept.push_back(operand);
  }
  if (kept.empty() || static_cast<int64_t>(kept.size()) == match.root()->operand_count()) return nullptr;
  return builder.Concatenate(kept, match.root()->dimensions()[0]);
}

// concatenate(a, concatenate(b, c), d) along one dimension, when the inner one has no other user.
Instruction* Flatten(const Match& match, Builder& builder) {
  const int64_t dimension = match.root()->dimensions()[0];
  auto inner = [&](const Instruction* operand) {
    return operand->opcode() == Opcode::kConcatenate && operand->dimensions()[0] == dimension &&
           operand->users().size() == 1;
  };
  const auto operands = match.root()->operands();
  if (absl::c_none_of(operands, inner)) return nullptr;
  // concatenate(x, x) again and again would have a number of operands exponential in the depth.
  constexpr size_t kMaxOperands = 256;
  std::vector<Instruction*> flat;
  for (Instruction* operand : operands) {
    if (flat.size() > kMaxOperands) return nullptr;
    if (inner(operand)) {
      flat.insert(flat.end(), operand->operands().begin(), operand->operands().end());
    } else {
      flat.push_back(operand);
    }
  }
  return builder.Concatenate(flat, dimension);
}

// Neighbours that are slices of one array, side by side, are one slice.
Instruction* JoinSlices(const Match& match, Builder& builder) {
  const int64_t dimension = match.root()->dimensions()[0];
  auto continues = [&](const Instruction& a, const Instruction& b) {
    if (a.opcode() != Opcode::kSlice || b.opcode() != Opcode::kSlice || a.operand(0) != b.operand(0)) return false;
    const auto& x = a.Get<hlo::SliceAttributes>();
    const auto& y = b.Get<hlo::SliceAttributes>();
    for (size_t i = 0; i < x.start.size(); ++i) {
      const bool along = static_cast<int64_t>(i) == dimension;
      if (along ? x.limit[i] != y.start[i] || x.stride[i] != 1 || y.stride[i] != 1
                : x.start[i] != y.start[i] || x.limit[i] != y.limit[i] || x.stride[i] != y.stride[i]) {
        return false;
      }
    }
    return true;
  };
  const auto operands = match.root()->operands();
  bool any = false;
  for (size_t i = 1; i < operands.size(); ++i) any |= continues(*operands[i - 1], *operands[i]);
  if (!any) return nullptr;
  std::vector<Instruction*> joined;
  for (size_t i = 0; i < operands.size();) {
    size_t end = i + 1;
    while (end < operands.size() && continues(*operands[end - 1], *operands[end])) ++end;
    if (end == i + 1) {
      joined.push_back(operands[i]);
    } else {
      hlo::SliceAttributes slice = operands[i]->Get<hlo::SliceAttributes>();
      slice.limit[dimension] = operands[end - 1]->Get<hlo::SliceAttributes>().limit[dimension];
      joined.push_back(builder.Slice(operands[i]->operand(0), slice));
    }
    i = end;
  }
  return builder.Concatenate(joined, dimension);
}

// Copies of one array, side by side along a dimension that is none of its.
Instruction* ConcatenateOfBroadcasts(const Match& match, Builder& builder) {
  const Instruction& first = *match.root()->operand(0);
  for (const Instruction* operand : match.root()->operands()) {
    if (operand->opcode() != Opcode::kBroadcast || operand->operand(0) != first.operand(0) ||
        operand->dimensions() != first.dimensions()) {
      return nullptr;
    }
  }
  if (Contains(first.dimensions(), match.root()->dimensions()[0])) return nullptr;
  return builder.Broadcast(match.root()->operands()[0]->operands()[0], match.root()->shape().dimensions(),
                           first.dimensions());
}

// Counts of which each goes on where the one before it ends.
Instruction* ConcatenateOfCounts(const Match& match, Builder& builder) {
  const Shape& shape = match.root()->shape();
  const std::optional<int64_t> first = FirstOfCount(*match.root()->operand(0));
  if (!first || shape.rank() != 1 || !FitsIndex(*first + shape.element_count(), shape.element_type())) return nullptr;
  int64_t next = *first;
  for (const Instruction* operand : match.root()->operands()) {
    if (FirstOfCount(*operand) != next) return nullptr;
    next += operand->shape().element_count();
  }
  Instruction* count =
      builder.Add(Opcode::kIota, Shape(shape.element_type(), shape.dimensions()), {}, hlo::DimensionsAttributes{{0}});
  if (*first == 0) return count;
  const Literal number = hlo::LiteralOf(Shape::Scalar(shape.element_type()), *first);
  return builder.Binary(Opcode::kAdd, count, builder.Splat(shape, number));
}

// Copies of one array, side by side, are a new dimension before the one along which they lie.
Instruction* ConcatenateOfCopies(const Match& match, Builder& builder) {
  const auto operands = match.root()->operands();
  if (operands.size() < 2 || absl::c_any_of(operands, [&](const Instruction* x) { return x != operands[0]; })) {
    return nullptr;
  }
  const int64_t along = match.root()->dimensions()[0];
  DimensionVector sizes = operands[0]->shape().dimensions(), map;
  for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) map.push_back(i < along ? i : i + 1);
  sizes.insert(sizes.begin() + along, static_cast<int64_t>(operands.size()));
  return builder.Reshape(builder.Broadcast(operands[0], sizes, map), match.root()->shape().dimensions());
}

// Copies of a scalar on either side of one operand are padding.
Instruction* ConcatenateIsPad(const Match& match, Builder& builder) {
  const int64_t dimension = match.root()->dimensions()[0];
  hlo::PadAttributes pad;
  pad.low = pad.high = pad.interior = DimensionVector(match.root()->shape().rank(), 0);
  Instruction* scalar = nullptr;
  Instruction* middle = nullptr;
  for (Instruction* operand : match.root()->operands()) {
    const bool splat = operand->opcode() == Opcode::kBroadcast && operand->operand(0)->shape().IsScalar();
    if (!splat && middle != nullptr) return nullptr;
    if (!splat) {
      middle = operand;
      continue;
    }
    if (scalar != nullptr && scalar != operand->operand(0)) return nullptr;
    scalar = operand->operand(0);
    (middle == nullptr ? pad.low : pad.high)[dimension] += operand->shape().dimensions(dimension);
  }
  if (scalar == nullptr || middle == nullptr) return nullptr;
  return builder.Add(Opcode::kPad, match.root()->shape(), {middle, scalar}, pad);
}

constexpr Rule kConcatenateRules[] = {
    {"concatenate(x)", "x"},
    {"concatenate(...)", "concatenate(...), without operands that are empty", DropEmptyOperands},
    {"concatenate(...)", "concatenate(...), with the operands of a concatenate in place of it", Flatten},
    {"concatenate(...)", "slice(x), of neighbouring slices of x", JoinSlices},
    {"concatenate(...)", "broadcast(x), of broadcasts of x along other dimensions", ConcatenateOfBroadcasts},
    {"concatenate(...)", "add(iota(), c), of counts that go on", ConcatenateOfCounts},
    {"concatenate(...)", "reshape(broadcast(x)), of copies of x", ConcatenateOfCopies},
    {"concatenate(...)", "pad(x, y), of x beside broadcasts of one scalar y", ConcatenateIsPad},
};

}  // namespace

absl::Span<const Rule> ConcatenateRules() { return kConcatenateRules; }

}  // namespace kiln::passes::simplify
