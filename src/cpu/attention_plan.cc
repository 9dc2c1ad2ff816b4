// Attention as a chain over the rows of its scores.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "src/analysis/attention.h"
#include "src/analysis/row_groups.h"
#include "src/base/status.h"
#include "src/cpu/row_chain.h"
#include "src/hlo/computation.h"

namespace kiln::cpu {

using analysis::Attention;
using analysis::AttentionParts;
using analysis::AttentionSource;
using hlo::Instruction;

namespace {

// Longer sums over columns are made in stretches whose values are few enough for the first-level cache. Results depend
// on it, so it follows from nothing else.
constexpr int64_t kStretch = 256;

class AttentionPlanner {
 public:
  AttentionPlanner(const Instruction& fusion, const kernel::TargetInfo& target, int threads)
      : fusion_(fusion),
        inner_(*analysis::FindAttention(fusion)),
        target_(target),
        threads_(threads),
        parts_(*analysis::FindAttentionParts(inner_)) {}

  absl::StatusOr<std::unique_ptr<RowChainPlan>> Plan() {
    const std::optional<Attention> found = analysis::DescribeAttention(parts_);
    if (!found.has_value()) return nullptr;
    attention_ = *found;
    plan_->arrays = fusion_.operand_count() + 1;
    plan_->steps.reserve(kMaxSteps);
    for (const Instruction* parameter : fusion_.called_computation()->parameters()) {
      if (!parameter->shape().IsArray()) return nullptr;
    }
    KILN_ASSIGN_OR_RETURN(const bool has_query, MakeSource(AttentionSource::kQuery));
    if (!has_query) return nullptr;
    KILN_ASSIGN_OR_RETURN(const bool has_key, MakeSource(AttentionSource::kKey));
    if (!has_key) return nullptr;
    RowChainPlan::Step& scores = AddStep("scores");
    scores.lhs = ArrayOf(AttentionSource::kQuery);
    scores.rhs = ArrayOf(AttentionSource::kKey);
    scores.out = AddValue(attention_.columns * GemmArithmetic::StoredBytes(TypeOf(parts_.first)));
    RowChainPlan::Step& rows = AddStep("rows");
    KILN_ASSIGN_OR_RETURN(const bool has_rows, PlanRows(scores.out, &rows));
    if (!has_rows) return nullptr;
    KILN_ASSIGN_OR_RETURN(const bool has_value, MakeSource(AttentionSource::kValue));
    if (!has_value) return nullptr;
    RowChainPlan::Step& out = AddStep("out");
    out.lhs = rows.pointers[static_cast<size_t>(parts_.weights->operand_count())];
    out.rhs = ArrayOf(AttentionSource::kValue);
    out.out = fusion_.operand_count();
    PlanLives();
    PlanChainBlocks(attention_.row_count(), attention_.rows.size, /*group_rows=*/1, threads_, plan_.get());
    if (plan_->blocks.groups % plan_->unit != 0 || !PlanProducts(&scores, &out)) return nullptr;
    KeepTogether();
    if (!FitsThread(*plan_)) return nullptr;
    return std::move(plan_);
  }

 private:
  static constexpr size_t kMaxSteps = 6;

  static hlo::PrimitiveType TypeOf(const Instruction* value) { return value->shape().element_type(); }

  RowChainPlan::Step& AddStep(std::string name) {
    RowChainPlan::Step& step = plan_->steps.emplace_back();
    step.name = std::move(name);
    return step;
  }

  // A value that the last step makes.
  int64_t AddValue(int64_t group_bytes, int64_t shared = 1) {
    const size_t made = plan_->steps.size() - 1;
    plan_->values.push_back({group_bytes, made, made, shared});
    return -static_cast<int64_t>(plan_->values.size());
  }

  // What a parameter of the attention is: one of the fusion, a constant, or what a kernel makes.
  const Instruction* Outside(const Instruction* parameter) const {
    if (&inner_ == &fusion_) return parameter;
    return analysis::BehindViews(inner_.operand(parameter->parameter_number()));
  }
  static bool IsThere(const Instruction* value) { return value->IsParameter() || value->IsConstant(); }

  int64_t ArrayOf(const Instruction* value) {
    if (value->IsParameter()) return value->parameter_number();
    if (value->IsConstant()) return AddConstant(value->literal());
    return made_.at(value);
  }
  int64_t ArrayOf(AttentionSource source) { return ArrayOf(Outside(analysis::SourceIn(parts_, attention_, source))); }

  int64_t AddConstant(const hlo::Literal& literal) {
    plan_->constants.push_back(&literal);
    return plan_->arrays++;
  }

  void AddConstants(RowChainPlan::Step* step) {
    for (size_t i = step->pointers.size(); i < step->kernel.parameters.size(); ++i) {
      if (!step->kernel.parameters[i].constant.has_value()) break;
      step->pointers.push_back(AddConstant(*step->kernel.parameters[i].constant));
    }
  }

