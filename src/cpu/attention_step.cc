#include "src/cpu/attention_step.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/analysis/attention.h"
#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/base/status.h"
#include "src/cpu/host_isa.h"
#include "src/kernel/buffer_sharing.h"
#include "src/kernel/kernel_builder.h"
#include "src/kernel/stage_sharing.h"

namespace kiln::cpu {
namespace {

using analysis::Attention;
using hlo::Instruction;

// Of a thread; packed keys and values are most of it.
constexpr int64_t kMaxMemory = int64_t{256} << 20;
// Longer sums over columns are made in stretches whose values are few enough for the first-level cache. Results depend
// on it, so it follows from nothing else.
constexpr int64_t kStretch = 256;

// The operation on rows with a row to a task; false where its kernel has another form.
absl::StatusOr<bool> ScheduleRows(const Instruction& fusion, const Attention& attention, kernel::TargetInfo target,
                                  AttentionStep* step) {
  absl::StatusOr<kernel::Kernel> kernel = kernel::BuildKernel(fusion);
  if (absl::IsResourceExhausted(kernel.status()) || absl::IsUnimplemented(kernel.status())) return false;
  KILN_RETURN_IF_ERROR(kernel.status());
  step->rows = *std::move(kernel);
  kernel::ShareStages(&step->rows);
  if (step->rows.nests.size() != 1) return false;
  target.streaming_bytes = 0;
  target.has_row_tiles = false;  // a row to a task
  step->schedule = kernel::ScheduleNest(step->rows, step->rows.nests[0], target);
  kernel::NestSchedule& schedule = step->schedule;
  const std::vector<int>& order = schedule.order;
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < order.size(); ++i) rows *= step->rows.loops[order[i]].extent;
  if (order.empty() || schedule.tile.store_loop >= 0 || !std::is_sorted(order.begin(), order.end()) ||
      rows != attention.row_count() || step->rows.loops[order.back()].extent != attention.columns ||
      (schedule.vector_loop >= 0 && schedule.vector_loop != order.back())) {
    return false;
  }
  step->nanoseconds = schedule.task_nanoseconds * static_cast<double>(schedule.task_count);
  schedule.task_loops = static_cast<int>(order.size()) - 1;
  schedule.task_count = rows;
  schedule.block = 1;
  return true;
}

// The plan of a product with all of a batch's rows, whose tiles suit blocks of `block` rows.
std::optional<GemmPlan> PlanProduct(GemmSpec* spec, int64_t block, int64_t stretch, const std::string& name,
                                    int threads) {
  const int64_t rows = std::exchange(spec->m, block);
  std::optional<GemmPlan> plan = PlanGemmBlocks(*spec, name, threads);
  spec->m = rows;
  if (!plan.has_value() || plan->schedule.pack_lhs) return std::nullopt;
  GemmSchedule& schedule = plan->schedule;
  const int64_t steps = CeilDivide(spec->k, schedule.depth);
  const bool direct = GemmArithmetic::Make(spec->lhs.type, spec->rhs.type, spec->result_type)->IsNative(spec->out.type);
  schedule.k_block = direct && steps > 2 * stretch ? stretch : steps;
  // All rows of a batch share what is packed.
  const int64_t element = GemmArithmetic::StoredBytes(spec->rhs.type);
  schedule.pack_rhs |= spec->rhs.row_stride * element >= Tuning().products.wide_row_bytes;
  if (!FinishGemmPlan(*spec, name, *plan).ok()) return std::nullopt;
  return plan;
}

GemmBlocks BlocksOf(const GemmSpec& spec, const GemmPlan& plan) {
  const GemmArithmetic arithmetic = *GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type);
  const GemmProblem problem = MakeGemmProblem(spec, /*swapped=*/false, plan.schedule.depth);
  const std::vector<int64_t> words =
      DescribeGemmBlocks(spec, problem, plan.schedule, MakeGemmLayout(problem, plan.schedule, arithmetic, spec));
  return *reinterpret_cast<const GemmBlocks*>(words.data());
}

}  // namespace

