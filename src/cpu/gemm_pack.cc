// Packing: operands into the order in which micro-kernels read them, in the sum's own type.
#include <algorithm>
#include <numeric>

#include "src/base/status.h"
#include "src/cpu/gemm_emitter.h"
#include "src/cpu/gemm_pad.h"
#include "src/cpu/llvm_loop.h"
#include "src/cpu/winograd.h"

namespace kiln::cpu {

absl::StatusOr<llvm::Function*> GemmEmitter::EmitPack(const std::string& name) {
  name_ = name;
  const Entry entry = BeginFunction(name);
  if (schedule_.kind == GemmSchedule::Kind::kWinograd) {
    const WinogradProduct product = MakeWinogradProduct(spec_, schedule_, IsDirectResult(spec_, arithmetic_));
    CallCompiled(kWinogradWeightsName, DescribeWinograd(product), {entry.rhs, entry.scratch, entry.begin, entry.end});
    b_.CreateRetVoid();
    return entry.function;
  }
  const int64_t lhs_tasks = layout_.lhs.tasks;
  // All tasks of a call are of one round: first those of lhs, then those of rhs.
  const Round round = RoundOf(entry.begin, lhs_tasks + layout_.rhs.tasks);
  llvm::Value* begin = round.task;
  llvm::Value* end = b_.CreateAdd(begin, b_.CreateSub(entry.end, entry.begin));
  if (lhs_tasks > 0) {
    llvm::Value* last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, Int(lhs_tasks));
    const std::vector<GemmPadding> padding = MergePadding(spec_.padding);
    const bool as_it_is = problem_.depth > 1 || arithmetic_.IsNative(problem_.lhs_type);
    EmitIf(b_, b_.CreateNot(round.lhs_is_packed), "lhs", [&] {
      if (!padding.empty() && as_it_is) {
        return CallCompiled(kGemmPadName, DescribeGemmPad(padding, layout_.lhs.element_bytes),
                            {entry.lhs, At(entry.scratch, layout_.lhs.scratch_offset),
                             Scale(round.m_index, layout_.lhs.round_rows), begin, last});
      }
      EmitLoop(b_, begin, last, 1, "lhs", [&](llvm::Value* task) {
        if (!padding.empty()) {
          llvm::Value* row = b_.CreateAdd(Scale(round.m_index, layout_.lhs.round_rows), task);
          llvm::Value* exists = layout_.m_rounds == 1 ? b_.getTrue() : b_.CreateICmpSLT(row, Int(layout_.lhs.panels));
          return EmitIf(b_, exists, "row.exists", [&] { PadRow(padding, entry, row, task); });
        }
        EmitIf(b_, Exists(Operand::kLhs, round, task), "panel", [&] { PackLhsTask(entry, round, task); });
      });
    });
  }
  if (layout_.rhs.tasks > 0) {
    llvm::Value* first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, begin, Int(lhs_tasks));
    EmitIf(b_, b_.CreateNot(round.rhs_is_packed), "rhs", [&] {
      EmitLoop(b_, first, end, 1, "rhs", [&](llvm::Value* at) {
        llvm::Value* task = b_.CreateSub(at, Int(lhs_tasks));
        EmitIf(b_, Exists(Operand::kRhs, round, task), "panel", [&] { PackRhsTask(entry, round, task); });
      });
    });
  }
  b_.CreateRetVoid();
  return entry.function;
}

GemmEmitter::PackedSide GemmEmitter::SideOf(Operand operand, const Round& round) const {
  if (operand == Operand::kLhs) {
    return {layout_.lhs, problem_.LhsRepeats(), schedule_.rows, problem_.lhs_m, problem_.lhs_type, round.m};
  }
  return {layout_.rhs, problem_.RhsRepeats(), TileColumns(), problem_.rhs_n, problem_.rhs_type, round.n};
}

