#include "src/passes/side_effect_order.h"

#include <vector>

#include "absl/container/flat_hash_set.h"

namespace kiln::passes {

absl::StatusOr<bool> OrderSideEffects(Module* module) {
  bool changed = false;
  absl::flat_hash_set<const Computation*> acting;
  for (Computation* computation : module->PostOrder()) {
    // Edges that are there already may run against the order of the text.
    std::vector<Instruction*> order = computation->instructions();
    const bool has_edges = absl::c_any_of(
        order, [](const Instruction* instruction) { return !instruction->control_predecessors().empty(); });
    if (has_edges) order = computation->PostOrder();
    Instruction* last = nullptr;
    for (Instruction* instruction : order) {
      bool acts = false;
      if (instruction->called_computations().empty()) {
        acts = instruction->HasSideEffect();
      } else {
        // Callees come first; asking the instruction would look through them again.
        for (const Computation* callee : instruction->called_computations()) acts |= acting.contains(callee);
        acts |= instruction->opcode() == Opcode::kCustomCall && instruction->HasSideEffect();
      }
      if (!acts) continue;
      if (last != nullptr) {
        instruction->AddControlPredecessor(last);
        changed = true;
      }
      last = instruction;
    }
    if (last != nullptr) acting.insert(computation);
  }
  return changed;
}

}  // namespace kiln::passes
