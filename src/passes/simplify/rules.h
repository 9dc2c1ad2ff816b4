// The rules of the algebraic simplifier, one group per file of this directory.
#ifndef KILN_PASSES_SIMPLIFY_RULES_H_
#define KILN_PASSES_SIMPLIFY_RULES_H_

#include "absl/types/span.h"
#include "src/passes/simplify/rule.h"

namespace kiln::passes::simplify {

absl::Span<const Rule> ArithmeticRules();
absl::Span<const Rule> LogicRules();
absl::Span<const Rule> CompareSelectRules();
absl::Span<const Rule> ConvertRules();
absl::Span<const Rule> ReshapeRules();
absl::Span<const Rule> BroadcastRules();
absl::Span<const Rule> TransposeRules();
absl::Span<const Rule> SliceRules();
absl::Span<const Rule> ConcatenateRules();
absl::Span<const Rule> ReduceRules();
absl::Span<const Rule> DotRules();
absl::Span<const Rule> ControlRules();

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_RULES_H_