llvm::Value* GemmEmitter::Exists(Operand operand, const Round& round, llvm::Value* task) {
  const PackedSide side = SideOf(operand, round);
  const int64_t tasks = side.layout.tasks_per_batch;
  llvm::Value* exists = b_.getTrue();
  if (side.layout.panels % tasks != 0) {
    llvm::Value* panel = b_.CreateAdd(b_.CreateUDiv(side.first, Int(side.tile)), b_.CreateURem(task, Int(tasks)));
    exists = b_.CreateICmpSLT(panel, Int(side.layout.panels));
  }
  if (!side.repeats && problem_.batches % layout_.batches != 0) {
    llvm::Value* batch = b_.CreateAdd(round.batch, b_.CreateUDiv(task, Int(tasks)));
    exists = b_.CreateAnd(exists, b_.CreateICmpSLT(batch, Int(problem_.batches)));
  }
  return exists;
}

GemmEmitter::Panel GemmEmitter::PanelOf(Operand operand, const Entry& entry, const Round& round, llvm::Value* task) {
  const PackedSide side = SideOf(operand, round);
  const GemmOperandLayout& layout = side.layout;
  const bool one_batch = side.repeats || layout_.batches == 1;
  llvm::Value* slot = one_batch ? Int(0) : b_.CreateUDiv(task, Int(layout.tasks_per_batch));
  llvm::Value* panel = Scale(one_batch ? task : b_.CreateURem(task, Int(layout.tasks_per_batch)), side.tile);
  llvm::Value* batch = side.repeats ? Int(0) : b_.CreateAdd(round.batch, slot);
  llvm::Value* first = b_.CreateAdd(side.first, panel);
  llvm::Value* from_offset = b_.CreateAdd(BatchOffset(batch, operand), Scale(first, side.stride));
  llvm::Value* from = At(operand == Operand::kLhs ? entry.lhs : entry.rhs, from_offset, StoredElement(side.type));
  llvm::Value* to_offset = b_.CreateAdd(Scale(slot, layout.batch_stride), Scale(panel, layout.block_stride));
  return {first, from, At(At(entry.scratch, layout.scratch_offset), to_offset, arithmetic_.element_bytes())};
}

void GemmEmitter::PackLhsTask(const Entry& entry, const Round& round, llvm::Value* task) {
  const int64_t rows = schedule_.rows;
  const Panel panel = PanelOf(Operand::kLhs, entry, round, task);
  if (layout_.lhs.k_stride == 1) {
    llvm::Value* left = b_.CreateSub(Int(problem_.m), panel.first);
    return PackLhsRows(panel.from, panel.to, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, Int(rows)));
  }
  PackWholeOrCut(panel.first, problem_.m, rows, [&](int64_t count) { PackLhsTile(panel.from, panel.to, count); });
}

void GemmEmitter::PackWholeOrCut(llvm::Value* first, int64_t size, int64_t tile,
                                 const std::function<void(int64_t)>& pack) {
  const int64_t tail = size % tile;
  if (tail == 0 || size < tile) return pack(std::min(size, tile));
  llvm::Value* whole = b_.CreateICmpSLE(first, Int(size - tile));
  EmitIf(b_, whole, "whole", [&] { pack(tile); });
  EmitIf(b_, b_.CreateNot(whole), "cut", [&] { pack(tail); });
}

void GemmEmitter::PackLhsRows(llvm::Value* from, llvm::Value* to, llvm::Value* rows) {
  const int64_t k = problem_.k;
  const int64_t element = arithmetic_.element_bytes();
  const int64_t stored = StoredElement(problem_.lhs_type);
  EmitLoop(b_, Int(0), rows, 1, "row", [&](llvm::Value* row) {
    llvm::Value* from_row = At(from, row, problem_.lhs_m * stored);
    llvm::Value* to_row = At(to, row, layout_.lhs.block_stride * element);
    if (problem_.depth > 1) return PackLhsGroups(from_row, to_row);
    const int lanes =
        problem_.lhs_k == 1 && arithmetic_.parts() == 1 ? static_cast<int>(64 / arithmetic_.part_bytes()) : 1;
    const auto copy = [&](llvm::Value* at, int64_t count, int width) {
      GemmValue value = LoadLanes(At(from_row, at, problem_.lhs_k * stored), problem_.lhs_type, 1, count, width);
      // Rows are padded to whole cache lines, so the zeros behind a cut vector have a place.
      StoreNative(At(to_row, at, element), value, arithmetic_.part_bytes(), /*aligned=*/true);
    };
    EmitLoop(b_, Int(0), Int(k / lanes * lanes), lanes, "k", [&](llvm::Value* at) { copy(at, lanes, lanes); });
    if (k % lanes != 0) copy(Int(k / lanes * lanes), k % lanes, lanes);
  });
}

