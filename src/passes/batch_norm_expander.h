// batch-norm-expander: batch-norm-training, -inference and -grad as reductions and arithmetic.
#ifndef KILN_PASSES_BATCH_NORM_EXPANDER_H_
#define KILN_PASSES_BATCH_NORM_EXPANDER_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Types narrower than f32 are computed in f32 and rounded once. The variance is the mean of squared distances from the
// mean, not a difference of means of squares, which cancels.
class BatchNormExpander : public Pass {
 public:
  absl::string_view name() const override { return "batch-norm-expander"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_BATCH_NORM_EXPANDER_H_
