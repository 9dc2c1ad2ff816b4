#include "src/passes/call_inliner.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace kiln::passes {
namespace {

// Instructions that inlining may add to a module's own; a program of n nested doublings would otherwise grow to 2^n.
constexpr int64_t kMaxInlinedInstructions = 1 << 15;

// Instructions by those that must run before them.
using Successors = absl::flat_hash_map<Instruction*, std::vector<Instruction*>>;

// Control edges of the call pass to what acts in its body: order matters to nothing else. Returns what was added.
std::vector<Instruction*> Inline(Instruction* call, Successors* successors) {
  Builder builder(call->parent(), nullptr);
  Instruction* result = builder.Inline(*call->called_computation(), call->operands());
  for (Instruction* added : builder.added()) {
    for (Instruction* before : added->control_predecessors()) (*successors)[before].push_back(added);
  }
  const absl::Span<Instruction* const> before = call->control_predecessors();
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
    if (last.empty()) last.assign(before.begin(), before.end());
    for (Instruction* added : first) {
      for (Instruction* instruction : before) {
        added->AddControlPredecessor(instruction);
        (*successors)[instruction].push_back(added);
      }
    }
    if (after != successors->end()) {
      for (Instruction* follower : std::vector<Instruction*>(after->second)) {
        std::vector<Instruction*> edges(follower->control_predecessors().begin(),
                                        follower->control_predecessors().end());
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
  return builder.added();
}

// Inlines calls in `computation`, those of inlined bodies included.
bool InlineAll(Computation* computation, int64_t* budget) {
  std::vector<Instruction*> calls;
  Successors successors;
  for (Instruction* instruction : computation->instructions()) {
    if (instruction->opcode() == Opcode::kCall) calls.push_back(instruction);
    for (Instruction* before : instruction->control_predecessors()) successors[before].push_back(instruction);
  }
  bool inlined = false;
  for (size_t i = 0; i < calls.size(); ++i) {
    Instruction* call = calls[i];
    const int64_t size = call->called_computation()->instruction_count();
    if (size > *budget) continue;
    *budget -= size;
    for (Instruction* added : Inline(call, &successors)) {
      if (added->opcode() == Opcode::kCall) calls.push_back(added);
    }
    // Without its callee a call has no side effect that would keep it.
    call->ReplaceAllOperands({});
    call->set_called_computations({});
    call->ClearControlPredecessors();
    inlined = true;
  }
  if (inlined) computation->RemoveDeadInstructions();
  return inlined;
}

}  // namespace

absl::StatusOr<bool> InlineCalls(Module* module) {
  int64_t budget = kMaxInlinedInstructions;
  for (const Computation* computation : module->computations()) budget += computation->instruction_count();
  // Callers first: bodies are copied as they were written, and what only calls reached is never looked at again.
  bool changed = false;
  std::vector<Computation*> work = {module->entry()};
  absl::flat_hash_set<const Computation*> reached = {module->entry()};
  while (!work.empty()) {
    Computation* computation = work.back();
    work.pop_back();
    changed |= InlineAll(computation, &budget);
    for (const Instruction* instruction : computation->instructions()) {
      for (Computation* callee : instruction->called_computations()) {
        if (reached.insert(callee).second) work.push_back(callee);
      }
    }
  }
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