void GemmEmitter::PackLhsGroups(llvm::Value* from, llvm::Value* to) {
  const int bytes = GemmArithmetic::StoredBytes(problem_.lhs_type);
  if (problem_.lhs_k != problem_.depth) {
    return EmitGroups([&](llvm::Value* k, int64_t steps) {
      llvm::Value* group = LoadGroups(At(from, k, problem_.lhs_k * bytes), problem_.lhs_type,
                                      problem_.lhs_k / problem_.depth, steps, 1, 1, 1);
      b_.CreateAlignedStore(group, At(to, k, 4), llvm::Align(4));
    });
  }
  // Elements in order are groups already; zeros fill up the last cache line.
  const int lanes = 64 / bytes;
  const int64_t count =
      problem_.k_left == 0 ? problem_.k * problem_.depth : (problem_.k - 1) * problem_.depth + problem_.k_left;
  llvm::Type* scalar = GemmArithmetic::StoredType(b_.getContext(), problem_.lhs_type, 1);
  const auto copy = [&](llvm::Value* at, int64_t elements) {
    llvm::Value* value = LoadContiguous(At(from, at, bytes), scalar, bytes, elements, lanes);
    b_.CreateAlignedStore(value, At(to, at, bytes), llvm::Align(64));
  };
  EmitLoop(b_, Int(0), Int(count / lanes * lanes), lanes, "k", [&](llvm::Value* at) { copy(at, lanes); });
  if (count % lanes != 0) copy(Int(count / lanes * lanes), count % lanes);
}

void GemmEmitter::EmitGroups(const std::function<void(llvm::Value*, int64_t)>& body) {
  const int64_t whole = problem_.k - (problem_.k_left > 0 ? 1 : 0);
  EmitLoop(b_, Int(0), Int(whole), 1, "k", [&](llvm::Value* k) { body(k, problem_.depth); });
  if (problem_.k_left > 0) body(Int(whole), problem_.k_left);
}

void GemmEmitter::PackLhsTile(llvm::Value* from, llvm::Value* to, int64_t rows) {
  const int64_t element = arithmetic_.element_bytes();
  const int64_t stored = StoredElement(problem_.lhs_type);
  const int bytes = GemmArithmetic::StoredBytes(problem_.lhs_type);
  if (problem_.depth > 1) {
    return EmitGroups([&](llvm::Value* k, int64_t steps) {
      llvm::Value* groups = LoadGroups(At(from, k, problem_.lhs_k * stored), problem_.lhs_type,
                                       problem_.lhs_k / problem_.depth, steps, 1, rows, static_cast<int>(rows));
      b_.CreateAlignedStore(groups, At(to, k, int64_t{schedule_.rows} * element), llvm::Align(4));
    });
  }
  EmitLoop(b_, Int(0), Int(problem_.k), 1, "k", [&](llvm::Value* k) {
    // lhs is contiguous in m here: `rows` elements at a time, both parts of complex ones alike. A vector of an odd
    // number of lanes touches nothing else.
    const int count = static_cast<int>(rows) * arithmetic_.parts();
    llvm::Value* source = At(from, k, problem_.lhs_k * stored);
    llvm::Value* value = b_.CreateAlignedLoad(GemmArithmetic::StoredType(b_.getContext(), problem_.lhs_type, count),
                                              source, llvm::Align(bytes));
    value = arithmetic_.FromStored(b_, problem_.lhs_type, value);
    b_.CreateAlignedStore(value, At(to, k, int64_t{schedule_.rows} * element), llvm::Align(arithmetic_.part_bytes()));
  });
}

