// Pad.
#include <algorithm>
#include <utility>

#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::PadAttributes;

const PadAttributes& PadOf(const Instruction& pad) { return pad.Get<PadAttributes>(); }

bool AllZero(const DimensionVector& values) {
  return absl::c_all_of(values, [](int64_t v) { return v == 0; });
}

bool AnyBelowZero(const DimensionVector& values) {
  return absl::c_any_of(values, [](int64_t v) { return v < 0; });
}

bool AddsNothing(const Match& match) {
  const PadAttributes& pad = PadOf(*match.root());
  return AllZero(pad.low) && AllZero(pad.high) && AllZero(pad.interior);
}

// Less than nothing is added: what stays is a slice.
Instruction* CroppingPad(const Match& match, Builder& builder) {
  hlo::PadAttributes pad = PadOf(*match.root());
  hlo::SliceAttributes slice;
  if (!AnyBelowZero(pad.low) && !AnyBelowZero(pad.high)) return nullptr;
  for (size_t i = 0; i < pad.low.size(); ++i) {
    const bool crops = pad.low[i] < 0 || pad.high[i] < 0;
    slice.start.push_back(std::max<int64_t>(-pad.low[i], 0));
    slice.limit.push_back(match['x']->shape().dimensions(i) + std::min<int64_t>(pad.high[i], 0));
    slice.stride.push_back(1);
    if (crops && (pad.interior[i] != 0 || slice.limit[i] < slice.start[i])) return nullptr;
    pad.low[i] = std::max<int64_t>(pad.low[i], 0);
    pad.high[i] = std::max<int64_t>(pad.high[i], 0);
  }
  Instruction* x = builder.Slice(match['x'], slice);
  if (AllZero(pad.low) && AllZero(pad.high) && AllZero(pad.interior)) return x;
  return builder.Add(Opcode::kPad, match.root()->shape(), {x, match['y']}, pad);
}

// Between fewer than two elements there is nothing.
Instruction* PadWithoutGaps(const Match& match, Builder& builder) {
  PadAttributes pad = PadOf(*match.root());
  for (size_t i = 0; i < pad.low.size(); ++i) {
    if (match['x']->shape().dimensions(i) <= 1) pad.interior[i] = 0;
  }
  if (pad == PadOf(*match.root())) return nullptr;
  return builder.Add(Opcode::kPad, match.root()->shape(), {match['x'], match['y']}, pad);
}

// What is padded first is not cropped again, and not spread.
Instruction* PadOfPad(const Match& match, Builder& builder) {
  const PadAttributes& outer = PadOf(*match.root());
  PadAttributes both = PadOf(*match['t']);
  if (AnyBelowZero(both.low) || AnyBelowZero(both.high) || !AllZero(outer.interior)) return nullptr;
  for (size_t i = 0; i < both.low.size(); ++i) {
    both.low[i] += outer.low[i];
    both.high[i] += outer.high[i];
  }
  return builder.Add(Opcode::kPad, match.root()->shape(), {match['x'], match.root()->operand(1)}, both);
}

// Of what is padded alike, the arithmetic of both paddings is done once.
Instruction* ElementwiseOfPads(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &s = *match['s'], &t = *match['t'];
  if (s.attributes() != t.attributes() || s.operand(0)->shape().dimensions() != t.operand(0)->shape().dimensions()) {
    return nullptr;
  }
  const PrimitiveType type = root.shape().element_type();
  const auto make = [&](Instruction* a, Instruction* b) {
    return builder.Add(root.opcode(), Shape(type, a->shape().dimensions()), {a, b}, root.attributes());
  };
  return builder.Add(Opcode::kPad, root.shape(), {make(match['x'], match['y']), make(s.operands()[1], t.operands()[1])},
                     s.attributes());
}

bool AnyInside(const PadAttributes& pad) { return AnyBelowZero(pad.low) || AnyBelowZero(pad.high); }

// Every other element along one dimension is of one, those between them of the other.
Instruction* Interleaved(Instruction* s, Instruction* t, const DimensionVector& sizes, int64_t along,
                         Builder& builder) {
  DimensionVector columns = sizes;
  columns.insert(columns.begin() + along + 1, 1);
  Instruction* joined = builder.Concatenate({builder.Reshape(s, columns), builder.Reshape(t, columns)}, along + 1);
  DimensionVector both = sizes;
  both[along] *= 2;
  return builder.Reshape(joined, both);
}

