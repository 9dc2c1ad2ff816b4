// Replacing ops, and values for what reads them.
#ifndef KILN_PASSES_REPLACE_OPS_H_
#define KILN_PASSES_REPLACE_OPS_H_

#include <initializer_list>

#include "absl/functional/function_ref.h"
#include "src/base/status.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Visits every instruction of one of `opcodes` (of any, where there are none) that the entry reaches, operands before
// users. `replacement` gives, maybe as a StatusOr, what stands for it: an instruction of its computation and of
// compatible shape, or null to leave it. Says whether anything was replaced.
template <typename Replacement>
absl::StatusOr<bool> ReplaceOps(Module* module, std::initializer_list<Opcode> opcodes, const Replacement& replacement) {
  const auto is_meant = [&](const Instruction* instruction) {
    return opcodes.size() == 0 || absl::c_linear_search(opcodes, instruction->opcode());
  };
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    const auto may_contain = [&](Opcode opcode) { return computation->MayContain(opcode); };
    if (opcodes.size() > 0 && absl::c_none_of(opcodes, may_contain)) continue;
    // Looking is cheaper than ordering.
    if (!absl::c_any_of(computation->instructions(), is_meant)) continue;
    bool replaced = false;
    for (Instruction* instruction : computation->PostOrder()) {
      if (!is_meant(instruction)) continue;
      const absl::StatusOr<Instruction*> other = replacement(instruction);
      if (!other.ok()) return other.status();
      if (*other == nullptr) continue;
      instruction->ReplaceAllUsesWith(*other);
      replaced = true;
    }
    if (replaced) computation->RemoveDeadInstructions();
    changed |= replaced;
  }
  return changed;
}

// Lets all that reads `value` now, the root of its computation included, read what `make` builds from it.
void ReadThrough(Instruction* value, absl::FunctionRef<Instruction*(Builder& builder)> make);

}  // namespace kiln::passes

#endif  // KILN_PASSES_REPLACE_OPS_H_
