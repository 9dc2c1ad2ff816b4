#include "src/passes/cse.h"

#include "absl/container/flat_hash_map.h"
#include "src/analysis/structure.h"
#include "src/analysis/value_numbers.h"

namespace kiln::passes {
namespace {

bool RunOn(Computation* computation, const analysis::ComputationClasses& classes) {
  analysis::ValueNumbers numbers(&classes);
  absl::flat_hash_map<int64_t, Instruction*> first;
  first.reserve(computation->instruction_count());
  bool changed = false;
  for (Instruction* instruction : computation->PostOrder()) {
    if (hlo::HasScalarComputation(instruction->opcode()) || instruction->opcode() == Opcode::kCall) {
      for (size_t i = 0; i < instruction->called_computations().size(); ++i) {
        Computation* callee = instruction->called_computation(i);
        Computation* representative = classes.Representative(callee);
        if (representative == callee) continue;
        instruction->set_called_computation(i, representative);
        changed = true;
      }
    }
    Instruction* same = first.try_emplace(numbers.Number(*instruction), instruction).first->second;
    if (same == instruction || (instruction->users().empty() && !instruction->IsRoot())) continue;
    instruction->ReplaceAllUsesWith(same);
    changed = true;
  }
  computation->RemoveDeadInstructions();
  return changed;
}

}  // namespace

absl::StatusOr<bool> MergeEqualInstructions(Module* module) {
  const analysis::ComputationClasses classes(*module);
  bool changed = false;
  // Scalar computations that are replaced stay in the module until the end: `classes` refers to them.
  for (Computation* computation : module->PostOrder()) changed |= RunOn(computation, classes);
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
