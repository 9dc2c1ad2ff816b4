#include "src/passes/call_inliner.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/hlo/builder.h"

namespace kiln::passes {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

// Instructions that inlining may add to a module; a program of n nested doublings would otherwise grow to 2^n.
constexpr int64_t kMaxAddedInstructions = 1 << 15;

// Instructions by those that must run before them.
using Successors = absl::flat_hash_map<Instruction*, std::vector<Instruction*>>;

// Control edges of the call pass to what acts in its body: order matters to nothing else.
void Inline(Instruction* call, Successors* successors) {
  hlo::Builder builder(call->parent(), nullptr);
  Instruction* result = builder.Inline(*call->called_computation(), call->operands());
  const std::vector<Instruction*> before = call->control_predecessors();
  const auto after = successors->find(call);
  if (!before.empty() || after != successors->end()) {
    // Of a chain only the ends need edges. Without any, what came before the call comes before what follows it.
    std::vector<Instruction*> first, last;
    absl::flat_hash_set<const Instruction*> followed;
    for (Instruction* added : builder.added()) {
      if (!added->HasSideEffect()) continue;
      if (added->control_predecessors().empty()) first.push_back(added);
      followed.insert(added->control_predecessors().begin(), added->control_predecessors().end());
      last.push_back(added);
    }
    last.erase(std::remove_if(last.begin(), last.end(), [&](Instruction* i) { return followed.contains(i); }),
               last.end());
    if (last.empty()) last = before;
    for (Instruction* added : first) {
      for (Instruction* instruction : before) {
        added->AddControlPredecessor(instruction);
        (*successors)[instruction].push_back(added);
      }
    }
    if (after != successors->end()) {
      for (Instruction* follower : std::vector<Instruction*>(after->second)) {
        std::vector<Instruction*> edges = follower->control_predecessors();
        edges.erase(std::remove(edges.begin(), edges.end(), call), edges.end());
        edges.insert(edges.end(), last.begin(), last.end());
        follower->ClearControlPredecessors();
        for (Instruction* edge : edges) {
          follower->AddControlPredecessor(edge);
          (*successors)[edge].push_back(follower);
        }
      }
    }
  }
  call->ReplaceAllUsesWith(result);
}

}  // namespace

absl::StatusOr<bool> CallInliner::Run(hlo::Module* module) {
  int64_t budget = kMaxAddedInstructions;
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    std::vector<Instruction*> calls;
    Successors successors;
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kCall) calls.push_back(instruction);
      for (Instruction* before : instruction->control_predecessors()) successors[before].push_back(instruction);
    }
    bool inlined = false;
    for (Instruction* call : calls) {
      const int64_t size = call->called_computation()->instruction_count();
      if (size > budget) continue;
      budget -= size;
      Inline(call, &successors);
      // Without its callee a call has no side effect that would keep it.
      call->ReplaceAllOperands({});
      call->set_called_computations({});
      call->ClearControlPredecessors();
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
