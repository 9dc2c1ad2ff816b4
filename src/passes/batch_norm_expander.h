#ifndef KILN_PASSES_BATCH_NORM_EXPANDER_H_
#define KILN_PASSES_BATCH_NORM_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Batch-norm-training, -inference and -grad as reductions and arithmetic. Types narrower than f32 are computed in f32
// and rounded once. The variance is the mean of squared distances from the mean, not a difference of means of squares,
// which cancels.
absl::StatusOr<bool> ExpandBatchNorms(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_BATCH_NORM_EXPANDER_H_