// What one of two pads adds to the other's padding, at other places along one dimension: one behind the other, or in
// turns.
Instruction* JoinPads(Instruction* first, Instruction* second, Builder& builder) {
  if (AnyInside(PadOf(*first)) || AnyInside(PadOf(*second))) return nullptr;
  int64_t along = -1;
  for (size_t i = 0; i < PadOf(*first).low.size(); ++i) {
    const PadAttributes &s = PadOf(*first), &t = PadOf(*second);
    if (s.low[i] == t.low[i] && s.high[i] == t.high[i] && s.interior[i] == t.interior[i]) continue;
    if (along >= 0) return nullptr;
    along = static_cast<int64_t>(i);
  }
  if (along < 0) return nullptr;
  if (PadOf(*first).low[along] > PadOf(*second).low[along]) std::swap(first, second);
  const PadAttributes &s = PadOf(*first), &t = PadOf(*second);
  Instruction *x = first->operands()[0], *y = second->operands()[0], *padding = first->operands()[1], *joined;
  PadAttributes both = s;
  both.high[along] = t.high[along];
  if (s.interior[along] == 1 && t.interior[along] == 1) {
    const DimensionVector& sizes = x->shape().dimensions();
    if (t.low[along] != s.low[along] + 1 || sizes != y->shape().dimensions()) return nullptr;
    both.interior[along] = 0;
    joined = Interleaved(x, y, sizes, along, builder);
  } else {
    DimensionVector gap = x->shape().dimensions();
    gap[along] = t.low[along] - s.low[along] - gap[along];
    if (s.interior[along] != 0 || t.interior[along] != 0 || gap[along] < 0) return nullptr;
    std::vector<Instruction*> pieces = {x, y};
    if (gap[along] > 0) pieces.insert(pieces.begin() + 1, builder.BroadcastScalar(padding, gap));
    joined = builder.Concatenate(pieces, along);
  }
  if (AllZero(both.low) && AllZero(both.high) && AllZero(both.interior)) return joined;
  return builder.Add(Opcode::kPad, first->shape(), {joined, padding}, std::move(both));
}

Instruction* PadsSideBySide(const Match& match, Builder& builder) { return JoinPads(match['s'], match['t'], builder); }

// Where one is added to, the other adds nothing.
Instruction* SumOfPads(const Match& match, Builder& builder) {
  Instruction* joined = JoinPads(match['s'], match['t'], builder);
  if (joined == nullptr) return nullptr;
  return builder.Add(Opcode::kAdd, match.root()->shape(), {match['x'], joined});
}

// Along dimensions that only x has.
Instruction* PadOfBroadcast(const Match& match, Builder& builder) {
  const PadAttributes& pad = PadOf(*match.root());
  const Instruction& broadcast = *match['t'];
  PadAttributes of_x;
  DimensionVector sizes;
  for (size_t i = 0; i < pad.low.size(); ++i) {
    if (pad.low[i] == 0 && pad.high[i] == 0 && pad.interior[i] == 0) continue;
    if (!Contains(broadcast.dimensions(), static_cast<int64_t>(i))) return nullptr;
  }
  for (int64_t dimension : broadcast.dimensions()) {
    of_x.low.push_back(pad.low[dimension]);
    of_x.high.push_back(pad.high[dimension]);
    of_x.interior.push_back(pad.interior[dimension]);
    sizes.push_back(match.root()->shape().dimensions(dimension));
  }
  if (sizes.size() == pad.low.size()) return nullptr;
  Instruction* padded = builder.Add(Opcode::kPad, Shape(match.root()->shape().element_type(), sizes),
                                    {match['x'], match['y']}, std::move(of_x));
  return builder.Broadcast(padded, match.root()->shape().dimensions(), broadcast.dimensions());
}

constexpr Rule kPadRules[] = {
    {"pad(x, y)", "x", Guard{"nothing is added", AddsNothing}},
    {"pad(t:pad(x, y), y)", "pad(x, y)", PadOfPad},
    {"pad(t:pad(x, c), c)", "pad(x, c)", PadOfPad},
    {"pad(x, y)", "pad(x, y), without gaps between elements that are one", PadWithoutGaps},
    {"pad(x, y)", "pad(slice(x), y), where it crops", CroppingPad},
    {"pad(x, y)", "broadcast(y)", EmptyX},
    {"pad(c, c)", "c"},
    {"elementwise(s:pad'(x, _), t:pad'(y, _))", "pad(elementwise(x, y), elementwise(c, d)), where padded alike",
     ElementwiseOfPads},
    {"add(s:pad'(x, 0), t:pad'(y, 0))", "pad(concatenate(x, y), 0), of what lies side by side", PadsSideBySide,
     SignlessZero},
    {"add(add'(x, s:pad'(_, 0)), t:pad'(_, 0))", "add(x, pad(concatenate(...), 0)), of what lies side by side",
     SumOfPads, SignlessZero},
    {"or(s:pad'(x, 0), t:pad'(y, 0))", "pad(concatenate(x, y), 0), of what lies side by side", PadsSideBySide},
    {"maximum(s:pad'(x, lowest), t:pad'(y, lowest))", "pad(concatenate(x, y), lowest), of what lies side by side",
     PadsSideBySide, NotComplex},
    {"pad(broadcast(x), x)", "broadcast(x)", ScalarX},
    {"pad(t:broadcast'(x), y)", "broadcast(pad(x, y)), where no copies are padded", PadOfBroadcast},
};

}  // namespace

absl::Span<const Rule> PadRules() { return kPadRules; }

}  // namespace kiln::passes::simplify