void GemmEmitter::PackRhsTask(const Entry& entry, const Round& round, llvm::Value* task) {
  const Panel panel = PanelOf(Operand::kRhs, entry, round, task);
  llvm::Value *n0 = panel.first, *from = panel.from, *to = panel.to;
  const bool transpose = problem_.rhs_k == problem_.depth && problem_.rhs_n != 1 && arithmetic_.parts() == 1 &&
                         problem_.k_left == 0 && schedule_.lanes >= TransposeSteps();
  if (problem_.k_outer > 1 && problem_.depth == 1 && problem_.rhs_n != 1 && arithmetic_.parts() == 1 &&
      schedule_.lanes >= TransposeSteps() && StepsAreNeighbours()) {
    // All steps of a column in the order in which they lie in memory.
    return PackRhsColumns(from, to, n0, /*transpose=*/true, problem_.k_total());
  }
  if (problem_.k_outer > 1) {
    // The steps of every outer one follow each other.
    EmitLoop(b_, Int(0), Int(problem_.k_outer), 1, "outer", [&](llvm::Value* outer) {
      llvm::Value* offset = Offset(problem_.outer_steps, outer, Operand::kRhs);
      PackRhsColumns(At(from, offset, StoredElement(problem_.rhs_type)),
                     At(to, outer, problem_.k * layout_.rhs.k_stride * arithmetic_.element_bytes()), n0, transpose,
                     problem_.k);
    });
    return;
  }
  PackRhsColumns(from, to, n0, transpose, problem_.k);
}

std::vector<GemmEmitter::StoredSteps> GemmEmitter::StepsInMemory() const {
  std::vector<StoredSteps> steps = {{problem_.k, problem_.rhs_k, 1}};
  int64_t packed = problem_.k;
  for (size_t i = problem_.outer_steps.size(); i-- > 0;) {
    steps.push_back({problem_.outer_steps[i].size, problem_.outer_steps[i].rhs_stride, packed});
    packed *= problem_.outer_steps[i].size;
  }
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.stride > b.stride; });
  return steps;
}

bool GemmEmitter::StepsAreNeighbours() const {
  const std::vector<StoredSteps> steps = StepsInMemory();
  int64_t stride = 1;
  for (size_t i = steps.size(); i-- > 0; stride *= steps[i].size) {
    if (steps[i].stride != stride) return false;
  }
  return true;
}

llvm::Value* GemmEmitter::PackedStep(llvm::Value* k) {
  llvm::Value* row = Int(0);
  const std::vector<StoredSteps> steps = StepsInMemory();
  for (size_t i = steps.size(); i-- > 0;) {
    llvm::Value* position = i == 0 ? k : b_.CreateURem(k, Int(steps[i].size));
    if (i > 0) k = b_.CreateUDiv(k, Int(steps[i].size));
    row = b_.CreateAdd(row, Scale(position, steps[i].packed));
  }
  return row;
}

void GemmEmitter::PackRhsColumns(llvm::Value* from, llvm::Value* to, llvm::Value* n0, bool transpose, int64_t steps) {
  const int64_t columns = TileColumns(), tail = problem_.n % columns;
  if (transpose && problem_.n > columns && tail >= schedule_.lanes) {
    llvm::Value* left = b_.CreateSub(Int(problem_.n), n0);
    return PackRhsTransposed(from, to, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, Int(columns)), steps);
  }
  PackWholeOrCut(n0, problem_.n, columns, [&](int64_t count) {
    transpose ? PackRhsTransposed(from, to, Int(count), steps) : PackRhsPanel(from, to, count);
  });
}

void GemmEmitter::PackRhsPanel(llvm::Value* from, llvm::Value* to, int64_t columns) {
  const int lanes = schedule_.lanes;
  const int64_t stored = StoredElement(problem_.rhs_type);
  const int64_t vector_bytes = int64_t{lanes} * arithmetic_.part_bytes();
  EmitGroups([&](llvm::Value* k, int64_t steps) {
    llvm::Value* source = At(from, k, problem_.rhs_k * stored);
    llvm::Value* target = At(to, k, layout_.rhs.k_stride * arithmetic_.element_bytes());
    for (int64_t first = 0; first < columns; first += lanes) {
      const int64_t count = std::min<int64_t>(lanes, columns - first);
      llvm::Value* start = At(source, first * problem_.rhs_n * stored);
      GemmValue value;
      if (problem_.depth > 1) {
        value.part[0] =
            LoadGroups(start, problem_.rhs_type, problem_.rhs_k / problem_.depth, steps, problem_.rhs_n, count, lanes);
      } else {
        value = LoadLanes(start, problem_.rhs_type, problem_.rhs_n, count, lanes);
      }
      StoreNative(At(target, first * arithmetic_.element_bytes()), value, vector_bytes, /*aligned=*/true);
    }
  });
}

