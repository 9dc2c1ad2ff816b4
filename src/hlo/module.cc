#include "src/hlo/module.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/fingerprint.h"

namespace kiln::hlo {

Module::~Module() = default;

std::vector<Computation*> Module::computations() const {
  std::vector<Computation*> result;
  result.reserve(computations_.size());
  for (const auto& computation : computations_) result.push_back(computation.get());
  return result;
}

std::vector<Computation*> Module::PostOrder() const {
  if (entry_ == nullptr) return {};
  std::lock_guard<std::mutex> lock(order_mutex_);
  if (order_version_ != calls_version_) {
    order_ = CalleesFirst({entry_});
    order_version_ = calls_version_;
  }
  return order_;
}

Shape Module::Shared(Shape shape) { return shape.IsArray() ? *shapes_.insert(std::move(shape)).first : shape; }

std::string Module::UniqueName(const std::string& wanted, absl::flat_hash_set<uint64_t>* taken) {
  const auto take = [&](const std::string& name) { return taken->insert(Hash64(name, /*seed=*/0)).second; };
  if (take(wanted)) return wanted;
  int64_t& counter = name_counters_[wanted];
  while (true) {
    std::string name = absl::StrCat(wanted, ".", ++counter);
    if (take(name)) return name;
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
  absl::flat_hash_map<const Computation*, Computation*> copies;
  auto copy = [&](const Computation& from, const std::string& wanted) {
    Computation* added = AddComputation(wanted);
    CopyInstructions(from, added, [&](Computation* callee) {
      const auto found = copies.find(callee);
      return found == copies.end() ? callee : found->second;
    });
    return added;
  };
  if (original.parent() != this) {
    for (Computation* callee : CalleesFirst(original.Callees())) copies[callee] = copy(*callee, callee->name());
  }
  return copy(original, name.empty() ? original.name() : name);
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
