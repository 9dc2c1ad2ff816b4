#ifndef KILN_PASSES_REDUCTION_SPLITTER_H_
#define KILN_PASSES_REDUCTION_SPLITTER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Large reductions to few results are done in parts, which threads share. reduce(f32[16777216] x) becomes
// reduce(reduce(f32[32,524288] reshape(x), dimensions={1}), dimensions={0}). The parts follow from the shape alone:
// results do not depend on the number of threads. A dimension is divided into equal parts; where none has a divisor of
// use the reduction stays whole.
absl::StatusOr<bool> SplitReductions(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_REDUCTION_SPLITTER_H_