  // Plans the kernel that makes the source, if there is one: queries row by row, others once for all rows that read
  // them. False where it has no such parts.
  absl::StatusOr<bool> MakeSource(AttentionSource source) {
    const Instruction* made = Outside(analysis::SourceIn(parts_, attention_, source));
    if (IsThere(made)) return true;
    const int64_t parts = analysis::PartsOf(parts_, attention_, source);
    if (parts == 0 || made_.contains(made) || !made->shape().IsArray()) return false;
    for (const Instruction* operand : made->operands()) {
      if (!IsThere(analysis::BehindViews(operand))) return false;
    }
    RowChainPlan::Step& step = AddStep(std::string(made->name()));
    const int64_t unit = plan_->unit;
    KILN_ASSIGN_OR_RETURN(const bool planned, PlanChainKernel(*made, parts, target_, plan_.get(), &step));
    step.shared = attention_.row_count() / parts;
    if (!planned || (step.shared > 1 && plan_->unit != unit)) return false;
    for (const Instruction* operand : made->operands()) {
      step.pointers.push_back(ArrayOf(analysis::BehindViews(operand)));
    }
    made_[made] = AddValue(made->shape().byte_count() / parts, step.shared);
    step.pointers.push_back(made_[made]);
    AddConstants(&step);
    return true;
  }

  absl::StatusOr<bool> PlanRows(int64_t scores, RowChainPlan::Step* step) {
    kernel::TargetInfo target = target_;
    target.has_row_tiles = false;  // a row to a task
    KILN_ASSIGN_OR_RETURN(const bool planned,
                          PlanChainKernel(*parts_.weights, attention_.row_count(), target, plan_.get(), step));
    if (!planned || step->groups_of_task != 1 || step->schedules.size() != 1) return false;
    for (const Instruction* operand : parts_.weights->operands()) {
      if (operand != parts_.scores && !IsThere(Outside(operand))) return false;
      step->pointers.push_back(operand == parts_.scores ? scores : ArrayOf(Outside(operand)));
    }
    step->pointers.push_back(AddValue(attention_.columns * GemmArithmetic::StoredBytes(TypeOf(parts_.weights))));
    AddConstants(step);
    return true;
  }

  // Which step reads each value last.
  void PlanLives() {
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      const RowChainPlan::Step& step = plan_->steps[i];
      std::vector<int64_t> read = step.pointers;
      read.insert(read.end(), {step.lhs, step.rhs});
      for (int64_t array : read) {
        if (array < 0) plan_->values[static_cast<size_t>(-1 - array)].last = i;
      }
    }
  }

  bool PlanProducts(RowChainPlan::Step* scores, RowChainPlan::Step* out) {
    const Instruction* query = analysis::SourceIn(parts_, attention_, AttentionSource::kQuery);
    const Instruction* key = analysis::SourceIn(parts_, attention_, AttentionSource::kKey);
    scores->lhs_offset = attention_.query_offset * GemmArithmetic::StoredBytes(TypeOf(query));
    scores->rhs_offset = attention_.key_offset * GemmArithmetic::StoredBytes(TypeOf(key));
    out->rhs_offset = attention_.value_offset * GemmArithmetic::StoredBytes(TypeOf(parts_.value));
    GemmSpec first, second;
    int64_t stride = attention_.rows.size * attention_.columns;
    for (size_t i = attention_.batch.size(); i-- > 0; stride *= attention_.batch[i].size) {
      const analysis::AttentionLoop& loop = attention_.batch[i];
      first.batch.insert(first.batch.begin(), {loop.size, loop.query, loop.key, stride});
      second.batch.insert(second.batch.begin(), {loop.size, stride, loop.value, loop.out});
    }
    first.m = second.m = attention_.rows.size;
    first.n = second.k = attention_.columns;
    first.k = attention_.depth;
    second.n = attention_.features;
    first.lhs = {TypeOf(query), attention_.rows.query, attention_.query_depth};
    first.rhs = {TypeOf(key), attention_.key_depth, attention_.key_column};
    first.out = {TypeOf(parts_.first), attention_.columns, 1};
    first.result_type = first.out.type;
    second.lhs = {TypeOf(parts_.weights), attention_.columns, 1};
    second.rhs = {TypeOf(parts_.value), attention_.value_column, attention_.value_feature};
    second.out = {TypeOf(parts_.second), attention_.rows.out, 1};
    second.result_type = second.out.type;
    const std::string name(fusion_.name());
    for (const auto& [step, spec, stretch] : {std::tuple{scores, &first, first.k}, {out, &second, kStretch}}) {
      std::optional<GemmPlan> product =
          PlanChainProduct(*spec, plan_->blocks.block, stretch, absl::StrCat(name, ".", step->name), threads_);
      if (!product.has_value()) return false;
      plan_->nanoseconds += static_cast<double>(product->estimated_nanoseconds);
      step->product = std::make_unique<MatrixProduct::Part>();
      step->product->spec = std::move(*spec);
      step->product->plan = *std::move(product);
    }
    return true;
  }

  // Lets a thread take all blocks that read the same of what is made, where there is enough of that for all threads.
  void KeepTogether() {
    for (const RowChainPlan::Value& value : plan_->values) {
      if (value.shared == 1 || attention_.row_count() / value.shared < 2 * threads_) continue;
      plan_->least_tasks = std::max(plan_->least_tasks, value.shared / attention_.rows.size * plan_->blocks.blocks);
    }
  }

  const Instruction &fusion_, &inner_;
  const kernel::TargetInfo& target_;
  const int threads_;
  const AttentionParts parts_;
  Attention attention_;
  std::unique_ptr<RowChainPlan> plan_ = std::make_unique<RowChainPlan>();
  absl::flat_hash_map<const Instruction*, int64_t> made_;  // values, by the kernels that make them
};

}  // namespace

absl::StatusOr<std::unique_ptr<RowChainPlan>> PlanAttention(const Instruction& fusion, const kernel::TargetInfo& target,
                                                            int threads) {
  if (analysis::FindAttention(fusion) == nullptr) return nullptr;
  return AttentionPlanner(fusion, target, threads).Plan();
}

}  // namespace kiln::cpu
