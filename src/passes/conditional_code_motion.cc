#include "src/passes/conditional_code_motion.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/call_graph.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/value_numbers.h"
#include "src/base/status.h"
#include "src/passes/branch_operands.h"
#include "src/passes/dce.h"
#include "src/passes/loop_state.h"

namespace kiln::passes {
namespace {

bool ReadsOperand(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kGetTupleElement && instruction.operand(0)->IsParameter();
}

// The values that every branch of a conditional computes from the same outer values.
class CommonCode {
 public:
  explicit CommonCode(Instruction* conditional) : conditional_(conditional) {
    for (size_t b = 0; b < conditional->called_computations().size(); ++b) Visit(static_cast<int64_t>(b));
  }

  // Computes them before the conditional. Returns whether there were any.
  bool Hoist() {
    const int64_t branches = static_cast<int64_t>(conditional_->called_computations().size());
    auto is_common = [&](const Instruction* instruction) {
      auto seen = seen_.find(number_of_.at(instruction));
      return seen != seen_.end() && seen->second == branches;
    };
    // By the first branch, whose copies stand for those of the others.
    std::vector<Instruction*> chosen;
    absl::flat_hash_set<const Instruction*> carried, needed, inside;
    for (auto it = orders_[0].rbegin(); it != orders_[0].rend(); ++it) {
      Instruction* instruction = *it;
      if (!is_common(instruction) || instruction->IsParameter() || ReadsOperand(*instruction)) {
        inside.insert(instruction);
        continue;
      }
      const auto users = instruction->users();
      const bool is_read = instruction->IsRoot() ||
                           absl::c_any_of(users, [&](const Instruction* user) { return inside.contains(user); });
      const bool is_carried = is_read && !IsFree(*instruction) && !analysis::IsMadeFromNothing(*instruction) &&
                              instruction->shape().IsArray();
      if (!is_carried && !needed.contains(instruction)) {
        inside.insert(instruction);
        continue;
      }
      if (is_carried) carried.insert(instruction);
      // Free values are made on both sides.
      if (is_read && !is_carried) inside.insert(instruction);
      chosen.push_back(instruction);
      needed.insert(instruction->operands().begin(), instruction->operands().end());
    }
    if (carried.empty()) return false;
    absl::c_reverse(chosen);
    Move(chosen, carried);
    return true;
  }

 private:
  void Visit(int64_t branch) {
    const Computation& callee = *conditional_->called_computation(branch);
    Instruction* outer = conditional_->operand(branch + 1);
    orders_.push_back(callee.PostOrder());
    for (const Instruction* instruction : orders_.back()) {
      int64_t number = 0;
      bool is_known = true;
      if (instruction->IsParameter()) {
        number = numbers_.NumberOfLeaf(outer, -1);
      } else if (ReadsOperand(*instruction)) {
        const int64_t index = instruction->tuple_index();
        number = outer->opcode() == Opcode::kTuple ? numbers_.NumberOfLeaf(outer->operand(index), -1)
                                                   : numbers_.NumberOfLeaf(outer, index);
      } else {
        is_known = analysis::MayBeShared(*instruction) &&
                   absl::c_all_of(instruction->operands(),
                                  [&](const Instruction* operand) { return seen_.contains(number_of_.at(operand)); });
        number = numbers_.Number(*instruction);
      }
      numbers_.Set(*instruction, number);
      number_of_[instruction] = number;
      if (!is_known) continue;
      // Counts the branches, not the instructions.
      int64_t& seen = seen_.try_emplace(number, 0).first->second;
      if (seen == branch) ++seen;
    }
  }

  // Of `chosen`, which are operands before users, the branches go on reading those in `carried`.
  void Move(const std::vector<Instruction*>& chosen, const absl::flat_hash_set<const Instruction*>& carried) {
    Instruction* outer = conditional_->operand(1);
    std::vector<Instruction*> values;
    const auto copies = CopyInto(conditional_->parent(), chosen, [&](Instruction* read) {
      if (read->IsParameter() || outer->opcode() == Opcode::kTuple) {
        return read->IsParameter() ? outer : outer->operand(read->tuple_index());
      }
      return conditional_->parent()->AddClone(*read, {outer});
    });
    absl::flat_hash_map<int64_t, size_t> place;  // of a number among the values carried
    for (const Instruction* instruction : chosen) {
      if (!carried.contains(instruction)) continue;
      place[number_of_.at(instruction)] = values.size();
      values.push_back(copies.at(instruction));
    }
    for (size_t b = 0; b < orders_.size(); ++b) {
      MakeOperandExplicit(conditional_, static_cast<int64_t>(b));
      const std::vector<Instruction*> readers = AddBranchOperands(conditional_, static_cast<int64_t>(b), values);
      for (Instruction* instruction : orders_[b]) {
        auto found = place.find(number_of_.at(instruction));
        if (found != place.end()) instruction->ReplaceAllUsesWith(readers[found->second]);
      }
      conditional_->called_computation(b)->RemoveDeadInstructions();
    }
  }

