#include "src/cpu/row_chain.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/row_groups.h"
#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/base/status.h"
#include "src/cpu/host_isa.h"
#include "src/hlo/computation.h"
#include "src/kernel/buffer_sharing.h"
#include "src/kernel/kernel_builder.h"
#include "src/kernel/loop_direction.h"
#include "src/kernel/narrow_rows.h"
#include "src/kernel/repeated_rows.h"
#include "src/kernel/shared_places.h"
#include "src/kernel/stage_sharing.h"

namespace kiln::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// Of a thread; packed operands are most of it.
constexpr int64_t kMaxMemory = int64_t{256} << 20;

// Makes tasks of the nest that divide `groups`, or of several groups where lanes run along these, which `unit` counts
// then. False where its loops do not allow it.
bool DivideByGroups(const kernel::Kernel& kernel, int64_t groups, kernel::NestSchedule* schedule, int64_t* tasks,
                    int64_t* unit) {
  const std::vector<int>& order = schedule->order;
  if (order.empty() || schedule->tile.store_loop >= 0 || !std::is_sorted(order.begin(), order.end())) return false;
  if (absl::c_any_of(order, [&](int l) { return kernel.loops[l].kind != kernel::LoopKind::kParallel; })) return false;
  int64_t count = 1;
  size_t first = 0;
  while (first < order.size() && count % groups != 0) count *= kernel.loops[order[first++]].extent;
  if (first == 0 || count % groups != 0) return false;
  schedule->task_loops = static_cast<int>(first);
  schedule->block = 1;
  if (schedule->vector_loop >= 0 &&
      absl::c_linear_search(absl::MakeConstSpan(order).first(first), schedule->vector_loop)) {
    if (first != 1) return false;
    // A group's elements, or as many groups as fill the lanes.
    const int64_t elements = count / groups;
    *unit = std::max<int64_t>(CeilDivide(schedule->lanes, elements), 1);
    schedule->block = elements * *unit;
    // Tiles of rows are whole ones.
    if (!schedule->row_tiles.empty() && schedule->block % schedule->lanes != 0) return false;
    count = CeilDivide(groups, *unit);
  }
  const double nanoseconds = schedule->task_nanoseconds * static_cast<double>(schedule->task_count);
  schedule->task_count = count;
  schedule->task_nanoseconds = nanoseconds / static_cast<double>(count);
  *tasks = count;
  return true;
}

// Whether the loops had better be others than those of the result's dimensions, of which groups are known.
bool WouldChangeLoops(kernel::Kernel* kernel, const kernel::TargetInfo& target) {
  const auto loops = [&] {
    std::vector<int64_t> numbers = {static_cast<int64_t>(kernel->ops.size())};
    for (const kernel::Nest& nest : kernel->nests) {
      for (int loop : nest.loops) numbers.insert(numbers.end(), {loop, kernel->loops[loop].extent});
    }
    return numbers;
  };
  const std::vector<int64_t> before = loops();
  kernel::TurnLoops(kernel);
  kernel::RepeatInsideLanes(kernel);
  kernel::SharePlaces(kernel);
  kernel::WidenNarrowRows(kernel, target);
  return loops() != before;
}

const Instruction* HeroOf(const Instruction& step) {
  if (analysis::IsContraction(step)) return &step;
  if (step.opcode() != Opcode::kFusion) return nullptr;
  for (const Instruction* member : step.called_computation()->instructions()) {
    if (analysis::IsContraction(*member)) return member;
  }
  return nullptr;
}

// Whether the product is one of rows, which lie as `rows` of its result's do.
bool IsOfRows(const GemmSpec& spec) {
  int64_t stride = spec.m * spec.n;
  for (size_t i = spec.batch.size(); i-- > 0; stride *= spec.batch[i].size) {
    if (spec.batch[i].size > 1 && spec.batch[i].out_stride != stride) return false;
  }
  return spec.outer_rows.empty() && spec.outer_steps.empty() && spec.padding.empty() && spec.windows.empty() &&
         spec.column_group == 0 && spec.out.column_stride == 1 && spec.out.row_stride == spec.n && spec.out_offset == 0;
}

class ChainPlanner {
 public:
  ChainPlanner(const Instruction& fusion, const kernel::TargetInfo& target, int threads)
      : fusion_(fusion), target_(target), threads_(threads), chain_(analysis::FindRowChain(fusion)) {}

