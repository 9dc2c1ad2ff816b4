#include "src/passes/dce.h"

#include <algorithm>
#include <vector>

#include "src/passes/dead_state.h"

namespace kiln::passes {

absl::StatusOr<bool> Dce::Run(hlo::Module* module) {
  bool changed = false;
  auto sweep = [&] {
    for (hlo::Computation* computation : module->PostOrder()) changed |= computation->RemoveDeadInstructions() > 0;
    changed |= module->RemoveUnusedComputations() > 0;
  };
  // Swept first, so that dead code does not count as a use of loop state; swept again for what the state kept alive.
  sweep();
  if (RemoveDeadState(module)) {
    changed = true;
    sweep();
  }
  return changed;
}

}  // namespace kiln::passes
