#include "src/passes/op_expander.h"

#include "src/base/status.h"

namespace kiln::passes {

absl::StatusOr<bool> OpExpander::Run(hlo::Module* module) {
  bool changed = false;
  for (hlo::Computation* computation : module->PostOrder()) {
    bool expanded = false;
    for (hlo::Instruction* instruction : computation->PostOrder()) {
      if (!Expands(*instruction)) continue;
      KILN_ASSIGN_OR_RETURN(hlo::Instruction * replacement, Expand(instruction));
      instruction->ReplaceAllUsesWith(replacement);
      expanded = true;
    }
    if (expanded) computation->RemoveDeadInstructions();
    changed |= expanded;
  }
  return changed;
}

}  // namespace kiln::passes
