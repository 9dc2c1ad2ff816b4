// algebraic-simplifier: applies the rules of this directory until none applies.
#ifndef KILN_PASSES_SIMPLIFY_ALGEBRAIC_SIMPLIFIER_H_
#define KILN_PASSES_SIMPLIFY_ALGEBRAIC_SIMPLIFIER_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Logical rewrites only: layouts play no part, except that a bitcast between row-major shapes is a reshape.
// Instructions of bounded dynamic shape are left alone.
class AlgebraicSimplifier : public Pass {
 public:
  absl::string_view name() const override { return "algebraic-simplifier"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_SIMPLIFY_ALGEBRAIC_SIMPLIFIER_H_
