#include "src/passes/reduction_splitter.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/analysis/arithmetic_cost.h"
#include "src/analysis/buffer_assignment.h"
#include "src/analysis/combiner.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/streamed_columns.h"
#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/passes/fusion_body.h"

namespace kiln::passes {
namespace {

// Parts that keep a machine busy; results in vectors of some elements are parts by themselves.
constexpr int64_t kEnoughParts = 32;
constexpr int64_t kResultsOfVector = 64;
// Columns that a task without parts adds up side by side.
constexpr int64_t kColumnsOfTask = 256;
// What parts of streamed columns give, beyond the stack.
constexpr int64_t kStreamedPartBytes = 64 << 10;
// Fewer are not worth looking at.
constexpr int64_t kLeastElements = 4096;
// Rows of sums that are added one by one where they lie apart; of bytes twice as many. Shorter ones are transposed
// first, which takes longer than what memory takes.
constexpr int64_t kFarRowBytes = 256;

bool IsSplittable(const Instruction& reduce) {
  if (!analysis::IsReduction(reduce) || !reduce.control_predecessors().empty()) return false;
  if (reduce.operand_count() == 4) {
    // The best of the best, whatever is first; lanes need one loop.
    return reduce.dimensions().size() == 1 && analysis::KeepsBest(*reduce.called_computation()) &&
           reduce.operand(2)->IsConstant() && reduce.operand(3)->IsConstant();
  }
  if (reduce.operand_count() != 2) return false;
  const std::optional<Opcode> opcode = analysis::CombinerOpcode(*reduce.called_computation());
  if (!opcode.has_value() || !reduce.operand(1)->IsConstant()) return false;
  const bool idempotent =
      *opcode == Opcode::kMaximum || *opcode == Opcode::kMinimum || *opcode == Opcode::kAnd || *opcode == Opcode::kOr;
  return idempotent || analysis::IsIdentityOf(*opcode, reduce.operand(1)->literal());
}

// The dimension becomes `parts` of rows in groups of `beside`: first those in the same place of all groups are
// combined.
struct Split {
  int64_t dimension = -1;
  int64_t parts = 1;
  int64_t beside = 1;
};

// Of rows narrower than some vectors, how many make as many sums side by side as fill them: one narrow sum waits for
// itself in each row. They divide the rows.
int64_t RowsBeside(const Instruction& reduce, int64_t dimension) {
  constexpr int64_t kNarrow = 32, kLeast = 64, kMost = 256, kWhole = 16;
  const Shape& from = reduce.operand(0)->shape();
  int64_t row = 1;
  for (int64_t d = dimension + 1; d < from.rank(); ++d) {
    if (Contains(reduce.dimensions(), d)) return 1;
    row *= from.dimensions(d);
  }
  // Along rows lanes go by themselves.
  if (reduce.operand_count() != 2 || dimension + 1 == from.rank() || row == 0 || row >= kNarrow) return 1;
  const int64_t rows = from.dimensions(dimension);
  int64_t best = 1;
  for (int64_t beside = CeilDivide(kLeast, row); beside * row <= kMost && beside <= rows; ++beside) {
    if (rows % beside != 0) continue;
    if (beside * row % kWhole == 0) return beside;
    if (best == 1) best = beside;
  }
  return best;
}

// What is computed elementwise for each element of the operand, the operand itself first.
std::vector<const Instruction*> OpsOfElement(const Instruction& reduce) {
  constexpr size_t kMostOps = 64;
  const int64_t elements = reduce.operand(0)->shape().element_count();
  std::vector<const Instruction*> ops = {reduce.operand(0)};
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!hlo::IsElementwise(ops[i]->opcode())) continue;
    for (const Instruction* operand : ops[i]->operands()) {
      const bool is_new = operand->shape().IsArray() && operand->shape().element_count() == elements &&
                          !absl::c_linear_search(ops, operand);
      if (is_new && ops.size() < kMostOps) ops.push_back(operand);
    }
  }
  return ops;
}

// What an element takes beside one that is loaded and added: functions that are fused with the reduction.
int64_t WorkOfElement(const Instruction& reduce) {
  double work = 1;
  for (const Instruction* op : OpsOfElement(reduce)) {
    if (analysis::IsTranscendental(op->opcode())) work += Tuning().fusion.function_operations / 4;
  }
  return static_cast<int64_t>(work);
}

// Of sums of rows that lie far apart, as those of the channels of images: each row for itself, in the order of memory.
// Tasks that go from one row of a sum to the next get half of memory's bandwidth where rows are a page long, and a
// third where they are a quarter of one.
Split RowsOf(const Instruction& reduce) {
  const Shape& from = reduce.operand(0)->shape();
  int64_t d = from.rank() - 1, row = 1;
  while (d >= 0 && Contains(reduce.dimensions(), d)) row *= from.dimensions(d--);
  std::vector<int64_t> others;
  for (int64_t other : reduce.dimensions()) {
    if (other < d) others.push_back(other);
  }
  const int64_t bytes = from.element_count() * hlo::ByteWidth(from.element_type());
  if (others.size() != 1 || bytes < Tuning().threads.far_rows_bytes) return {};
  int64_t width = hlo::ByteWidth(from.element_type());
  for (const Instruction* op : OpsOfElement(reduce)) {
    width = std::min<int64_t>(width, std::max(hlo::ByteWidth(op->shape().element_type()), 1));
  }
  return row * width >= (width == 1 ? 2 : 1) * kFarRowBytes ? Split{others[0], from.dimensions(others[0])} : Split();
}

