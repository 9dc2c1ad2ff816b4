#include "src/passes/simplify/algebraic_simplifier.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes {
namespace {

using simplify::RuleSet;

bool IsDynamic(const Instruction& instruction) {
  if (instruction.shape().has_dynamic_dimensions()) return true;
  return absl::c_any_of(instruction.operands(),
                        [](const Instruction* operand) { return operand->shape().has_dynamic_dimensions(); });
}

// One computation's worklist.
class Simplifier {
 public:
  Simplifier(Computation* computation, const RuleSet& rules, const RuleObserver& observer)
      : computation_(computation), rules_(rules), observer_(observer) {
    work_ = computation->PostOrder();
    absl::c_reverse(work_);  // taken from the back
    queued_.insert(work_.begin(), work_.end());
    for (const Instruction* instruction : work_) has_control_ |= !instruction->control_predecessors().empty();
    // Far more than any program needs: a bound on rules that would undo each other.
    budget_ = 64 * static_cast<int64_t>(work_.size()) + 1024;
  }

  absl::StatusOr<bool> Run() {
    bool changed = false;
    while (budget_ > 0 && !(work_.empty() && later_.empty())) {
      std::vector<Instruction*>& next = work_.empty() ? later_ : work_;
      Instruction* instruction = next.back();
      next.pop_back();
      queued_.erase(instruction);
      KILN_ASSIGN_OR_RETURN(const bool has_changed, Visit(instruction));
      changed |= has_changed;
    }
    if (changed) computation_->RemoveDeadInstructions();
    return changed;
  }

 private:
  bool IsUnused(const Instruction& instruction) const { return instruction.users().empty() && !instruction.IsRoot(); }

  absl::StatusOr<bool> Visit(Instruction* instruction) {
    if (IsUnused(*instruction) || IsDynamic(*instruction) || !instruction->control_predecessors().empty()) return false;
    Builder builder(computation_, instruction);
    const simplify::Rule* rule = nullptr;
    KILN_ASSIGN_OR_RETURN(Instruction* const replacement, rules_.Apply(instruction, builder, facts_, &rule));
    if (replacement == nullptr) return false;
    // A root keeps its exact shape: its layout may be the caller's.
    if (instruction->IsRoot() && !(replacement->shape() == instruction->shape())) return false;
    --budget_;
    if (observer_) observer_(*rule, *instruction);
    std::vector<Instruction*> again(instruction->users().begin(), instruction->users().end());
    instruction->ReplaceAllUsesWith(replacement);
    Release(instruction);
    for (Instruction* user : again) Queue(user);
    Queue(replacement);
    // Operands before users: what was added last is taken last.
    for (auto it = builder.added().rbegin(); it != builder.added().rend(); ++it) Queue(*it);
    return true;
  }

  // Long lists of operands are gone through once for all that changes about them.
  void Queue(Instruction* instruction) {
    constexpr int64_t kManyOperands = 32;
    if (!queued_.insert(instruction).second) return;
    (instruction->operand_count() > kManyOperands ? later_ : work_).push_back(instruction);
  }

  // Cuts an unused instruction off its operands, so that they see who really uses them, and so on up.
  void Release(Instruction* start) {
    if (has_control_) return;
    std::vector<Instruction*> unused = {start};
    while (!unused.empty()) {
      Instruction* instruction = unused.back();
      unused.pop_back();
      if (!IsUnused(*instruction) || instruction->IsParameter() || instruction->HasSideEffect()) continue;
      std::vector<Instruction*> operands(instruction->operands().begin(), instruction->operands().end());
      instruction->ReplaceAllOperands({});
      for (Instruction* operand : operands) {
        if (IsUnused(*operand)) {
          unused.push_back(operand);
        } else if (operand->users().size() == 1) {
          // Rules that ask for a single user may apply now.
          Queue(operand->users()[0]);
        }
      }
    }
  }

  Computation* computation_;
  const RuleSet& rules_;
  const RuleObserver& observer_;
  simplify::Facts facts_;
  std::vector<Instruction*> work_, later_;
  absl::flat_hash_set<const Instruction*> queued_;
  bool has_control_ = false;
  int64_t budget_ = 0;
};

// All rules but the last groups, `kLeftOut` of them. Never destroyed.
template <size_t kLeftOut>
const RuleSet& Rules() {
  static const auto* const rules = new RuleSet(simplify::AllRules().subspan(0, simplify::AllRules().size() - kLeftOut));
  return *rules;
}

}  // namespace

absl::Status ParseSimplifierRules() { return Rules<1>().ParseAll(); }

absl::StatusOr<bool> SimplifyAlgebra(Module* module, bool fast_math, const RuleObserver& observer) {
  const RuleSet& rules = fast_math ? Rules<0>() : Rules<1>();
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    KILN_ASSIGN_OR_RETURN(const bool has_changed, Simplifier(computation, rules, observer).Run());
    changed |= has_changed;
  }
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