  Instruction* conditional_;
  analysis::ValueNumbers numbers_;
  std::vector<std::vector<Instruction*>> orders_;  // by branch
  absl::flat_hash_map<const Instruction*, int64_t> number_of_;
  absl::flat_hash_map<int64_t, int64_t> seen_;  // number -> the first so many branches compute it from outer values
};

// Whether `instruction` may run in a branch instead of before it.
bool MaySink(const Instruction& instruction) {
  return analysis::MayBeShared(instruction) && !instruction.IsRoot() &&
         hlo::KindOf(instruction.opcode()) != hlo::OpKind::kRandom && !instruction.shape().has_dynamic_dimensions();
}

using Branch = std::pair<Instruction*, int64_t>;

// Computes `moved`, operands before users, in a branch that alone uses them.
void SinkIntoBranch(const Branch& branch, std::vector<Instruction*> moved) {
  auto [conditional, number] = branch;
  MakeOperandExplicit(conditional, number);
  Computation* callee = conditional->called_computation(number);
  const Instruction& tuple = *conditional->operand(number + 1);
  absl::flat_hash_map<const Instruction*, Instruction*> inside;  // outer value -> what it is in the branch
  for (Instruction* reader : callee->parameter(0)->users())
    inside.emplace(tuple.operand(reader->tuple_index()), reader);
  absl::flat_hash_set<const Instruction*> known(moved.begin(), moved.end());
  std::vector<Instruction*> sources;
  for (const Instruction* instruction : moved) {
    for (Instruction* operand : instruction->operands()) {
      if (!inside.contains(operand) && known.insert(operand).second) sources.push_back(operand);
    }
  }
  const std::vector<Instruction*> source_readers = AddBranchOperands(conditional, number, sources);
  for (size_t i = 0; i < sources.size(); ++i) inside[sources[i]] = source_readers[i];
  const auto copies = CopyInto(callee, moved, [&](Instruction* source) { return inside.at(source); });
  const auto users = callee->parameter(0)->users();
  for (Instruction* reader : std::vector<Instruction*>(users.begin(), users.end())) {
    auto copy = copies.find(tuple.operand(reader->tuple_index()));
    if (copy != copies.end()) reader->ReplaceAllUsesWith(copy->second);
  }
  callee->RemoveDeadInstructions();
}

// Moves what `computation` computes for one branch of a conditional alone into that branch.
bool SinkOperands(Computation* computation, const absl::flat_hash_set<const Instruction*>& conditionals) {
  constexpr Branch kNone = {nullptr, 0};
  const std::vector<Instruction*> order = computation->PostOrder();
  absl::flat_hash_map<const Instruction*, Branch> operand_of, home;
  absl::flat_hash_map<Branch, std::vector<Instruction*>> moved;  // users before operands
  std::vector<Branch> branches;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    Instruction* instruction = *it;
    if (conditionals.contains(instruction)) {
      operand_of[instruction->operand(0)] = kNone;
      for (int64_t b = 0; b + 1 < instruction->operand_count(); ++b) {
        auto [known, inserted] = operand_of.try_emplace(instruction->operand(b + 1), instruction, b);
        if (!inserted) known->second = kNone;
      }
    }
    if (!MaySink(*instruction) || instruction->users().empty()) continue;
    Branch common = kNone;
    for (const Instruction* user : instruction->users()) {
      const auto& place = conditionals.contains(user) ? operand_of : home;
      auto found = place.find(conditionals.contains(user) ? instruction : user);
      const Branch branch = found == place.end() ? kNone : found->second;
      // The branches of a conditional that moves itself belong to its copy from then on.
      if (branch == kNone || home.contains(branch.first) || (common != kNone && branch != common)) {
        common = kNone;
        break;
      }
      common = branch;
    }
    if (common == kNone) continue;
    // The tuple that a branch gets stays a tuple: its elements are looked at. Others stay where they are made.
    const bool is_operand = operand_of.contains(instruction);
    if (is_operand && instruction->shape().IsTuple() && instruction->opcode() != Opcode::kTuple) continue;
    home[instruction] = common;
    if (is_operand && instruction->opcode() == Opcode::kTuple) continue;
    std::vector<Instruction*>& group = moved[common];
    if (group.empty()) branches.push_back(common);
    group.push_back(instruction);
  }
  bool changed = false;
  for (const Branch& branch : branches) {
    std::vector<Instruction*>& group = moved[branch];
    absl::c_reverse(group);
    // An element of a tuple that stays is handed in, not the tuple.
    absl::flat_hash_set<const Instruction*> kept;
    std::erase_if(group, [&](const Instruction* instruction) {
      const bool stays = instruction->opcode() == Opcode::kGetTupleElement && !kept.contains(instruction->operand(0));
      if (!stays) kept.insert(instruction);
      return stays;
    });
    // Into a conditional that is itself moved in the next round: its copy calls the same computations.
    if (group.empty() || home.contains(branch.first)) continue;
    SinkIntoBranch(branch, group);
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> MoveConditionalCode(Module* module) {
  const std::vector<Instruction*> owners = analysis::OwnersOfCallees(*module, Opcode::kConditional);
  if (owners.empty()) return false;
  bool changed = false;
  for (Instruction* conditional : owners) changed |= CommonCode(conditional).Hoist();
  // Outer computations first: what enters a branch may go on into a branch of it.
  const absl::flat_hash_set<const Instruction*> conditionals(owners.begin(), owners.end());
  const std::vector<Computation*> order = module->PostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) changed |= SinkOperands(*it, conditionals);
  if (!changed) return false;
  // Conditionals that have moved must not be taken for owners of their branches any more.
  KILN_RETURN_IF_ERROR(RemoveDeadCode(module).status());
  return true;
}

}  // namespace kiln::passes