// The dot that an operand is made of elementwise, read by nothing but this reduction and others like it.
const Instruction* ProductBehind(const Instruction& reduce) {
  constexpr int kMostSteps = 16;
  const Instruction* value = reduce.operand(0);
  const bool is_read_alike = absl::c_all_of(value->users(), [&](const Instruction* user) {
    return user->opcode() == Opcode::kReduce && user->dimensions() == reduce.dimensions();
  });
  const int64_t elements = value->shape().element_count();
  for (int step = 0; step < kMostSteps && is_read_alike; ++step) {
    if (value->opcode() == Opcode::kDot) return value;
    if (!hlo::IsElementwise(value->opcode()) && value->opcode() != Opcode::kReshape) break;
    const auto operands = value->operands();
    const auto next = absl::c_find_if(operands, [&](const Instruction* operand) {
      return operand->shape().IsArray() && operand->shape().element_count() == elements &&
             operand->users().size() == 1 && !operand->IsParameter() && operand->opcode() != Opcode::kBroadcast;
    });
    if (next == operands.end()) break;
    value = *next;
  }
  return nullptr;
}

// Of sums along the columns of a product, and of all of it: blocks of its rows, each of which may be summed before the
// next one is computed (passes/row_chain_fusion.h).
Split BlocksOf(const Instruction& reduce) {
  constexpr int64_t kLeastBytes = int64_t{128} << 10, kBlockBytes = int64_t{256} << 10;
  constexpr int64_t kLeastBlocks = 16, kLeastGain = 8, kMostTried = 4096;
  const Shape& from = reduce.operand(0)->shape();
  const int64_t bytes = from.element_count() * hlo::ByteWidth(from.element_type());
  if (bytes < kLeastBytes || ProductBehind(reduce) == nullptr) return {};
  int64_t d = 0, blocks = 1, results = from.element_count();
  for (; !Contains(reduce.dimensions(), d); ++d) blocks *= from.dimensions(d);
  if (d + 1 == from.rank()) return {};
  for (int64_t reduced : reduce.dimensions()) results /= from.dimensions(reduced);
  // The fewest that divide the rows: sizes without a divisor nearby stay whole.
  const int64_t least = std::max(CeilDivide(kLeastBlocks, blocks), CeilDivide(bytes, blocks * kBlockBytes));
  int64_t parts = least;
  while (parts < from.dimensions(d) && from.dimensions(d) % parts != 0 && parts - least < kMostTried) ++parts;
  if (from.dimensions(d) % parts != 0) return {};
  return parts < from.dimensions(d) && results * parts <= from.element_count() / kLeastGain ? Split{d, parts} : Split();
}

// Parts of the rows of columns that are streamed, whose sums have `bytes` in all.
Split StreamsOf(const Instruction& reduce, int64_t results, int64_t bytes, int64_t most_parts) {
  const Shape& from = reduce.operand(0)->shape();
  const auto rank = static_cast<int64_t>(reduce.dimensions().size());  // what is reduced lies before all that is not
  if (reduce.operand_count() != 2 || !absl::c_all_of(reduce.dimensions(), [&](int64_t d) { return d < rank; }) ||
      !analysis::AreStreamed(results, bytes / results, from.element_count() * (bytes / results))) {
    return {};
  }
  for (int64_t d = 0; d < rank; ++d) {
    int64_t parts = std::min({most_parts, from.dimensions(d), kStreamedPartBytes / bytes});
    while (parts > 1 && from.dimensions(d) % parts != 0) --parts;
    if (parts >= analysis::kLeastStreams && (parts < from.dimensions(d) || rank > 1)) return {d, parts, 1};
  }
  return {};
}