  absl::StatusOr<std::unique_ptr<RowChainPlan>> Plan() {
    plan_->arrays = fusion_.operand_count() + fusion_.shape().leaf_count();
    for (const Instruction* parameter : fusion_.called_computation()->parameters()) {
      if (!parameter->shape().IsArray()) return nullptr;
    }
    if (!NumberValues()) return nullptr;
    int64_t batch = chain_.groups, group_rows = 0;
    for (const Instruction* instruction : chain_.steps) {
      RowChainPlan::Step& step = plan_->steps.emplace_back();
      step.name = instruction->name();
      if (const Instruction* hero = HeroOf(*instruction)) {
        if (hero->opcode() != Opcode::kDot) return nullptr;
        const auto& dot = hero->Get<hlo::DotAttributes>();
        int64_t batches = 1;
        for (int64_t d : dot.lhs_batch) batches *= hero->operand(0)->shape().dimensions(d);
        const int64_t rows = hero->shape().element_count() / hero->shape().dimensions().back();
        if (rows % chain_.groups != 0 || chain_.groups % batches != 0) return nullptr;
        step.group = rows / chain_.groups;
        if (batches > 1) batch = std::gcd(batch, chain_.groups / batches);
        group_rows = std::max(group_rows, step.group);
        continue;
      }
      KILN_ASSIGN_OR_RETURN(const bool planned,
                            PlanChainKernel(*instruction, chain_.groups, target_, plan_.get(), &step));
      if (!planned) return nullptr;
      for (int64_t i = 0; i < instruction->operand_count(); ++i)
        step.pointers.push_back(ArrayOf(instruction->operand(i)));
      AddResults(*instruction, &step);
      AddConstants(step.kernel, step.pointers.size(), &step);
    }
    PlanChainBlocks(chain_.groups, batch, group_rows, threads_, plan_.get());
    if (plan_->blocks.groups % plan_->unit != 0 && plan_->blocks.groups != chain_.groups) return nullptr;
    for (size_t i = 0; i < chain_.steps.size(); ++i) {
      if (HeroOf(*chain_.steps[i]) == nullptr) continue;
      KILN_ASSIGN_OR_RETURN(const bool planned, PlanProduct(*chain_.steps[i], &plan_->steps[i]));
      if (!planned) return nullptr;
    }
    if (!FitsThread(*plan_)) return nullptr;
    return std::move(plan_);
  }

 private:
  // Values between the steps; false where there is one that has no such parts.
  bool NumberValues() {
    for (size_t i = 0; i < chain_.steps.size(); ++i) {
      const Instruction* step = chain_.steps[i];
      for (const Instruction* operand : step->operands()) {
        const Instruction* source = analysis::BehindViews(operand);
        if (first_value_.contains(source)) {
          for (int64_t leaf = 0; leaf < source->shape().leaf_count(); ++leaf) {
            plan_->values[first_value_.at(source) + leaf].last = i;
          }
        }
      }
      if (i + 1 == chain_.steps.size()) break;
      first_value_[step] = plan_->values.size();
      for (const hlo::Shape* leaf : step->shape().Leaves()) {
        if (!leaf->IsArray() || leaf->byte_count() % chain_.groups != 0) return false;
        plan_->values.push_back({leaf->byte_count() / chain_.groups, i, i});
      }
    }
    return true;
  }

  int64_t ArrayOf(const Instruction* operand) {
    int64_t leaf = 0;
    while (operand->opcode() == Opcode::kReshape || operand->opcode() == Opcode::kGetTupleElement) {
      if (operand->opcode() == Opcode::kGetTupleElement) leaf = operand->tuple_index();
      operand = operand->operand(0);
    }
    if (operand->IsParameter()) return operand->parameter_number();
    if (operand->IsConstant()) return AddConstant(operand->literal());
    return -1 - static_cast<int64_t>(first_value_.at(operand)) - leaf;
  }

  int64_t AddConstant(const hlo::Literal& literal) {
    plan_->constants.push_back(&literal);
    return plan_->arrays++;
  }

  void AddResults(const Instruction& instruction, RowChainPlan::Step* step) {
    const bool is_last = &instruction == chain_.steps.back();
    for (int64_t leaf = 0; leaf < instruction.shape().leaf_count(); ++leaf) {
      step->pointers.push_back(is_last ? fusion_.operand_count() + leaf
                                       : -1 - static_cast<int64_t>(first_value_.at(&instruction)) - leaf);
    }
  }

  void AddConstants(const kernel::Kernel& kernel, size_t first, RowChainPlan::Step* step) {
    for (size_t i = first; i < kernel.parameters.size() && kernel.parameters[i].constant.has_value(); ++i) {
      step->pointers.push_back(AddConstant(*kernel.parameters[i].constant));
    }
  }

