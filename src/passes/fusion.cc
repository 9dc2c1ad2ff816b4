#include "src/passes/fusion.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "src/passes/fusion_body.h"
#include "src/passes/fusion_plan.h"
#include "src/passes/update_in_place.h"

namespace kiln::passes {
namespace {

using hlo::Computation;
using hlo::Instruction;

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

bool FuseComputation(Computation* computation, const analysis::FusionCosts& costs) {
  ReadUpdatesBack(computation);
  const std::vector<FusionGroup> groups = PlanFusion(*computation, costs);
  absl::flat_hash_map<const Instruction*, int64_t> position;
  const std::vector<Instruction*> order = computation->PostOrder();
  position.reserve(order.size());
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int64_t>(i);

  // All bodies are copied before anything is replaced: groups may share members.
  std::vector<std::pair<const FusionGroup*, FusionBody>> bodies;
  for (const FusionGroup& group : groups) {
    if (group.members.size() <= 1) continue;
    std::vector<int64_t> members;
    members.reserve(group.members.size());
    for (const auto& [member, paths] : group.members) members.push_back(position.at(member));
    std::sort(members.begin(), members.end());
    FusionBody body(computation->parent(), absl::StrCat("fused_", hlo::OpcodeName(group.root->opcode())));
    for (const int64_t member : members) {
      group.kept.contains(order[member]) ? body.AddKept(*order[member]) : body.Add(*order[member]);
    }
    bodies.emplace_back(&group, std::move(body));
  }
  absl::flat_hash_map<const Instruction*, Instruction*> fusions;  // by the root replaced
  for (auto& [group, body] : bodies) {
    for (Instruction*& operand : body.operands()) {
      if (auto it = fusions.find(operand); it != fusions.end()) operand = it->second;
    }
    fusions[group->root] = body.Finish({&group->root, 1}, group->kind, FusionName(*group));
  }
  if (!bodies.empty()) computation->RemoveDeadInstructions();
  return !bodies.empty();
}

}  // namespace

absl::StatusOr<bool> FuseInstructions(hlo::Module* module, const analysis::FusionCosts& costs) {
  bool changed = false;
  for (Computation* computation : ControlComputations(*module)) changed |= FuseComputation(computation, costs);
  return changed;
}

}  // namespace kiln::passes
