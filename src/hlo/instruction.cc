#include "src/hlo/instruction.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/hlo/computation.h"

namespace kiln::hlo {

namespace {
constexpr size_t kMaxSearchedUsers = 32;
}  // namespace

void Instruction::AddUser(Instruction* user) {
  if (user_places_ != nullptr) {
    if (user_places_->try_emplace(user, users_.size()).second) users_.push_back(user);
    return;
  }
  if (std::find(users_.begin(), users_.end(), user) != users_.end()) return;
  users_.push_back(user);
  if (users_.size() <= kMaxSearchedUsers) return;
  user_places_ = std::make_unique<absl::flat_hash_map<const Instruction*, size_t>>();
  for (size_t i = 0; i < users_.size(); ++i) user_places_->emplace(users_[i], i);
}

void Instruction::RemoveUser(Instruction* user) {
  size_t place = 0;
  if (user_places_ != nullptr) {
    auto it = user_places_->find(user);
    if (it == user_places_->end()) return;
    place = it->second;
    user_places_->erase(it);
    if (users_.back() != user) (*user_places_)[users_.back()] = place;
  } else {
    place = std::find(users_.begin(), users_.end(), user) - users_.begin();
    if (place == users_.size()) return;
  }
  users_[place] = users_.back();
  users_.pop_back();
}

bool Instruction::HasOperand(const Instruction* operand) const {
  return std::find(operands_.begin(), operands_.end(), operand) != operands_.end();
}

void Instruction::ReplaceOperand(int64_t index, Instruction* replacement) {
  Instruction* old = operands_[index];
  if (old == replacement) return;
  operands_[index] = replacement;
  replacement->AddUser(this);
  if (!HasOperand(old)) old->RemoveUser(this);
}

void Instruction::set_called_computation(int64_t index, Computation* computation) {
  called_[index] = computation;
  parent_->NoteCalls();
}

void Instruction::set_called_computations(absl::Span<Computation* const> computations) {
  called_.assign(computations.begin(), computations.end());
  parent_->NoteCalls();
}

void Instruction::AddControlPredecessor(Instruction* instruction) {
  if (control_predecessors_ == nullptr) control_predecessors_ = std::make_unique<std::vector<Instruction*>>();
  control_predecessors_->push_back(instruction);
}

void Instruction::AppendOperand(Instruction* operand) {
  operands_.push_back(operand);
  operand->AddUser(this);
}

void Instruction::ReplaceAllOperands(std::vector<Instruction*> operands) {
  for (Instruction* old : operands_) old->RemoveUser(this);
  operands_.assign(operands.begin(), operands.end());
  for (Instruction* operand : operands_) operand->AddUser(this);
}

void Instruction::ReplaceAllUsesWith(Instruction* replacement) {
  if (replacement == this) return;
  absl::InlinedVector<Instruction*, 3> users = std::move(users_);
  users_.clear();
  user_places_.reset();
  for (Instruction* user : users) {
    // A replacement built over this instruction keeps it as an operand.
    if (user == replacement) {
      AddUser(user);
      continue;
    }
    // Without a branch: lists may be long, and each of their operands may be replaced.
    for (Instruction*& operand : user->operands_) operand = operand == this ? replacement : operand;
    replacement->AddUser(user);
  }
  if (parent_->root() == this) parent_->set_root(replacement);
}

bool Instruction::IsRoot() const { return parent_->root() == this; }

namespace {

bool HasOwnSideEffect(const Instruction& instruction) {
  if (hlo::HasSideEffect(instruction.opcode())) return true;
  const auto* custom_call = instruction.GetIf<CustomCallAttributes>();
  return custom_call != nullptr && custom_call->has_side_effect;
}

bool RunsComputations(Opcode opcode) {
  return opcode == Opcode::kWhile || opcode == Opcode::kConditional || opcode == Opcode::kCall;
}

}  // namespace

bool Instruction::HasSideEffect() const {
  if (HasOwnSideEffect(*this)) return true;
  if (!RunsComputations(opcode_)) return false;
  // Each computation once: calls of calls would repeat themselves without bound.
  std::vector<const Computation*> work(called_.begin(), called_.end());
  absl::flat_hash_set<const Computation*> seen(work.begin(), work.end());
  while (!work.empty()) {
    const Computation* computation = work.back();
    work.pop_back();
    for (const Instruction* instruction : computation->instructions()) {
      if (HasOwnSideEffect(*instruction)) return true;
      if (!RunsComputations(instruction->opcode())) continue;
      for (const Computation* callee : instruction->called_computations()) {
        if (seen.insert(callee).second) work.push_back(callee);
      }
    }
  }
  return false;
}

std::string Instruction::Describe() const {
  std::string text = absl::StrCat(OpcodeName(opcode_), " ", name_);
  const Metadata& data = metadata();
  if (!data.source_file.empty()) {
    absl::StrAppend(&text, " (", data.source_file, ":", data.source_line);
    if (!data.op_name.empty()) absl::StrAppend(&text, ", ", data.op_name);
    text += ")";
  } else if (!data.op_name.empty()) {
    absl::StrAppend(&text, " (", data.op_name, ")");
  }
  return text;
}

}  // namespace kiln::hlo