Split SplitOf(const Instruction& reduce) {
  if (const Split blocks = BlocksOf(reduce); blocks.parts > 1) return blocks;
  const Shape& from = reduce.operand(0)->shape();
  const int64_t elements = from.element_count();
  int64_t results = std::max<int64_t>(1, elements);
  for (int64_t d : reduce.dimensions()) results /= std::max<int64_t>(1, from.dimensions(d));
  if (elements < kLeastElements) return {};
  constexpr int64_t kMany = int64_t{1} << 40;
  const int64_t work = std::min(elements, kMany) * WorkOfElement(reduce);
  if (work < Tuning().threads.split_elements) return {};
  std::vector<bool> reduced(from.rank(), false);
  for (int64_t d : reduce.dimensions()) reduced[d] = true;
  const bool columns = !reduced.back();
  const int64_t tasks = columns ? (results + kResultsOfVector - 1) / kResultsOfVector : results;
  if (tasks >= kEnoughParts && !columns) return RowsOf(reduce);
  // A part of columns goes through whole rows, one task for all of them. What the parts give fits the stack; so many
  // columns that fewer parts do than tasks over columns are left whole.
  int64_t bytes = 0;
  for (int64_t i = 0; i < reduce.operand_count() / 2; ++i) {
    bytes += results * std::max<int64_t>(1, hlo::ByteWidth(reduce.operand(i)->shape().element_type()));
  }
  // Of all that reduce the array so, which may become one kernel.
  bytes *= absl::c_count_if(reduce.operand(0)->users(), [&](const Instruction* user) {
    return user->opcode() == Opcode::kReduce && user->dimensions() == reduce.dimensions();
  });
  if (columns) {
    const int64_t most = std::min(kEnoughParts, work / Tuning().threads.part_elements);
    if (const Split streams = StreamsOf(reduce, results, bytes, most); streams.parts > 1) return streams;
    if (tasks >= kEnoughParts) return {};
  }
  const int64_t wanted = std::min({columns ? kEnoughParts : (kEnoughParts + tasks - 1) / tasks,
                                   work / Tuning().threads.part_elements, analysis::kMaxFrameBytes / bytes});
  if (columns && wanted <= results / kColumnsOfTask) return {};
  // The outermost that gives about as many: its parts are the longest stretches of memory.
  Split best;
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (!reduced[d]) continue;
    const int64_t beside = RowsBeside(reduce, d), groups = from.dimensions(d) / beside;
    int64_t parts = std::min(wanted, groups);
    while (parts > 1 && groups % parts != 0) --parts;
    const bool is_enough = parts * 3 >= wanted, was_enough = best.parts * 3 >= wanted;
    if (was_enough ? is_enough && beside > best.beside : parts > best.parts) best = {d, parts, beside};
  }
  if (best.dimension >= 0 && best.parts * best.beside == from.dimensions(best.dimension)) best.beside = 1;
  return best.parts * 4 >= wanted ? best : Split();
}

bool SplitIn(Computation* computation) {
  if (!computation->MayContain(Opcode::kReduce)) return false;
  bool changed = false;
  // Reductions of one array share the view of it, so that they may become one kernel.
  absl::flat_hash_map<std::pair<const Instruction*, std::vector<int64_t>>, Instruction*> views;
  for (Instruction* reduce : computation->PostOrder()) {
    if (reduce->opcode() != Opcode::kReduce || !IsSplittable(*reduce)) continue;
    const Split split = SplitOf(*reduce);
    if (split.parts < 2) continue;
    Builder b(computation, reduce);
    std::vector<Instruction*> operands(reduce->operands().begin(), reduce->operands().end());
    const Instruction* operand = operands[0];
    const int64_t size = operand->shape().dimensions(split.dimension) / split.beside;
    std::vector<int64_t> dimensions(operand->shape().dimensions().begin(), operand->shape().dimensions().end());
    std::vector<int64_t> inner;
    int64_t position = 0;  // of the parts among what the first step leaves
    for (int64_t d = 0; d < operand->shape().rank(); ++d) {
      const bool is_reduced = Contains(reduce->dimensions(), d);
      const int64_t shifted =
          d + (d >= split.dimension && split.parts < size ? 1 : 0) + (d > split.dimension && split.beside > 1 ? 1 : 0);
      if (d < split.dimension) position += is_reduced ? 0 : 1;
      if (is_reduced && (d != split.dimension || split.parts < size)) inner.push_back(shifted);
    }
    if (inner.empty()) continue;
    if (split.parts < size) {
      dimensions[split.dimension] = split.parts;
      dimensions.insert(dimensions.begin() + split.dimension + 1, size / split.parts);
      if (split.beside > 1) dimensions.insert(dimensions.begin() + split.dimension + 2, split.beside);
      for (size_t i = 0; i < operands.size() / 2; ++i) {
        Instruction*& view = views[{operands[i], dimensions}];
        if (view == nullptr) view = b.Reshape(operands[i], dimensions);
        operands[i] = view;
      }
    }
    Computation* combiner = reduce->called_computation();
    Instruction* partial = b.Reduce(operands, inner, combiner);
    for (size_t i = 0; i < operands.size() / 2; ++i) {
      operands[i] = operands.size() == 2 ? partial : b.GetTupleElement(partial, static_cast<int64_t>(i));
    }
    std::vector<int64_t> outer = {position};
    if (split.beside > 1) outer.push_back(position + 1);
    reduce->ReplaceAllUsesWith(b.Reduce(std::move(operands), outer, combiner));
    changed = true;
  }
  if (changed) computation->RemoveDeadInstructions();
  return changed;
}

}  // namespace

absl::StatusOr<bool> SplitReductions(Module* module) {
  bool changed = false;
  for (Computation* computation : ControlComputations(*module)) changed |= SplitIn(computation);
  return changed;
}

}  // namespace kiln::passes
