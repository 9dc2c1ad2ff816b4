// reduction-splitter: large reductions to few results are done in parts, which threads share.
#ifndef KILN_PASSES_REDUCTION_SPLITTER_H_
#define KILN_PASSES_REDUCTION_SPLITTER_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// reduce(f32[16777216] x) becomes reduce(reduce(f32[32,524288] reshape(x), dimensions={1}), dimensions={0}). The parts
// follow from the shape alone: results do not depend on the number of threads. A dimension is divided into equal parts;
// where none has a divisor of use the reduction stays whole.
class ReductionSplitter : public Pass {
 public:
  absl::string_view name() const override { return "reduction-splitter"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_REDUCTION_SPLITTER_H_
