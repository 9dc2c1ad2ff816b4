#ifndef KILN_PASSES_APPROX_TOP_K_EXPANDER_H_
#define KILN_PASSES_APPROX_TOP_K_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// The custom call ApproxTopK as a top-k, or where it asks for something else as a sort, which is exact. Operands are n arrays and n initial values, of which the latter
// would only fill up incomplete groups; the comparator is that of a sort. However many results are asked for, they are
// the first ones.
absl::StatusOr<bool> ExpandApproxTopK(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_APPROX_TOP_K_EXPANDER_H_
