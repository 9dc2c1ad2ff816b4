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
  std::vector<GemmBatchDimension> outer_rows, outer_steps;
  int depth = 1;                     // elements of k in a step; `k` and the strides along it count steps
  int64_t k_left = 0;                // elements in the last step when they are fewer, otherwise 0
  int64_t m_outer = 1, k_outer = 1;  // their iterations
  int64_t column_group = 0, column_group_stride = 0;
  hlo::PrimitiveType lhs_type, rhs_type, out_type;
  int64_t lhs_m = 0, lhs_k = 0;  // strides in elements
  int64_t rhs_k = 0, rhs_n = 0;
  int64_t out_m = 0, out_n = 0;

  int64_t k_total() const { return k_outer * k; }
  bool LhsRepeats() const;  // the same in every batch
  bool RhsRepeats() const;
};

GemmProblem MakeGemmProblem(const GemmSpec& spec, bool swapped, int depth);

// Whether one micro-tile is the whole product, of operands where they lie: these are read before anything is stored, so
// that the result may have the place of one.
bool IsSingleTile(const GemmProblem& problem, const GemmSchedule& schedule);

// One operand as the kernels read it. Strides in elements of two parts or one.
struct GemmOperandLayout {
  bool packed = false;
  bool padded = false;        // packed by a copy with zeros; batches and outer dimensions have their strides in it
  hlo::PrimitiveType type;    // in memory, when not packed; packed elements have the sum's own type
  int64_t block_stride = 0;   // between neighbours along m or n, for indices that begin a micro-tile
  int64_t element_bytes = 0;  // that strides count
  int64_t inner_stride = 0;   // the same within a micro-tile
  int64_t k_stride = 0;
  // Packed only:
  int64_t scratch_offset = 0;  // bytes
  int64_t batch_stride = 0;    // elements; 0 when all batches share it
  int64_t tasks = 0;           // of packing, in a round
  int64_t tasks_per_batch = 0;
  int64_t panels = 0;        // micro-tiles of a batch, or padded rows, over all rounds
  int64_t round_rows = 0;    // padded: rows from one round to the next, which overlap
  int64_t round_stride = 0;  // elements of them
};

struct GemmLayout {
  GemmOperandLayout lhs;
  GemmOperandLayout rhs;
  int64_t scratch_bytes = 0;
  int64_t m_padded = 0;  // m, or that rounded up to whole micro-tiles where there are outer rows
  int64_t m_total = 0;   // over all outer rows
  // Of a round, and the rounds along each side; n counts fastest.
  int64_t batches = 1, m_chunk = 0, n_chunk = 0;
  int64_t m_blocks = 0;
  int64_t n_blocks = 0;
  int64_t batch_rounds = 1, m_rounds = 1, n_rounds = 1;

  int64_t rounds() const { return batch_rounds * m_rounds * n_rounds; }
};

// What the rounds of a padded lhs work on, cut along the outermost of the outer rows, or along m where there are none:
// `units` of it each.
struct PaddedRound {
  int64_t units = 0;       // 0: it cannot be cut
  int64_t row_panels = 0;  // of all of these
  int64_t unit_rows = 0;   // rows of the padded copy from one unit to the next
  int64_t rows = 0;        // of the padded copy that a round reads
  int64_t row_bytes = 0;
};
int64_t PaddedElementBytes(const GemmProblem& problem, const GemmArithmetic& arithmetic);
PaddedRound CutPadding(const GemmProblem& problem, const GemmSpec& spec, int64_t element_bytes, int64_t max_bytes,
                       int64_t tile_rows);

// The dimensions of a padded copy with those that only make longer rows together merged; one at least.
std::vector<GemmPadding> MergePadding(const std::vector<GemmPadding>& padding);

// Packed lhs: rows along k, each `k_pad` apart, when lhs is contiguous in k or is read along it, otherwise micro-tiles
// of [k][rows]. Packed rhs: micro-tiles of [k][vectors][parts][lanes], the last one padded.
GemmLayout MakeGemmLayout(const GemmProblem& problem, const GemmSchedule& schedule, const GemmArithmetic& arithmetic,
                          const GemmSpec& spec);

}  // namespace kiln::cpu

#endif  // KILN_CPU_GEMM_LAYOUT_H_
