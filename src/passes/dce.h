#ifndef KILN_PASSES_DCE_H_
#define KILN_PASSES_DCE_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Removes what no result needs: instructions, computations, elements of the tuples that loops, conditionals, barriers
// and sorts carry.
absl::StatusOr<bool> RemoveDeadCode(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_DCE_H_
