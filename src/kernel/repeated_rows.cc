#include "src/kernel/repeated_rows.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "src/analysis/fusion_model.h"
#include "src/kernel/op_cost.h"

namespace kiln::kernel {
namespace {

// Of ops that are worth another order of the loops, on one vector.
constexpr double kDearCost = 15;

bool IsRepeated(const Kernel& kernel, const Nest& nest) {
  if (nest.loops.size() < 2 || nest.repeat_loop >= 0) return false;
  const uint64_t first = uint64_t{1} << nest.loops.front(), last = uint64_t{1} << nest.loops.back();
  const int64_t repeats = kernel.loops[nest.loops.front()].extent;
  if (repeats < 2 || repeats > analysis::kMaxRepeats) return false;
  if (!absl::c_all_of(nest.loops, [&](int l) { return kernel.loops[l].kind == LoopKind::kParallel; })) return false;
  double cost = 0;
  for (const Block::Statement& statement : nest.body.statements) {
    if (statement.kind == Block::Kind::kReduce) return false;
    if (statement.kind == Block::Kind::kStore) {
      const Store& store = kernel.stores[statement.index];
      const Parameter& parameter = kernel.parameters[store.parameter];
      if (parameter.is_updated || parameter.is_local || (kernel.terms.LoopsOf(store.offset) & first) == 0) return false;
      continue;
    }
    const Op& op = kernel.ops[statement.index];
    if (op.opcode == hlo::Opcode::kWhile) return false;
    if ((op.loops & first) == 0 && (op.loops & last) != 0) cost = std::max(cost, OpCost(op));
  }
  return cost >= kDearCost;
}

}  // namespace

void RepeatInsideLanes(Kernel* kernel) {
  for (Nest& nest : kernel->nests) {
    if (!IsRepeated(*kernel, nest)) continue;
    nest.repeat_loop = nest.loops.front();
    std::rotate(nest.loops.begin(), nest.loops.begin() + 1, nest.loops.end());
  }
}

}  // namespace kiln::kernel
