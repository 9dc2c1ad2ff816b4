#include "src/cpu/gemm_layout.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp(int64_t a, int64_t b) { return CeilDivide(a, b) * b; }

}  // namespace

bool GemmProblem::LhsRepeats() const {
  return std::all_of(batch.begin(), batch.end(), [](const GemmBatchDimension& d) { return d.lhs_stride == 0; });
}

bool GemmProblem::RhsRepeats() const {
  return std::all_of(batch.begin(), batch.end(), [](const GemmBatchDimension& d) { return d.rhs_stride == 0; });
}

GemmProblem MakeGemmProblem(const GemmSpec& spec, bool swapped) {
  GemmProblem problem;
  problem.batch = spec.batch;
  for (const GemmBatchDimension& dimension : spec.batch) problem.batches *= dimension.size;
  problem.k = spec.k;
  problem.out_type = spec.out.type;
  if (!swapped) {
    problem.m = spec.m;
    problem.n = spec.n;
    problem.lhs_type = spec.lhs.type;
    problem.rhs_type = spec.rhs.type;
    problem.lhs_m = spec.lhs.row_stride;
    problem.lhs_k = spec.lhs.column_stride;
    problem.rhs_k = spec.rhs.row_stride;
    problem.rhs_n = spec.rhs.column_stride;
    problem.out_m = spec.out.row_stride;
    problem.out_n = spec.out.column_stride;
    return problem;
  }
  for (GemmBatchDimension& dimension : problem.batch) std::swap(dimension.lhs_stride, dimension.rhs_stride);
  problem.m = spec.n;
  problem.n = spec.m;
  problem.lhs_type = spec.rhs.type;
  problem.rhs_type = spec.lhs.type;
  problem.lhs_m = spec.rhs.column_stride;
  problem.lhs_k = spec.rhs.row_stride;
  problem.rhs_k = spec.lhs.column_stride;
  problem.rhs_n = spec.lhs.row_stride;
  problem.out_m = spec.out.column_stride;
  problem.out_n = spec.out.row_stride;
  return problem;
}

GemmLayout MakeGemmLayout(const GemmProblem& problem, const GemmSchedule& schedule, const GemmArithmetic& arithmetic) {
  GemmLayout layout;
  const int64_t element = arithmetic.element_bytes();
  const bool dot = schedule.kind == GemmSchedule::Kind::kDot;
  const int64_t rows = schedule.rows;
  const int64_t columns = dot ? schedule.vectors : int64_t{schedule.vectors} * schedule.lanes;
  int64_t offset = 0;

  GemmOperandLayout& lhs = layout.lhs;
  lhs.type = problem.lhs_type;
  lhs.packed = schedule.pack_lhs;
  if (!lhs.packed) {
    lhs.block_stride = lhs.inner_stride = problem.lhs_m;
    lhs.k_stride = problem.lhs_k;
  } else {
    int64_t batch_elements;
    if (dot || problem.lhs_m != 1) {
      // Whole cache lines, an odd number of them apart: rows of a power of two would share a few cache sets.
      int64_t row_bytes = RoundUp(problem.k * element, 64);
      if (row_bytes % 128 == 0) row_bytes += 64;
      lhs.block_stride = lhs.inner_stride = row_bytes / element;
      lhs.k_stride = 1;
      batch_elements = problem.m * lhs.block_stride;
    } else {
      lhs.block_stride = problem.k;
      lhs.inner_stride = 1;
      lhs.k_stride = rows;
      batch_elements = RoundUp(problem.m, rows) * problem.k;
    }
    const int64_t batches = problem.LhsRepeats() ? 1 : problem.batches;
    lhs.batch_stride = problem.LhsRepeats() ? 0 : RoundUp(batch_elements * element, 64) / element;
    lhs.tasks_per_batch = CeilDivide(problem.m, rows);
    lhs.tasks = batches * lhs.tasks_per_batch;
    lhs.scratch_offset = offset;
    offset += batches * RoundUp(batch_elements * element, 64);
  }

  GemmOperandLayout& rhs = layout.rhs;
  rhs.type = problem.rhs_type;
  rhs.packed = schedule.pack_rhs;
  if (!rhs.packed) {
    rhs.block_stride = rhs.inner_stride = problem.rhs_n;
    rhs.k_stride = problem.rhs_k;
  } else {
    rhs.block_stride = problem.k;
    rhs.inner_stride = 1;
    rhs.k_stride = columns;
    const int64_t batches = problem.RhsRepeats() ? 1 : problem.batches;
    const int64_t batch_elements = RoundUp(problem.n, columns) * problem.k;
    rhs.batch_stride = problem.RhsRepeats() ? 0 : RoundUp(batch_elements * element, 64) / element;
    rhs.tasks_per_batch = CeilDivide(problem.n, columns);
    rhs.tasks = batches * rhs.tasks_per_batch;
    rhs.scratch_offset = offset;
    offset += batches * RoundUp(batch_elements * element, 64);
  }
  layout.scratch_bytes = offset;
  layout.m_blocks = problem.m == 0 ? 0 : CeilDivide(problem.m, schedule.m_block);
  layout.n_blocks = problem.n == 0 ? 0 : CeilDivide(problem.n, schedule.n_block);
  return layout;
}

}  // namespace kiln::cpu