  absl::StatusOr<bool> PlanProduct(const Instruction& instruction, RowChainPlan::Step* step) {
    const auto planner = [&](const GemmSpec& spec, const std::string& name) -> absl::StatusOr<GemmPlan> {
      std::optional<GemmPlan> plan;
      if (IsOfRows(spec)) {
        plan =
            PlanChainProduct(spec, std::min(plan_->blocks.block * step->group, spec.m), kChainStretch, name, threads_,
                             /*any_size=*/true);
      }
      if (!plan.has_value()) return absl::UnimplementedError("no product over rows");
      return *std::move(plan);
    };
    KILN_ASSIGN_OR_RETURN(std::optional<MatrixProduct> product,
                          FindMatrixProduct(instruction, target_, threads_, planner));
    if (!product.has_value() || product->parts.size() != 1) return false;
    step->product = std::make_unique<MatrixProduct::Part>(std::move(product->parts[0]));
    const GemmSpec& spec = step->product->spec;
    for (kernel::Kernel* kernel : {step->product->epilogue.get(), step->product->lhs.get(), step->product->rhs.get()}) {
      if (kernel != nullptr) kernel->has_rows_alone = true;
    }
    for (const Instruction* operand : instruction.operands()) step->pointers.push_back(ArrayOf(operand));
    const size_t operands = step->pointers.size();
    AddResults(instruction, step);
    for (const kernel::Kernel* kernel : step->product->kernels()) AddConstants(*kernel, operands + 1, step);
    step->out = step->pointers[operands];
    // What is made has no address.
    step->lhs = product->lhs_operand < 0 ? step->out : step->pointers[product->lhs_operand];
    step->rhs = product->rhs_operand < 0 ? step->out : step->pointers[product->rhs_operand];
    step->lhs_offset = spec.lhs_offset * GemmArithmetic::StoredBytes(spec.lhs.type);
    step->rhs_offset = spec.rhs_offset * GemmArithmetic::StoredBytes(spec.rhs.type);
    plan_->nanoseconds += static_cast<double>(step->product->plan.estimated_nanoseconds);
    return true;
  }

  // Sums of one go: results do not depend on how many rows are a block.
  static constexpr int64_t kChainStretch = 256;

  const Instruction& fusion_;
  const kernel::TargetInfo& target_;
  const int threads_;
  const analysis::RowChain chain_;
  std::unique_ptr<RowChainPlan> plan_ = std::make_unique<RowChainPlan>();
  absl::flat_hash_map<const Instruction*, size_t> first_value_;
};

// Where the values are in a block's memory, one behind the other in slots, in bytes of a group: `slots` and the slot of
// each value. A kernel may write over what it is the last to read.
std::vector<size_t> PlaceValues(const RowChainPlan& plan, std::vector<int64_t>* slots) {
  std::vector<size_t> slot_of(plan.values.size());
  std::vector<size_t> tenant;
  for (size_t v = 0; v < plan.values.size(); ++v) {
    const RowChainPlan::Value& value = plan.values[v];
    if (value.shared > 1) continue;
    const RowChainPlan::Step& step = plan.steps[value.made];
    // The one that has to grow least.
    size_t slot = tenant.size();
    const auto offer = [&](size_t free) {
      const auto growth = [&](size_t of) { return std::max<int64_t>(value.group_bytes - (*slots)[of], 0); };
      if (slot == tenant.size() || growth(free) < growth(slot)) slot = free;
    };
    for (size_t free = 0; free < tenant.size(); ++free) {
      const RowChainPlan::Value& before = plan.values[tenant[free]];
      if (before.last < value.made) {
        offer(free);
        continue;
      }
      if (before.last > value.made || before.made == value.made || step.product != nullptr ||
          before.group_bytes != value.group_bytes) {
        continue;
      }
      const auto number = [&](size_t of) {
        return static_cast<int>(absl::c_find(step.pointers, -1 - static_cast<int64_t>(of)) - step.pointers.begin());
      };
      if (absl::c_count(step.pointers, -1 - static_cast<int64_t>(tenant[free])) == 1 &&
          kernel::MayShareBuffer(step.kernel, step.schedules, number(tenant[free]), number(v))) {
        offer(free);
      }
    }
    if (slot == tenant.size()) {
      tenant.push_back(v);
      slots->push_back(0);
    }
    tenant[slot] = v;
    slot_of[v] = slot;
    (*slots)[slot] = std::max((*slots)[slot], value.group_bytes);
  }
  return slot_of;
}

}  // namespace

