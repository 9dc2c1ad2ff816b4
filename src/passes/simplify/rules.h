// The rules of the algebraic simplifier, one group per file of this directory.
#ifndef KILN_PASSES_SIMPLIFY_RULES_H_
#define KILN_PASSES_SIMPLIFY_RULES_H_

#include <string>

#include "absl/types/span.h"
#include "src/passes/simplify/guards.h"

namespace kiln::passes::simplify {

absl::Span<const Rule> ArithmeticRules();
absl::Span<const Rule> MinMaxRules();
absl::Span<const Rule> FunctionRules();
absl::Span<const Rule> MagnitudeRules();
absl::Span<const Rule> LogicRules();
absl::Span<const Rule> CompareRules();
absl::Span<const Rule> SelectRules();
absl::Span<const Rule> ConvertRules();
absl::Span<const Rule> ReshapeRules();
absl::Span<const Rule> BroadcastRules();
absl::Span<const Rule> TransposeRules();
absl::Span<const Rule> SliceRules();
absl::Span<const Rule> SliceOfResultRules();
absl::Span<const Rule> PadRules();
absl::Span<const Rule> DynamicSliceRules();
absl::Span<const Rule> GatherScatterRules();
absl::Span<const Rule> ConcatenateRules();
absl::Span<const Rule> ReduceRules();
absl::Span<const Rule> CoveringSliceRules();
absl::Span<const Rule> ReduceWindowRules();
absl::Span<const Rule> JoinedWindowRules();
absl::Span<const Rule> JoinedDotRules();
absl::Span<const Rule> DotRules();
absl::Span<const Rule> CholeskyRules();
absl::Span<const Rule> ConvolutionRules();
absl::Span<const Rule> SortRules();
absl::Span<const Rule> ControlRules();
// What changes NaN, infinities, signs of zero or roundings further than XLA does unasked.
absl::Span<const Rule> FastMathRules();

// All groups in the order in which rules are tried, the last one being fast-math.
absl::Span<const RuleGroup> AllRules();
// A line per rule, by group, with counts.
std::string FormatRules();

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_RULES_H_
