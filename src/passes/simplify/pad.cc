// Pad.
#include <algorithm>

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

constexpr Rule kRules[] = {
    {"pad(x, y)", "x", Guard{"nothing is added", AddsNothing}},
    {"pad(t:pad(x, y), y)", "pad(x, y)", PadOfPad},
    {"pad(t:pad(x, c), c)", "pad(x, c)", PadOfPad},
    {"pad(x, y)", "pad(x, y), without gaps between elements that are one", PadWithoutGaps},
    {"pad(x, y)", "pad(slice(x), y), where it crops", CroppingPad},
    {"pad(x, y)", "broadcast(y)", EmptyX},
    {"pad(c, c)", "c"},
    {"elementwise(s:pad'(x, _), t:pad'(y, _))", "pad(elementwise(x, y), elementwise(c, d)), where padded alike",
     ElementwiseOfPads},
    {"pad(broadcast(x), x)", "broadcast(x)", ScalarX},
};

}  // namespace

absl::Span<const Rule> PadRules() { return kRules; }

}  // namespace kiln::passes::simplify
