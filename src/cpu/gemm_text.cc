// The schedule of a matrix product as text.
#include <string>

#include "absl/strings/str_cat.h"
#include "src/cpu/gemm.h"
#include "src/cpu/gemm_layout.h"

namespace kiln::cpu {
namespace {

std::string KindName(const GemmSchedule& schedule) {
  switch (schedule.kind) {
    case GemmSchedule::Kind::kTile:
      return "generated tiles";
    case GemmSchedule::Kind::kBlocks:
      return schedule.amx ? "AMX blocks" : "blocks";
    case GemmSchedule::Kind::kGroups:
      return "channel groups";
    case GemmSchedule::Kind::kWinograd:
      return "transformed tiles";
    case GemmSchedule::Kind::kRows:
      return schedule.few_columns ? "few columns along k" : "few rows along k";
    case GemmSchedule::Kind::kDot:
      return "dots along k";
  }
  return "";
}

}  // namespace

std::string ToString(const GemmSpec& spec, const GemmPlan& plan) {
  const GemmSchedule& schedule = plan.schedule;
  const GemmProblem problem = MakeGemmProblem(spec, schedule.swapped, schedule.depth);
  std::string text = absl::StrCat("  ", KindName(schedule), ": ");
  if (problem.batches > 1) absl::StrAppend(&text, problem.batches, " x ");
  absl::StrAppend(&text, problem.m * problem.m_outer, " x ", problem.k_total() * schedule.depth, " x ", problem.n,
                  schedule.swapped ? " (transposed)" : "", " ", PrimitiveTypeName(problem.lhs_type), " x ",
                  PrimitiveTypeName(problem.rhs_type), " -> ", PrimitiveTypeName(problem.out_type), ", tile ",
                  schedule.rows, " x ", schedule.vectors, " x ", schedule.lanes);
  if (schedule.depth > 1) absl::StrAppend(&text, ", ", schedule.depth, " of k at once");
  if (schedule.m_block > 0) {
    absl::StrAppend(&text, ", task ", schedule.m_block, " x ", schedule.n_block, ", k by ",
                    schedule.k_block * schedule.depth);
  }
  absl::StrAppend(&text, schedule.pack_lhs ? ", packs lhs" : "", schedule.pack_rhs ? ", packs rhs" : "",
                  schedule.rows_first ? ", rows first" : "", spec.epilogue ? ", with epilogue" : "", "\n  ");
  for (const GemmPhase& phase : plan.phases) absl::StrAppend(&text, phase.tasks, " tasks, grain ", phase.grain, "; ");
  absl::StrAppend(&text, plan.rounds > 1 ? absl::StrCat(plan.rounds, " rounds; ") : "", plan.scratch_bytes,
                  " bytes of scratch\n");
  return text;
}

}  // namespace kiln::cpu
