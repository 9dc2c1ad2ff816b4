#include "src/passes/opt_barrier_remover.h"

#include <vector>

#include "src/passes/replace_ops.h"

namespace kiln::passes {

absl::StatusOr<bool> RemoveOptBarriers(Module* module) {
  return ReplaceOps(module, {Opcode::kOptBarrier}, [](Instruction* instruction) {
    Instruction* value = instruction->operand(0);
    // get-tuple-element(opt-barrier(tuple(...))) leads past both at once.
    if (value->opcode() == Opcode::kTuple) {
      for (Instruction* user : std::vector<Instruction*>(instruction->users().begin(), instruction->users().end())) {
        if (user->opcode() == Opcode::kGetTupleElement) user->ReplaceAllUsesWith(value->operand(user->tuple_index()));
      }
    }
    return value;
  });
}

}  // namespace kiln::passes
