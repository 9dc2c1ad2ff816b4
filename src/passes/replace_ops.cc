#include "src/passes/replace_ops.h"

namespace kiln::passes {

absl::StatusOr<bool> ReplaceOps(Module* module,
                                absl::FunctionRef<absl::StatusOr<Instruction*>(Instruction*)> replacement) {
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    bool replaced = false;
    for (Instruction* instruction : computation->PostOrder()) {
      KILN_ASSIGN_OR_RETURN(Instruction * other, replacement(instruction));
      if (other == nullptr) continue;
      instruction->ReplaceAllUsesWith(other);
      replaced = true;
    }
    if (replaced) computation->RemoveDeadInstructions();
    changed |= replaced;
  }
  return changed;
}

}  // namespace kiln::passes
