// Attention as a chain over the rows of its scores.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/analysis/attention.h"
#include "src/base/status.h"
#include "src/cpu/row_chain.h"

namespace kiln::cpu {

using analysis::Attention;
using hlo::Instruction;

namespace {

// Longer sums over columns are made in stretches whose values are few enough for the first-level cache. Results depend
// on it, so it follows from nothing else.
constexpr int64_t kStretch = 256;

enum StepNumber { kScores, kRows, kOut };

}  // namespace

absl::StatusOr<std::unique_ptr<RowChainPlan>> PlanAttention(const Instruction& fusion, const kernel::TargetInfo& target,
                                                            int threads) {
  const std::optional<analysis::AttentionParts> parts = analysis::FindAttentionParts(fusion);
  const std::optional<Attention> found = parts ? analysis::DescribeAttention(*parts) : std::nullopt;
  if (!found.has_value()) return nullptr;
  const Attention& attention = *found;
  const int64_t groups = attention.row_count();
  const auto type = [](const Instruction* value) { return value->shape().element_type(); };
  auto plan = std::make_unique<RowChainPlan>();
  plan->steps.resize(3);
  RowChainPlan::Step &scores = plan->steps[kScores], &rows = plan->steps[kRows], &out = plan->steps[kOut];
  const Instruction *query = parts->sources[attention.query_side], *key = parts->sources[1 - attention.query_side];
  const int64_t result = fusion.operand_count();
  plan->arrays = result + 1;
  plan->values = {{attention.columns * GemmArithmetic::StoredBytes(type(parts->first)), kScores, kRows},
                  {attention.columns * GemmArithmetic::StoredBytes(type(parts->weights)), kRows, kOut}};
  scores.name = "scores";
  rows.name = "rows";
  out.name = "out";
  scores.lhs = query->parameter_number();
  scores.rhs = key->parameter_number();
  scores.out = -1;
  out.lhs = -2;
  out.rhs = parts->value->parameter_number();
  out.out = result;
  scores.lhs_offset = attention.query_offset * GemmArithmetic::StoredBytes(type(query));
  scores.rhs_offset = attention.key_offset * GemmArithmetic::StoredBytes(type(key));
  out.rhs_offset = attention.value_offset * GemmArithmetic::StoredBytes(type(parts->value));

  kernel::TargetInfo row_target = target;
  row_target.has_row_tiles = false;  // a row to a task
  KILN_ASSIGN_OR_RETURN(const bool planned, PlanChainKernel(*parts->weights, groups, row_target, plan.get(), &rows));
  if (!planned || plan->unit != 1 || rows.schedules.size() != 1) return nullptr;
  for (const Instruction* operand : parts->weights->operands()) {
    rows.pointers.push_back(operand == parts->scores ? -1 : operand->parameter_number());
  }
  rows.pointers.push_back(-2);
  for (size_t i = rows.pointers.size(); i < rows.kernel.parameters.size(); ++i) {
    if (!rows.kernel.parameters[i].constant.has_value()) break;
    rows.pointers.push_back(plan->arrays++);
    plan->constants.push_back(&*rows.kernel.parameters[i].constant);
  }
  PlanChainBlocks(groups, attention.rows.size, /*group_rows=*/1, threads, plan.get());

  GemmSpec first, second;
  int64_t stride = attention.rows.size * attention.columns;
  for (size_t i = attention.batch.size(); i-- > 0; stride *= attention.batch[i].size) {
    const analysis::AttentionLoop& loop = attention.batch[i];
    first.batch.insert(first.batch.begin(), {loop.size, loop.query, loop.key, stride});
    second.batch.insert(second.batch.begin(), {loop.size, stride, loop.value, loop.out});
  }
  first.m = second.m = attention.rows.size;
  first.n = second.k = attention.columns;
  first.k = attention.depth;
  second.n = attention.features;
  first.lhs = {type(query), attention.rows.query, attention.query_depth};
  first.rhs = {type(key), attention.key_depth, attention.key_column};
  first.out = {type(parts->first), attention.columns, 1};
  first.result_type = first.out.type;
  second.lhs = {type(parts->weights), attention.columns, 1};
  second.rhs = {type(parts->value), attention.value_column, attention.value_feature};
  second.out = {type(parts->second), attention.rows.out, 1};
  second.result_type = second.out.type;
  const std::string name(fusion.name());
  for (const auto& [step, spec, stretch] : {std::tuple{&scores, &first, first.k}, {&out, &second, kStretch}}) {
    std::optional<GemmPlan> product =
        PlanChainProduct(*spec, plan->blocks.block, stretch, absl::StrCat(name, ".", step->name), threads);
    if (!product.has_value()) return nullptr;
    plan->nanoseconds += static_cast<double>(product->estimated_nanoseconds);
    step->product = std::make_unique<MatrixProduct::Part>();
    step->product->spec = std::move(*spec);
    step->product->plan = *std::move(product);
  }
  if (!FitsThread(*plan)) return nullptr;
  return plan;
}

}  // namespace kiln::cpu