// `columns` are at least lanes, unless they are a constant.
void GemmEmitter::PackRhsTransposed(llvm::Value* from, llvm::Value* to, llvm::Value* columns, int64_t all_steps) {
  const int lanes = schedule_.lanes;
  const int quad = TransposeSteps();
  const int groups = lanes / quad;
  const bool groups_of_k = problem_.depth > 1;  // which are elements of 32 bits then
  const int bytes = groups_of_k ? 4 : GemmArithmetic::StoredBytes(problem_.rhs_type);
  const int64_t stored = StoredElement(problem_.rhs_type);
  const int64_t step_bytes = stored * problem_.depth;
  const int64_t element = arithmetic_.element_bytes();
  const int64_t row_bytes = layout_.rhs.k_stride * element;
  llvm::Type* scalar =
      groups_of_k ? b_.getInt32Ty() : GemmArithmetic::StoredType(b_.getContext(), problem_.rhs_type, 1);
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(columns);
  const bool few = constant != nullptr && constant->getSExtValue() < lanes;
  const bool aligned = few || (constant != nullptr && constant->getSExtValue() % lanes == 0);
  // `count` columns from `first` on by `steps` steps from `k` on; where those are fewer than lanes, zeros fill up.
  const auto block = [&](llvm::Value* k, llvm::Value* first, int64_t steps, int64_t count) {
    llvm::Value* source = Opaque(At(At(from, first, problem_.rhs_n * stored), k, step_bytes));
    // Vector i holds the steps of columns i, i + quad, i + 2 quad and so on, one 128-bit group each, so that all that
    // is left is a transposition inside the groups.
    std::vector<llvm::Value*> vectors;
    for (int i = 0; i < quad; ++i) {
      std::vector<llvm::Value*> pieces;
      for (int group = 0; group < groups; ++group) {
        const int64_t column = int64_t{group} * quad + i;
        pieces.push_back(column < count
                             ? LoadContiguous(At(source, column * problem_.rhs_n * stored), scalar, bytes, steps, quad)
                             : llvm::Constant::getNullValue(llvm::FixedVectorType::get(scalar, quad)));
      }
      for (int width = quad; pieces.size() > 1; width *= 2) {
        std::vector<int> both(2 * width);
        std::iota(both.begin(), both.end(), 0);
        for (size_t piece = 0; piece < pieces.size() / 2; ++piece) {
          pieces[piece] = b_.CreateShuffleVector(pieces[2 * piece], pieces[2 * piece + 1], both);
        }
        pieces.resize(pieces.size() / 2);
      }
      vectors.push_back(groups_of_k ? pieces[0] : arithmetic_.FromStored(b_, problem_.rhs_type, pieces[0]));
    }
    TransposeInGroups(b_, vectors, lanes);
    const bool in_order = all_steps == problem_.k;
    llvm::Value* target = At(to, first, element);
    for (int64_t step = 0; step < steps; ++step) {
      llvm::Value* row = in_order ? At(At(target, k, row_bytes), step * row_bytes)
                                  : At(target, PackedStep(b_.CreateAdd(k, Int(step))), row_bytes);
      GemmValue value;
      value.part[0] = vectors[step];
      StoreNative(Opaque(row), value, 0, aligned);
    }
  };
  // The last block of a side that is no multiple of it reaches back over the one before and copies some of it again:
  // one piece of code does for all.
  const auto reach_back = [&](llvm::Value* index, llvm::Value* size, int64_t step) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index, b_.CreateSub(size, Int(step)));
  };
  const auto band = [&](llvm::Value* first, int64_t count) {
    if (all_steps < quad) return block(Int(0), first, all_steps, count);
    EmitLoop(b_, Int(0), Int(all_steps), quad, "k", [&](llvm::Value* k) {
      block(all_steps % quad == 0 ? k : reach_back(k, Int(all_steps), quad), first, quad, count);
    });
  };
  if (few) return band(Int(0), constant->getSExtValue());
  EmitLoop(b_, Int(0), columns, lanes, "n",
           [&](llvm::Value* first) { band(aligned ? first : reach_back(first, columns, lanes), lanes); });
}

}  // namespace kiln::cpu
