// Replacing ops, and values for what reads them.
#ifndef KILN_PASSES_REPLACE_OPS_H_
#define KILN_PASSES_REPLACE_OPS_H_

#include "absl/functional/function_ref.h"
#include "src/base/status.h"
#include "src/passes/passes.h"

namespace kiln::passes {

// Visits every instruction that the entry reaches, operands before users. `replacement` builds, in the computation of
// its argument, what stands for it: an instruction of compatible shape, or null to leave it. Says whether anything was
// replaced.
absl::StatusOr<bool> ReplaceOps(Module* module,
                                absl::FunctionRef<absl::StatusOr<Instruction*>(Instruction*)> replacement);

// Lets all that reads `value` now, the root of its computation included, read what `make` builds from it.
void ReadThrough(Instruction* value, absl::FunctionRef<Instruction*(Builder& builder)> make);

}  // namespace kiln::passes

#endif  // KILN_PASSES_REPLACE_OPS_H_
