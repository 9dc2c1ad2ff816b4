#include "src/cpu/gemm_layout.h"

#include <algorithm>

#include "src/base/rounding.h"
#include "src/cpu/winograd.h"

namespace kiln::cpu {

bool GemmProblem::LhsRepeats() const {
  return std::all_of(batch.begin(), batch.end(), [](const GemmBatchDimension& d) { return d.lhs_stride == 0; });
}

bool GemmProblem::RhsRepeats() const {
  return std::all_of(batch.begin(), batch.end(), [](const GemmBatchDimension& d) { return d.rhs_stride == 0; });
}

GemmProblem MakeGemmProblem(const GemmSpec& spec, bool swapped, int depth) {
  GemmProblem problem;
  problem.batch = spec.batch;
  problem.outer_rows = spec.outer_rows;
  problem.outer_steps = spec.outer_steps;
  for (const GemmBatchDimension& dimension : spec.batch) problem.batches *= dimension.size;
  for (const GemmBatchDimension& dimension : spec.outer_rows) problem.m_outer *= dimension.size;
  for (const GemmBatchDimension& dimension : spec.outer_steps) problem.k_outer *= dimension.size;
  problem.m = spec.m;
  problem.n = spec.n;
  problem.k = CeilDivide(spec.k, depth);
  problem.k_left = spec.k % depth;
  problem.depth = depth;
  problem.column_group = spec.column_group;
  problem.column_group_stride = spec.column_group_stride;
  problem.lhs_type = spec.lhs.type;
  problem.rhs_type = spec.rhs.type;
  problem.out_type = spec.out.type;
  problem.lhs_m = spec.lhs.row_stride;
  problem.lhs_k = spec.lhs.column_stride * depth;
  problem.rhs_k = spec.rhs.row_stride * depth;
  problem.rhs_n = spec.rhs.column_stride;
  problem.out_m = spec.out.row_stride;
  problem.out_n = spec.out.column_stride;
  if (!swapped) return problem;
  for (auto* dimensions : {&problem.batch, &problem.outer_steps}) {
    for (GemmBatchDimension& dimension : *dimensions) std::swap(dimension.lhs_stride, dimension.rhs_stride);
  }
  std::swap(problem.m, problem.n);
  std::swap(problem.lhs_type, problem.rhs_type);
  std::swap(problem.lhs_m, problem.rhs_n);
  std::swap(problem.lhs_k, problem.rhs_k);
  std::swap(problem.out_m, problem.out_n);
  return problem;
}

bool IsSingleTile(const GemmProblem& problem, const GemmSchedule& schedule) {
  return schedule.kind == GemmSchedule::Kind::kTile && !schedule.pack_lhs && !schedule.pack_rhs &&
         problem.batches == 1 && problem.m_outer == 1 && problem.k_outer == 1 && problem.column_group == 0 &&
         problem.m <= schedule.rows && problem.n <= schedule.lanes && problem.k <= schedule.k_block;
}

std::vector<GemmPadding> MergePadding(const std::vector<GemmPadding>& padding) {
  std::vector<GemmPadding> merged;
  for (const GemmPadding& d : padding) {
    const bool whole = d.low == 0 && d.dilation == 1 && d.padded == d.size;
    // The two slowest stay apart: they are what threads divide.
    if (merged.size() > 1 && whole && merged.back().dilation == 1) {
      GemmPadding& outer = merged.back();
      outer.size *= d.size;
      outer.low *= d.size;
      outer.padded *= d.size;
    } else {
      merged.push_back(d);
    }
  }
  return merged;
}

int64_t PaddedElementBytes(const GemmProblem& problem, const GemmArithmetic& arithmetic) {
  // Groups are made of elements as they are.
  return problem.depth > 1 ? int64_t{GemmArithmetic::StoredBytes(problem.lhs_type)} * arithmetic.parts()
                           : arithmetic.element_bytes();
}

PaddedRound CutPadding(const GemmProblem& problem, const GemmSpec& spec, int64_t element_bytes, int64_t max_bytes,
                       int64_t tile_rows) {
  PaddedRound round;
  if (spec.padding.empty() || spec.padding_is_shared) return round;
  const std::vector<GemmPadding> merged = MergePadding(spec.padding);
  const int64_t inner = merged.back().padded;
  int64_t all_rows = 1;
  for (size_t i = 0; i + 1 < merged.size(); ++i) all_rows *= merged[i].padded;
  const bool along_m = problem.outer_rows.empty();
  const GemmBatchDimension outermost =
      along_m ? GemmBatchDimension{.size = problem.m, .lhs_stride = problem.lhs_m} : problem.outer_rows.front();
  if (outermost.size == 1 || outermost.lhs_stride == 0 || outermost.lhs_stride % inner != 0) return round;
  // The elements from the first that a unit reads to the last.
  int64_t extent = spec.lhs_offset + (problem.k - 1) * problem.lhs_k + problem.depth;
  if (!along_m) extent += (problem.m - 1) * problem.lhs_m;
  for (const auto* dimensions : {&problem.outer_rows, &problem.outer_steps, &problem.batch}) {
    for (const GemmBatchDimension& d : *dimensions) {
      if (&d != problem.outer_rows.data()) extent += (d.size - 1) * d.lhs_stride;
    }
  }
  if (problem.column_group > 0) extent += (problem.n - 1) / problem.column_group * problem.column_group_stride;
  round.row_bytes = inner * element_bytes;
  round.unit_rows = outermost.lhs_stride / inner;
  const int64_t overlap = std::max<int64_t>(CeilDivide(extent, inner) - round.unit_rows, 0);
  // Rounds begin with whole tiles.
  const int64_t step = along_m ? tile_rows : 1;
  const int64_t units = std::max((max_bytes / round.row_bytes - overlap) / round.unit_rows, step);
  // Copying the overlap again must stay cheap.
  if (units >= outermost.size || 4 * overlap > units * round.unit_rows) return round;
  round.units = RoundUp(CeilDivide(outermost.size, CeilDivide(outermost.size, units)), step);
  round.row_panels = CeilDivide(along_m ? round.units : problem.m, tile_rows);
  if (!along_m) round.row_panels *= problem.m_outer / outermost.size * round.units;
  round.rows = std::min(all_rows, round.units * round.unit_rows + overlap);
  return round;
}

// Of transformed weights.
static GemmLayout WinogradLayout(const GemmSpec& spec, const GemmSchedule& schedule) {
  const WinogradProduct product = MakeWinogradProduct(spec, schedule, /*direct=*/true);
  GemmLayout layout;
  layout.rhs.packed = true;
  layout.rhs.tasks = product.weight_tasks();
  layout.scratch_bytes = product.round_panels * product.panel_bytes();
  layout.m_blocks = product.tile_blocks;
  layout.n_blocks = product.panel_blocks;
  layout.n_rounds = CeilDivide(product.panels, product.round_panels);
  return layout;
}

GemmLayout MakeGemmLayout(const GemmProblem& problem, const GemmSchedule& schedule, const GemmArithmetic& arithmetic,
                          const GemmSpec& spec) {
  if (schedule.kind == GemmSchedule::Kind::kWinograd) return WinogradLayout(spec, schedule);
  GemmLayout layout;
  const int64_t element = arithmetic.element_bytes();
  const bool dot = schedule.kind == GemmSchedule::Kind::kDot;
  // By tasks, in memory of their threads.
  const bool own_packing = schedule.kind == GemmSchedule::Kind::kBlocks || schedule.kind == GemmSchedule::Kind::kRows;
  const int64_t rows = schedule.rows;
  const int64_t columns = dot ? schedule.vectors : int64_t{schedule.vectors} * schedule.lanes;
  int64_t offset = 0;
  layout.m_padded = problem.outer_rows.empty() ? problem.m : RoundUp(problem.m, rows);
  layout.m_total = layout.m_padded * problem.m_outer;
  const auto chunk = [](int64_t wanted, int64_t size) { return wanted > 0 && wanted < size ? wanted : size; };
  layout.batches = chunk(schedule.batch_chunk, problem.batches);
  layout.m_chunk = chunk(schedule.m_chunk, layout.m_total);
  layout.n_chunk = chunk(schedule.n_chunk, problem.n);
  if (layout.batches > 0) layout.batch_rounds = CeilDivide(problem.batches, layout.batches);
  if (layout.m_chunk > 0) layout.m_rounds = CeilDivide(layout.m_total, layout.m_chunk);
  if (layout.n_chunk > 0) layout.n_rounds = CeilDivide(problem.n, layout.n_chunk);

  // The micro-tiles, `tile` wide, of an operand whose side of `size` is taken a chunk at a time.
  const auto pack = [&](GemmOperandLayout& operand, bool repeats, int64_t batch_elements, int64_t chunk, int64_t size,
                        int64_t tile) {
    const int64_t batches = repeats ? 1 : layout.batches, batch_bytes = RoundUp(batch_elements * element, 64);
    operand.batch_stride = repeats ? 0 : batch_bytes / element;
    operand.tasks_per_batch = CeilDivide(chunk, tile);
    operand.panels = CeilDivide(size, tile);
    operand.tasks = batches * operand.tasks_per_batch;
    operand.scratch_offset = offset;
    offset += batches * batch_bytes;
  };

  GemmOperandLayout& lhs = layout.lhs;
  lhs.type = problem.lhs_type;
  const int64_t stored = int64_t{GemmArithmetic::StoredBytes(problem.lhs_type)} * arithmetic.parts();
  lhs.padded = !spec.padding.empty();
  lhs.packed = (schedule.pack_lhs && !own_packing) || lhs.padded;
  lhs.element_bytes = lhs.padded ? PaddedElementBytes(problem, arithmetic) : lhs.packed ? element : stored;
  if (lhs.padded || !lhs.packed) {
    lhs.block_stride = lhs.inner_stride = problem.lhs_m;
    lhs.k_stride = problem.lhs_k;
  }
  if (lhs.padded) {
    lhs.tasks = 1;
    int64_t elements = 1;
    const std::vector<GemmPadding> merged = MergePadding(spec.padding);
    for (size_t i = 0; i < merged.size(); ++i) {
      elements *= merged[i].padded;
      if (i + 1 < merged.size()) lhs.tasks *= merged[i].padded;
    }
    lhs.panels = lhs.tasks;
    if (layout.m_rounds > 1) {
      const PaddedRound round = CutPadding(problem, spec, lhs.element_bytes, schedule.padded_bytes, rows);
      lhs.tasks = round.rows;
      lhs.round_rows = round.units * round.unit_rows;
      elements = round.rows * (round.row_bytes / lhs.element_bytes);
      lhs.round_stride = lhs.round_rows * (round.row_bytes / lhs.element_bytes);
    }
    if (spec.padded_before) lhs.tasks = 0;
    lhs.scratch_offset = offset;
    offset += RoundUp(elements * lhs.element_bytes, 64);
  } else if (lhs.packed) {
    int64_t batch_elements;
    if (dot || problem.lhs_m != 1) {
      // Whole cache lines, an odd number of them apart: rows of a power of two would share a few cache sets.
      int64_t row_bytes = RoundUp(problem.k * element, 64);
      if (row_bytes % 128 == 0) row_bytes += 64;
      lhs.block_stride = lhs.inner_stride = row_bytes / element;
      lhs.k_stride = 1;
      batch_elements = layout.m_chunk * lhs.block_stride;
    } else {
      lhs.block_stride = problem.k;
      lhs.inner_stride = 1;
      lhs.k_stride = rows;
      batch_elements = RoundUp(layout.m_chunk, rows) * problem.k;
    }
    pack(lhs, problem.LhsRepeats(), batch_elements, layout.m_chunk, problem.m, rows);
  }

  GemmOperandLayout& rhs = layout.rhs;
  rhs.type = problem.rhs_type;
  rhs.packed = schedule.pack_rhs && !own_packing;
  rhs.element_bytes =
      rhs.packed ? element : int64_t{GemmArithmetic::StoredBytes(problem.rhs_type)} * arithmetic.parts();
  if (!rhs.packed) {
    rhs.block_stride = rhs.inner_stride = problem.rhs_n;
    rhs.k_stride = problem.rhs_k;
  } else {
    rhs.block_stride = problem.k_total();
    rhs.inner_stride = 1;
    rhs.k_stride = columns;
    pack(rhs, problem.RhsRepeats(), RoundUp(layout.n_chunk, columns) * problem.k_total(), layout.n_chunk, problem.n,
         columns);
  }
  layout.scratch_bytes = offset;
  layout.m_blocks = CeilDivide(layout.m_chunk, schedule.m_block);
  layout.n_blocks = problem.n == 0 ? 0 : CeilDivide(layout.n_chunk, schedule.n_block);
  return layout;
}

}  // namespace kiln::cpu