absl::StatusOr<bool> PlanChainKernel(const Instruction& instruction, int64_t groups, kernel::TargetInfo target,
                                     RowChainPlan* plan, RowChainPlan::Step* step) {
  if (!kernel::HasKernel(instruction.opcode())) return false;
  absl::StatusOr<kernel::Kernel> kernel = kernel::BuildKernel(instruction);
  if (absl::IsResourceExhausted(kernel.status()) || absl::IsUnimplemented(kernel.status())) return false;
  KILN_RETURN_IF_ERROR(kernel.status());
  step->kernel = *std::move(kernel);
  step->kernel.flushes_subnormals = true;  // as RunRowChain does
  step->kernel.has_rows_alone = true;
  kernel::ShareStages(&step->kernel);
  if (absl::c_any_of(step->kernel.parameters, [](const kernel::Parameter& p) { return p.is_updated; })) return false;
  target.streaming_bytes = 0;
  // Tasks of one row have no use for loops across rows.
  if (target.has_row_tiles && WouldChangeLoops(&step->kernel, target)) return false;
  int64_t tasks = 0, unit = 1;
  for (const kernel::Nest& nest : step->kernel.nests) {
    kernel::NestSchedule& schedule = step->schedules.emplace_back(kernel::ScheduleNest(step->kernel, nest, target));
    int64_t own_tasks = 0, own_unit = 1;
    if (!DivideByGroups(step->kernel, groups, &schedule, &own_tasks, &own_unit)) return false;
    // All nests of a step are called with the same range.
    if (tasks != 0 && (tasks != own_tasks || unit != own_unit)) return false;
    tasks = own_tasks, unit = own_unit;
    plan->nanoseconds += schedule.task_nanoseconds * static_cast<double>(schedule.task_count);
  }
  if (tasks == 0) return false;
  step->group = unit > 1 ? 1 : tasks / groups;
  step->groups_of_task = unit;
  plan->unit = std::lcm(plan->unit, unit);
  return true;
}

void PlanChainBlocks(int64_t groups, int64_t batch, int64_t group_rows, int threads, RowChainPlan* plan) {
  const AttentionTuning& tuning = Tuning().attention;
  std::vector<int64_t> slots;
  const std::vector<size_t> slot_of = PlaceValues(*plan, &slots);
  const int64_t bytes = std::max<int64_t>(std::accumulate(slots.begin(), slots.end(), int64_t{0}), 1);
  // Blocks whose values fill a part of the second-level cache, even ones, and enough of them for all threads.
  RowChainBlocks& blocks = plan->blocks;
  const int64_t least = group_rows == 0 ? 1 : std::max<int64_t>(tuning.rows / group_rows, 1);
  const int64_t rows = group_rows == 0 ? batch : std::max<int64_t>(tuning.block_rows / group_rows, 1);
  const int64_t most = std::clamp<int64_t>(Host().l2_bytes / tuning.block_part / bytes, least, std::max(rows, least));
  blocks.groups = batch;
  blocks.blocks = std::min(CeilDivide(batch, most), std::max<int64_t>(batch / least, 1));
  while (threads > 1 && groups / batch * blocks.blocks < 2 * threads && batch >= 2 * (blocks.blocks + 1) * least) {
    ++blocks.blocks;
  }
  // As many for each thread, where one more would be waited for long.
  constexpr int64_t kFewTurns = 16;
  if (groups == batch && blocks.blocks < kFewTurns * threads) {
    blocks.blocks = std::min(RoundUp(blocks.blocks, threads), std::max<int64_t>(batch / least, 1));
  }
  blocks.block = RoundUp(CeilDivide(batch, blocks.blocks), plan->unit);
  blocks.blocks = CeilDivide(batch, blocks.block);
  plan->tasks = groups / batch * blocks.blocks;
  // Values a line of the cache further than their sizes say are in different sets of it.
  constexpr int64_t kLine = 64;
  std::vector<int64_t> starts = {0};
  for (int64_t slot : slots) starts.push_back(starts.back() + RoundUp(slot * blocks.block, kLine) + kLine);
  int64_t end = starts.back();
  for (size_t v = 0; v < plan->values.size(); ++v) {
    const RowChainPlan::Value& value = plan->values[v];
    plan->places.push_back({value.group_bytes, value.shared > 1 ? end : starts[slot_of[v]], value.shared});
    if (value.shared > 1) end += RoundUp(value.group_bytes, kLine) + kLine;
  }
}

