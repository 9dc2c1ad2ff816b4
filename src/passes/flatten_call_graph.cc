#include "src/passes/flatten_call_graph.h"

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "src/base/status.h"

namespace kiln::passes {

absl::StatusOr<bool> FlattenCallGraph(Module* module) {
  constexpr int64_t kMaxCopiedInstructions = 1 << 15;
  int64_t copied = 0;
  bool changed = false;
  absl::flat_hash_set<const Computation*> owned = {module->entry()};
  std::vector<Computation*> work = {module->entry()};
  while (!work.empty()) {
    Computation* caller = work.back();
    work.pop_back();
    for (Instruction* instruction : caller->instructions()) {
      const Opcode opcode = instruction->opcode();
      if (opcode != Opcode::kWhile && opcode != Opcode::kConditional && opcode != Opcode::kCall) continue;
      for (size_t i = 0; i < instruction->called_computations().size(); ++i) {
        Computation* callee = instruction->called_computation(i);
        if (!owned.insert(callee).second) {
          copied += callee->instruction_count();
          if (copied > kMaxCopiedInstructions) {
            return ResourceExhausted(instruction->Describe(),
                                     ": computations are shared by so many callers that their ",
                                     "copies have more than ", kMaxCopiedInstructions, " instructions");
          }
          callee = module->AddClone(*callee);
          owned.insert(callee);
          instruction->set_called_computation(i, callee);
          changed = true;
        }
        work.push_back(callee);
      }
    }
  }
  return changed;
}

}  // namespace kiln::passes
