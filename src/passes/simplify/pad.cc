// Pad.

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

// Padding that nowhere adds is a slice.
Instruction* CroppingPad(const Match& match, Builder& builder) {
  const PadAttributes& pad = PadOf(*match.root());
  hlo::SliceAttributes slice;
  for (size_t i = 0; i < pad.low.size(); ++i) {
    slice.start.push_back(-pad.low[i]);
    slice.limit.push_back(match['x']->shape().dimensions(i) + pad.high[i]);
    slice.stride.push_back(1);
    if (pad.low[i] > 0 || pad.high[i] > 0 || pad.interior[i] != 0 || slice.limit[i] < slice.start[i]) return nullptr;
  }
  return builder.Slice(match['x'], slice);
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

constexpr Rule kRules[] = {
    {"pad(x, y)", "x", Guard{"nothing is added", AddsNothing}},
    {"pad(x, y)", "slice(x), where it only crops", CroppingPad},
    {"pad(x, y)", "broadcast(y)", EmptyX},
    {"pad(c, c)", "c"},
    {"pad(broadcast(x), x)", "broadcast(x)", ScalarX},
    {"pad(t:pad(x, y), y)", "pad(x, y)", PadOfPad},
    {"pad(t:pad(x, c), c)", "pad(x, c)", PadOfPad},
};

}  // namespace

absl::Span<const Rule> PadRules() { return kRules; }

}  // namespace kiln::passes::simplify