std::optional<GemmPlan> PlanChainProduct(const GemmSpec& spec, int64_t block, int64_t stretch, const std::string& name,
                                         int threads, bool any_size) {
  GemmSpec of_block = spec;
  of_block.m = block;
  std::optional<GemmPlan> plan = PlanGemmBlocks(of_block, name, threads, any_size);
  if (!plan.has_value() || plan->schedule.pack_lhs) return std::nullopt;
  GemmSchedule& schedule = plan->schedule;
  const int64_t steps = CeilDivide(spec.k, schedule.depth);
  const bool direct =
      GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type)->IsNative(spec.out.type) && !spec.epilogue;
  schedule.k_block = direct && steps > 2 * stretch ? stretch : steps;
  // A thread's rows of a batch share what is packed, not a block's alone.
  const int64_t row_bytes = spec.rhs.row_stride * GemmArithmetic::StoredBytes(spec.rhs.type);
  const ProductTuning& costs = Tuning().products;
  schedule.pack_rhs |= row_bytes >= costs.wide_row_bytes || spec.n % schedule.lanes != 0 ||
                       costs.PacksCloseRows(spec.m / threads, row_bytes, steps);
  if (!FinishGemmPlan(spec, name, *plan).ok()) return std::nullopt;
  return plan;
}

std::vector<int64_t> RowChainPlan::Describe(const std::vector<std::vector<int64_t>>& descriptions) const {
  std::vector<int64_t> words;
  const auto add = [&](const auto& data) {
    static_assert(sizeof(data) % sizeof(int64_t) == 0);
    const size_t at = words.size();
    words.resize(at + sizeof(data) / sizeof(int64_t));
    std::memcpy(&words[at], &data, sizeof(data));
  };
  const auto number = [&](int64_t array) { return array >= 0 ? array : arrays - 1 - array; };
  RowChainBlocks header = blocks;
  header.arrays = arrays;
  header.values = static_cast<int64_t>(places.size());
  header.steps = static_cast<int64_t>(steps.size());
  for (const Step& step : steps) header.pointers += static_cast<int64_t>(step.pointers.size());
  add(header);
  for (const RowChainValue& place : places) add(place);
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    RowChainStep data;
    data.is_product = step.product != nullptr ? 1 : 0;
    data.group = step.group;
    data.groups_of_task = step.groups_of_task;
    data.shared = step.shared;
    data.lhs = number(step.lhs);
    data.rhs = number(step.rhs);
    data.out = number(step.out);
    data.lhs_offset = step.lhs_offset;
    data.rhs_offset = step.rhs_offset;
    data.pointers = static_cast<int64_t>(step.pointers.size());
    data.words =
        static_cast<int64_t>(sizeof(RowChainStep) / sizeof(int64_t) + step.pointers.size() + descriptions[i].size());
    add(data);
    for (int64_t array : step.pointers) words.push_back(number(array));
    words.insert(words.end(), descriptions[i].begin(), descriptions[i].end());
  }
  return words;
}

bool FitsThread(const RowChainPlan& plan) {
  std::vector<std::vector<int64_t>> descriptions(plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const MatrixProduct::Part* product = plan.steps[i].product.get();
    if (product == nullptr) continue;
    const GemmSpec& spec = product->spec;
    const GemmSchedule& schedule = product->plan.schedule;
    const GemmArithmetic arithmetic = *GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type);
    const GemmProblem problem = MakeGemmProblem(spec, /*swapped=*/false, schedule.depth);
    descriptions[i] = DescribeGemmBlocks(spec, problem, schedule, MakeGemmLayout(problem, schedule, arithmetic, spec));
  }
  const std::vector<int64_t> words = plan.Describe(descriptions);
  return RowChainBytes(reinterpret_cast<const RowChainBlocks*>(words.data())) <= kMaxMemory;
}

std::string ToString(const RowChainPlan& plan) {
  std::string text = absl::StrCat("blocks of ", plan.blocks.block, " groups of rows, ", plan.tasks, " tasks\n");
  for (size_t v = 0; v < plan.places.size(); ++v) {
    absl::StrAppend(&text, "value ", v, " at ", plan.places[v].place, ", ", plan.places[v].group_bytes, " bytes of ",
                    plan.places[v].shared > 1 ? absl::StrCat(plan.places[v].shared, " groups") : "a group", "\n");
  }
  for (const RowChainPlan::Step& step : plan.steps) {
    if (step.product != nullptr) {
      absl::StrAppend(&text, "product of ", step.group, " rows of a group\n");
      continue;
    }
    absl::StrAppend(&text, kernel::ToString(step.kernel));
    for (const kernel::NestSchedule& schedule : step.schedules)
      absl::StrAppend(&text, kernel::ToString(schedule), "\n");
  }
  return text;
}

absl::StatusOr<std::unique_ptr<RowChainPlan>> PlanRowChain(const Instruction& fusion, const kernel::TargetInfo& target,
                                                           int threads) {
  return ChainPlanner(fusion, target, threads).Plan();
}

}  // namespace kiln::cpu
