#include "src/passes/opt_barrier_remover.h"

namespace kiln::passes {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

absl::StatusOr<bool> OptBarrierRemover::Run(hlo::Module* module) {
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    bool removed = false;
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kOptBarrier) continue;
      Instruction* value = instruction->operand(0);
      // get-tuple-element(opt-barrier(tuple(...))) leads past both at once.
      if (value->opcode() == Opcode::kTuple) {
        const std::vector<Instruction*> users(instruction->users().begin(), instruction->users().end());
        for (Instruction* user : users) {
          if (user->opcode() == Opcode::kGetTupleElement) user->ReplaceAllUsesWith(value->operand(user->tuple_index()));
        }
      }
      instruction->ReplaceAllUsesWith(value);
      removed = true;
    }
    if (removed) computation->RemoveDeadInstructions();
    changed |= removed;
  }
  return changed;
}

}  // namespace kiln::passes
