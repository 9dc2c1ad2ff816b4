// Conditionals with a known predicate or equal branches become the branch, and those of small branches selects. Results
// that are equal in every branch, or that no branch changes, become one or go; so do unread operands and results.
#ifndef KILN_PASSES_CONDITIONAL_SIMPLIFIER_H_
#define KILN_PASSES_CONDITIONAL_SIMPLIFIER_H_

#include "src/passes/pass.h"

namespace kiln::passes {

class ConditionalSimplifier : public Pass {
 public:
  absl::string_view name() const override { return "conditional-simplifier"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_CONDITIONAL_SIMPLIFIER_H_
