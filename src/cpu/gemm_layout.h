// A matrix product as the kernels see it: transposed if that is better, with the memory that they read from.
#ifndef KILN_CPU_GEMM_LAYOUT_H_
#define KILN_CPU_GEMM_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "src/cpu/gemm.h"
#include "src/cpu/gemm_types.h"

namespace kiln::cpu {

// The spec after the exchange of lhs and rhs, of m and n, when the schedule says so.
struct GemmProblem {
  int64_t batches = 1;
  std::vector<GemmBatchDimension> batch;
  int64_t m = 0, n = 0, k = 0;
  hlo::PrimitiveType lhs_type, rhs_type, out_type;
  int64_t lhs_m = 0, lhs_k = 0;  // strides in elements
  int64_t rhs_k = 0, rhs_n = 0;
  int64_t out_m = 0, out_n = 0;

  bool LhsRepeats() const;  // the same in every batch
  bool RhsRepeats() const;
};

GemmProblem MakeGemmProblem(const GemmSpec& spec, bool swapped);

// One operand as the kernels read it. Strides in elements of two parts or one.
struct GemmOperandLayout {
  bool packed = false;
  hlo::PrimitiveType type;   // in memory, when not packed; packed elements have the sum's own type
  int64_t block_stride = 0;  // between neighbours along m or n, for indices that begin a micro-tile
  int64_t inner_stride = 0;  // the same within a micro-tile
  int64_t k_stride = 0;
  // Packed only:
  int64_t scratch_offset = 0;  // bytes
  int64_t batch_stride = 0;    // elements; 0 when all batches share it
  int64_t tasks = 0;           // of packing
  int64_t tasks_per_batch = 0;
};

struct GemmLayout {
  GemmOperandLayout lhs;
  GemmOperandLayout rhs;
  int64_t scratch_bytes = 0;
  int64_t m_blocks = 0;
  int64_t n_blocks = 0;
};

// Packed lhs: rows along k, each `k_pad` apart, when lhs is contiguous in k or is read along it, otherwise micro-tiles
// of [k][rows]. Packed rhs: micro-tiles of [k][vectors][parts][lanes], the last one padded.
GemmLayout MakeGemmLayout(const GemmProblem& problem, const GemmSchedule& schedule, const GemmArithmetic& arithmetic);

}  // namespace kiln::cpu

#endif  // KILN_CPU_GEMM_LAYOUT_H_
