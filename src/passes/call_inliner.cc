#include "src/passes/call_inliner.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "src/hlo/builder.h"

namespace kiln::passes {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

// Instructions that inlining may add to a module; a program of n nested doublings would otherwise grow to 2^n.
constexpr int64_t kMaxAddedInstructions = 1 << 15;

void Inline(Instruction* call) {
  hlo::Builder builder(call->parent(), nullptr);
  Instruction* result = builder.Inline(*call->called_computation(), call->operands());
  for (Instruction* before : call->control_predecessors()) {
    for (Instruction* added : builder.added()) added->AddControlPredecessor(before);
  }
  call->ReplaceAllUsesWith(result);
}

}  // namespace

absl::StatusOr<bool> CallInliner::Run(hlo::Module* module) {
  int64_t budget = kMaxAddedInstructions;
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    std::vector<Instruction*> calls;
    // Instructions that others must follow cannot vanish without their successors knowing: those calls stay.
    absl::flat_hash_set<const Instruction*> precedes;
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kCall) calls.push_back(instruction);
      for (const Instruction* before : instruction->control_predecessors()) precedes.insert(before);
    }
    bool inlined = false;
    for (Instruction* call : calls) {
      const int64_t size = call->called_computation()->instruction_count();
      if (size > budget || precedes.contains(call)) continue;
      budget -= size;
      Inline(call);
      // Without its callee a call has no side effect that would keep it.
      call->ReplaceAllOperands({});
      call->set_called_computations({});
      inlined = true;
    }
    if (!inlined) continue;
    changed = true;
    computation->RemoveDeadInstructions();
  }
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
