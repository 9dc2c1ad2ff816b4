#include "src/passes/fusion.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/passes/fusion_plan.h"

namespace kiln::passes {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

// Computations whose instructions run one by one: the entry and what control flow calls.
std::vector<Computation*> ControlComputations(const hlo::Module& module) {
  std::vector<Computation*> result;
  absl::flat_hash_set<const Computation*> visited;
  auto visit = [&](Computation* computation) {
    if (visited.insert(computation).second) result.push_back(computation);
  };
  visit(module.entry());
  for (size_t i = 0; i < result.size(); ++i) {
    for (const Instruction* instruction : result[i]->instructions()) {
      if (hlo::KindOf(instruction->opcode()) != hlo::OpKind::kControl || instruction->opcode() == Opcode::kFusion ||
          instruction->opcode() == Opcode::kCustomCall) {
        continue;
      }
      for (Computation* callee : instruction->called_computations()) visit(callee);
    }
  }
  return result;
}

// A fusion about to be made: its body and the instructions, not yet replaced, that become its operands.
struct Outlined {
  const FusionGroup* group;
  Computation* body;
  std::vector<Instruction*> operands;
};

// Copies the members of `group` into a computation of their own. `position` is their place in post order.
Outlined Outline(const FusionGroup& group, const absl::flat_hash_map<const Instruction*, int64_t>& position) {
  hlo::Module* module = group.root->parent()->parent();
  std::vector<const Instruction*> members;
  members.reserve(group.members.size());
  for (const auto& [member, paths] : group.members) members.push_back(member);
  std::sort(members.begin(), members.end(),
            [&](const Instruction* a, const Instruction* b) { return position.at(a) < position.at(b); });

  Outlined outlined{&group, module->AddComputation(absl::StrCat("fused_", hlo::OpcodeName(group.root->opcode()))), {}};
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  for (const Instruction* member : members) {
    std::vector<Instruction*> operands;
    for (Instruction* operand : member->operands()) {
      Instruction*& copy = copies[operand];
      if (copy == nullptr) {
        copy = outlined.body->AddParameter(static_cast<int64_t>(outlined.operands.size()), operand->shape());
        outlined.operands.push_back(operand);
      }
      operands.push_back(copy);
    }
    Instruction* clone = outlined.body->AddClone(*member, std::move(operands));
    copies[member] = clone;
  }
  outlined.body->set_root(copies.at(group.root));
  return outlined;
}

std::string FusionName(const FusionGroup& group) {
  absl::string_view op = hlo::OpcodeName(group.hero != nullptr ? group.hero->opcode() : group.root->opcode());
  switch (group.kind) {
    case hlo::FusionKind::kInput:
      return absl::StrCat("input_", op, "_fusion");
    case hlo::FusionKind::kOutput:
      return absl::StrCat("output_", op, "_fusion");
    default:
      return absl::StrCat("loop_", op, "_fusion");
  }
}

bool FuseComputation(Computation* computation) {
  const std::vector<FusionGroup> groups = PlanFusion(*computation);
  absl::flat_hash_map<const Instruction*, int64_t> position;
  int64_t next = 0;
  for (const Instruction* instruction : computation->PostOrder()) position[instruction] = next++;

  // All bodies are copied before anything is replaced: groups may share members.
  std::vector<Outlined> outlined;
  for (const FusionGroup& group : groups) {
    if (group.members.size() > 1) outlined.push_back(Outline(group, position));
  }
  absl::flat_hash_map<const Instruction*, Instruction*> fusions;  // by the root replaced
  for (Outlined& fused : outlined) {
    Instruction* root = fused.group->root;
    for (Instruction*& operand : fused.operands) {
      if (auto it = fusions.find(operand); it != fusions.end()) operand = it->second;
    }
    Instruction* fusion =
        computation->Add(Opcode::kFusion, root->shape(), std::move(fused.operands),
                         hlo::FusionAttributes{fused.group->kind}, {fused.body}, FusionName(*fused.group));
    fusion->CopyMetadataFrom(*root);
    root->ReplaceAllUsesWith(fusion);
    fusions[root] = fusion;
  }
  if (!outlined.empty()) computation->RemoveDeadInstructions();
  return !outlined.empty();
}

}  // namespace

absl::StatusOr<bool> Fusion::Run(hlo::Module* module) {
  bool changed = false;
  for (Computation* computation : ControlComputations(*module)) changed |= FuseComputation(computation);
  return changed;
}

}  // namespace kiln::passes
