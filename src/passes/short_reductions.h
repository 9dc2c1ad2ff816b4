#ifndef KILN_PASSES_SHORT_REDUCTIONS_H_
#define KILN_PASSES_SHORT_REDUCTIONS_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Takes vectors of two to four components apart, as of points in space, where pairs of them are made from few, and of
// up to eight where each pair also has a weight that is made of them and goes back to them: a reduce of the components
// is an elementwise op, one that keeps them as the last dimension a reduce of each. What they share, such as a weight
// per pair, is then computed beside them instead of being stored, and lanes run along the points.
absl::StatusOr<bool> ExpandShortReductions(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SHORT_REDUCTIONS_H_
