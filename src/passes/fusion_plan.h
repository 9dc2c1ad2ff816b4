// Which instructions of a computation share a kernel: the planning half of fusion.
#ifndef KILN_PASSES_FUSION_PLAN_H_
#define KILN_PASSES_FUSION_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/fusion_costs.h"
#include "src/analysis/fusion_model.h"
#include "src/hlo/computation.h"

namespace kiln::passes {

// One future kernel: what it computes and the instructions evaluated inside.
struct FusionGroup {
  hlo::Instruction* root = nullptr;
  // The reduce, dot or convolution inside, of which the root may be an epilogue; null in plain loops.
  hlo::Instruction* hero = nullptr;
  hlo::FusionKind kind = hlo::FusionKind::kLoop;
  // Each member with the ways in which it is evaluated.
  absl::flat_hash_map<const hlo::Instruction*, std::vector<analysis::IndexPath>> members;
  // Operands of members that are no members, inline constants aside.
  absl::flat_hash_set<const hlo::Instruction*> parameters;
  // Members that only a product's operands are made of.
  absl::flat_hash_set<const hlo::Instruction*> in_front;
  // Members that are made once per block of rows (analysis/kept_blocks.h).
  absl::flat_hash_set<const hlo::Instruction*> kept;
  // Has members that are dear, and made once since the first loop runs inside the lanes.
  bool repeats_rows = false;
  int64_t emitted_ops = 0;
};

// The groups of `computation`, roots in post order; groups of one member included. Every instruction that some
// instruction outside its groups reads is the root of a group, or stands alone.
std::vector<FusionGroup> PlanFusion(const hlo::Computation& computation, const analysis::FusionCosts& costs);

}  // namespace kiln::passes

#endif  // KILN_PASSES_FUSION_PLAN_H_
