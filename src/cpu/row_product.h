// Products whose sides both lie along k, one of few rows and one of many: lanes are along k, and summed up in the end.
// Many rows come from memory once, as they lie there; few rows, or few columns, which are packed as rows, stay in the
// caches. Compiled with Kiln, as in gemm_blocks.h.
#ifndef KILN_CPU_ROW_PRODUCT_H_
#define KILN_CPU_ROW_PRODUCT_H_

#include <cstdint>
#include <vector>

#include "src/cpu/gemm_blocks.h"
#include "src/cpu/gemm_layout.h"
#include "src/cpu/row_kernels.h"

namespace kiln::cpu {

// All 64-bit integers, so that a module holds it as an array of them; strides in bytes. lhs has the few rows, rhs as
// many as the product has columns; with `few_columns` lhs is the product's rhs here, and rows are its columns.
struct RowProduct {
  GemmKernelKind kind = GemmKernelKind::kF32;
  int64_t m = 0, n = 0, k = 0;
  int64_t lhs_row = 0, lhs_step = 0, rhs_column = 0, out_row = 0, out_column = 0;
  int64_t pack_lhs = 0;
  int64_t direct = 0;                             // sums are the result as it is stored,
  GemmWidening narrow_out = GemmWidening::kNone;  // or once they are rounded
  int64_t k_block = 0;                            // elements of k at a time
  int64_t columns = 0;                            // that are finished at a time
  int64_t column_block = 0, column_blocks = 0;    // of a task
  int64_t batch_count = 0;
  GemmBlockDimension batch[GemmBlocks::kMaxDimensions];
  int64_t few_columns = 0;
  // Only with few columns: outer parts of k, whose offsets follow in memory, `runs` of lhs and then of rhs; parts of
  // the rows, which are batch dimensions as well, and how far they are apart, counted in rows; and rounds of tasks.
  int64_t runs = 1;
  int64_t outer = 1, outer_columns = 0;
  int64_t round_tasks = 0, round_blocks = 0;  // of a batch
  int64_t round_rhs = 0;                      // bytes of a padded copy from one round to the next
};

// Symbol "kiln_row_product": runs tasks [begin, end). `finish` as for RunGemmBlocks.
void RunRowProduct(const RowProduct* product, const char* lhs, const char* rhs, char* out, void* const* extra,
                   int64_t begin, int64_t end, GemmFinish* finish);
inline constexpr char kRowProductName[] = "kiln_row_product";

// Makes it the schedule of such a product, where there are kernels for it and it is worth one. `problem` as the
// schedule swaps it.
bool ChooseRowProduct(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic, int threads,
                      GemmSchedule& schedule);
// The same for few columns, with outer parts of rows and of k and a padded lhs, as convolutions of few features have.
bool ChooseColumnProduct(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic,
                         GemmSchedule& schedule);
// The description as it stands in memory.
std::vector<int64_t> DescribeRowProduct(const GemmSpec& spec, const GemmProblem& problem, const GemmSchedule& schedule,
                                        const GemmLayout& layout);

}  // namespace kiln::cpu

#endif  // KILN_CPU_ROW_PRODUCT_H_
