#include "src/hlo/module.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kiln::hlo {

Module::~Module() = default;

std::vector<Computation*> Module::computations() const {
  std::vector<Computation*> result;
  result.reserve(computations_.size());
  for (const auto& computation : computations_) result.push_back(computation.get());
  return result;
}

std::vector<Computation*> Module::PostOrder() const {
  std::vector<Computation*> order;
  if (entry_ == nullptr) return order;
  absl::flat_hash_set<const Computation*> visited;
  struct Frame {
    Computation* computation;
    std::vector<Computation*> callees;
    size_t next;
  };
  auto callees_of = [](const Computation& computation) {
    std::vector<Computation*> callees;
    for (const auto& instruction : computation.instructions_) {
      callees.insert(callees.end(), instruction->called_computations().begin(),
                     instruction->called_computations().end());
    }
    return callees;
  };
  std::vector<Frame> stack;
  visited.insert(entry_);
  stack.push_back({entry_, callees_of(*entry_), 0});
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next == frame.callees.size()) {
      order.push_back(frame.computation);
      stack.pop_back();
      continue;
    }
    Computation* callee = frame.callees[frame.next++];
    if (visited.insert(callee).second) stack.push_back({callee, callees_of(*callee), 0});
  }
  return order;
}

std::string Module::UniqueName(const std::string& wanted, absl::flat_hash_set<std::string>* taken) {
  if (taken->insert(wanted).second) return wanted;
  int64_t& counter = name_counters_[wanted];
  while (true) {
    std::string name = absl::StrCat(wanted, ".", ++counter);
    if (taken->insert(name).second) return name;
  }
}

std::string Module::UniqueInstructionName(const std::string& wanted) { return UniqueName(wanted, &instruction_names_); }

Computation* Module::AddComputation(std::string name) {
  std::unique_ptr<Computation> computation(new Computation());
  computation->name_ = UniqueName(name, &computation_names_);
  computation->parent_ = this;
  computations_.push_back(std::move(computation));
  return computations_.back().get();
}

namespace {

// Copies instructions of `from` into `to`, callees mapped by `map_callee`.
void CopyInstructions(const Computation& from, Computation* to,
                      const std::function<Computation*(Computation*)>& map_callee) {
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  for (const Instruction* instruction : from.PostOrder()) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : instruction->operands()) operands.push_back(copies.at(operand));
    Instruction* copy = to->AddClone(*instruction, std::move(operands));
    for (size_t i = 0; i < copy->called_computations().size(); ++i) {
      copy->set_called_computation(i, map_callee(copy->called_computation(i)));
    }
    for (const Instruction* before : instruction->control_predecessors()) {
      copy->AddControlPredecessor(copies.at(before));
    }
    copies[instruction] = copy;
  }
  to->set_root(copies.at(from.root()));
}

}  // namespace

Computation* Module::AddClone(const Computation& original, std::string name) {
  if (original.parent() == this) {
    Computation* copy = AddComputation(name.empty() ? original.name() : name);
    CopyInstructions(original, copy, [](Computation* callee) { return callee; });
    return copy;
  }
  absl::flat_hash_map<const Computation*, Computation*> copies;
  std::function<Computation*(const Computation&, const std::string&)> clone =
      [&](const Computation& from, const std::string& wanted) -> Computation* {
    auto found = copies.find(&from);
    if (found != copies.end()) return found->second;
    // Callees first, so that they stand before their callers.
    std::vector<const Computation*> callees;
    for (const Instruction* instruction : from.instructions()) {
      for (const Computation* callee : instruction->called_computations()) callees.push_back(callee);
    }
    for (const Computation* callee : callees) clone(*callee, callee->name());
    Computation* copy = AddComputation(wanted);
    copies[&from] = copy;
    CopyInstructions(from, copy, [&](Computation* callee) { return copies.at(callee); });
    return copy;
  };
  return clone(original, name.empty() ? original.name() : name);
}

int64_t Module::RemoveUnusedComputations() {
  std::vector<Computation*> used = PostOrder();
  absl::flat_hash_set<const Computation*> live(used.begin(), used.end());
  const int64_t before = static_cast<int64_t>(computations_.size());
  std::erase_if(computations_, [&](const auto& computation) { return !live.contains(computation.get()); });
  return before - static_cast<int64_t>(computations_.size());
}

std::unique_ptr<Module> Module::Clone() const {
  auto copy = std::make_unique<Module>(name_);
  copy->set_entry(copy->AddClone(*entry_));
  copy->entry_parameter_layouts_ = entry_parameter_layouts_;
  copy->entry_result_layout_ = entry_result_layout_;
  copy->has_entry_layout_ = has_entry_layout_;
  copy->aliases_ = aliases_;
  copy->donors_ = donors_;
  copy->replica_count_ = replica_count_;
  copy->partition_count_ = partition_count_;
  copy->is_scheduled_ = is_scheduled_;
  copy->frontend_attributes_ = frontend_attributes_;
  copy->carried_attributes_ = carried_attributes_;
  return copy;
}

}  // namespace kiln::hlo