absl::StatusOr<std::unique_ptr<AttentionStep>> PlanAttention(const Instruction& fusion,
                                                             const kernel::TargetInfo& target, int threads) {
  const std::optional<analysis::AttentionParts> parts = analysis::FindAttentionParts(fusion);
  const std::optional<Attention> found = parts ? analysis::DescribeAttention(*parts) : std::nullopt;
  if (!found.has_value()) return nullptr;
  const Attention& attention = *found;
  auto step = std::make_unique<AttentionStep>();
  step->query = parts->sources[attention.query_side]->parameter_number();
  step->key = parts->sources[1 - attention.query_side]->parameter_number();
  step->value = parts->value->parameter_number();
  for (int64_t i = 0; i < parts->weights->operand_count(); ++i) {
    const Instruction* operand = parts->weights->operand(i);
    if (operand == parts->scores) step->scores = i;
    step->row_operands.push_back(operand->IsParameter() ? operand->parameter_number() : -1);
  }
  KILN_ASSIGN_OR_RETURN(const bool scheduled, ScheduleRows(*parts->weights, attention, target, step.get()));
  if (!scheduled) return nullptr;

  const auto type = [](const Instruction* value) { return value->shape().element_type(); };
  GemmSpec &first = step->first, &second = step->second;
  step->offsets[0] = attention.query_offset * GemmArithmetic::StoredBytes(type(parts->sources[attention.query_side]));
  step->offsets[1] = attention.key_offset * GemmArithmetic::StoredBytes(type(parts->sources[1 - attention.query_side]));
  step->offsets[2] = attention.value_offset * GemmArithmetic::StoredBytes(type(parts->value));
  for (const analysis::AttentionLoop& loop : attention.batch) {
    first.batch.push_back({loop.size, loop.query, loop.key, 0});
    second.batch.push_back({loop.size, 0, loop.value, loop.out});
  }
  first.m = second.m = attention.rows.size;
  first.n = second.k = attention.columns;
  first.k = attention.depth;
  second.n = attention.features;
  first.lhs = {type(parts->sources[attention.query_side]), attention.rows.query, attention.query_depth};
  first.rhs = {type(parts->sources[1 - attention.query_side]), attention.key_depth, attention.key_column};
  first.out = {type(parts->first), attention.columns, 1};
  first.result_type = first.out.type;
  second.lhs = {type(parts->weights), attention.columns, 1};
  second.rhs = {type(parts->value), attention.value_column, attention.value_feature};
  second.out = {type(parts->second), attention.rows.out, 1};
  second.result_type = second.out.type;

  // Blocks whose scores fill a part of the second-level cache, even ones, and enough of them for all threads.
  const AttentionTuning& tuning = Tuning().attention;
  AttentionBlocks& blocks = step->blocks;
  blocks.rows = attention.rows.size;
  blocks.score_row = attention.columns * GemmArithmetic::StoredBytes(first.out.type);
  blocks.weight_row = attention.columns * GemmArithmetic::StoredBytes(second.lhs.type);
  const int output = static_cast<int>(parts->weights->operand_count());
  blocks.in_place = kernel::MayShareBuffer(step->rows, {&step->schedule, 1}, static_cast<int>(step->scores), output);
  const int64_t row_bytes = blocks.score_row + (blocks.in_place != 0 ? 0 : blocks.weight_row);
  const int64_t most =
      std::clamp<int64_t>(Host().l2_bytes / tuning.block_part / row_bytes, tuning.rows, tuning.block_rows);
  const int64_t batches = attention.row_count() / blocks.rows;
  blocks.blocks = CeilDivide(blocks.rows, most);
  while (threads > 1 && batches * blocks.blocks < 2 * threads && blocks.rows >= 2 * (blocks.blocks + 1) * tuning.rows) {
    ++blocks.blocks;
  }
  blocks.block = CeilDivide(blocks.rows, blocks.blocks);
  blocks.blocks = CeilDivide(blocks.rows, blocks.block);

  const std::string name(fusion.name());
  std::optional<GemmPlan> one = PlanProduct(&first, blocks.block, first.k, absl::StrCat(name, ".scores"), threads);
  std::optional<GemmPlan> two = PlanProduct(&second, blocks.block, kStretch, absl::StrCat(name, ".out"), threads);
  if (!one.has_value() || !two.has_value()) return nullptr;
  step->first_plan = *std::move(one);
  step->second_plan = *std::move(two);
  if (AttentionBytes(blocks, BlocksOf(first, step->first_plan), BlocksOf(second, step->second_plan)) > kMaxMemory) {
    return nullptr;
  }
  step->tasks = batches * blocks.blocks;
  step->nanoseconds += static_cast<double>(step->first_plan.estimated_nanoseconds) +
                       static_cast<double>(step->second_plan.estimated_nanoseconds);
  return step;
}

}  // namespace kiln::cpu
