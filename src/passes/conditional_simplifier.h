#ifndef KILN_PASSES_CONDITIONAL_SIMPLIFIER_H_
#define KILN_PASSES_CONDITIONAL_SIMPLIFIER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Conditionals with a known predicate or equal branches become the branch, and those of small branches selects. A
// negated predicate becomes the other order of the branches. Results that are equal in every branch, or that no branch
// changes, become one or go; so do unread operands and results.
absl::StatusOr<bool> SimplifyConditionals(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_CONDITIONAL_SIMPLIFIER_H_
