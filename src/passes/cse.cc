#include "src/passes/cse.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "src/analysis/structure.h"

namespace kiln::passes {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

bool MayBeShared(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kParameter:
    case Opcode::kOptBarrier:
    case Opcode::kRng:
    case Opcode::kAddDependency:
    case Opcode::kAfterAll:
    case Opcode::kCustomCall:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return false;
    default:
      return hlo::KindOf(instruction.opcode()) != hlo::OpKind::kCommunication &&
             instruction.control_predecessors().empty() && !instruction.HasSideEffect();
  }
}

// A commutative pair in the order of ids, others as they stand.
std::pair<const Instruction*, const Instruction*> CommutedOperands(const Instruction& instruction) {
  const Instruction* a = instruction.operand(0);
  const Instruction* b = instruction.operand(1);
  return a->id() <= b->id() ? std::make_pair(a, b) : std::make_pair(b, a);
}

size_t Hash(const Instruction& instruction, const analysis::ComputationClasses& classes) {
  size_t hash = analysis::HashAttributes(instruction);
  if (hlo::IsCommutative(instruction.opcode())) {
    auto [a, b] = CommutedOperands(instruction);
    return absl::HashOf(hash, a, b);
  }
  for (const Instruction* operand : instruction.operands()) hash = absl::HashOf(hash, operand);
  for (Computation* callee : instruction.called_computations()) {
    hash = absl::HashOf(hash, classes.Representative(callee));
  }
  return hash;
}

bool Same(const Instruction& a, const Instruction& b, const analysis::ComputationClasses& classes) {
  if (!analysis::SameOperation(a, b) || a.operand_count() != b.operand_count() ||
      a.called_computations().size() != b.called_computations().size()) {
    return false;
  }
  for (size_t i = 0; i < a.called_computations().size(); ++i) {
    if (classes.Representative(a.called_computation(i)) != classes.Representative(b.called_computation(i)))
      return false;
  }
  if (hlo::IsCommutative(a.opcode())) return CommutedOperands(a) == CommutedOperands(b);
  return std::equal(a.operands().begin(), a.operands().end(), b.operands().begin());
}

bool RunOn(Computation* computation, const analysis::ComputationClasses& classes) {
  absl::flat_hash_map<size_t, std::vector<Instruction*>> seen;
  seen.reserve(computation->instruction_count());
  bool changed = false;
  for (Instruction* instruction : computation->PostOrder()) {
    if (hlo::HasScalarComputation(instruction->opcode())) {
      for (size_t i = 0; i < instruction->called_computations().size(); ++i) {
        Computation* callee = instruction->called_computation(i);
        Computation* representative = classes.Representative(callee);
        if (representative == callee) continue;
        instruction->set_called_computation(i, representative);
        changed = true;
      }
    }
    if (!MayBeShared(*instruction)) continue;
    std::vector<Instruction*>& candidates = seen[Hash(*instruction, classes)];
    auto same = std::find_if(candidates.begin(), candidates.end(),
                             [&](const Instruction* other) { return Same(*instruction, *other, classes); });
    if (same == candidates.end()) {
      candidates.push_back(instruction);
    } else if (!instruction->users().empty() || instruction->IsRoot()) {
      instruction->ReplaceAllUsesWith(*same);
      changed = true;
    }
  }
  computation->RemoveDeadInstructions();
  return changed;
}

}  // namespace

absl::StatusOr<bool> Cse::Run(hlo::Module* module) {
  const analysis::ComputationClasses classes(*module);
  bool changed = false;
  // Scalar computations that are replaced stay in the module until the end: `classes` refers to them.
  for (Computation* computation : module->PostOrder()) changed |= RunOn(computation, classes);
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
