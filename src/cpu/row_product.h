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
// many as the product has columns.
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
};

// Symbol "kiln_row_product": runs tasks [begin, end). `finish` as for RunGemmBlocks.
void RunRowProduct(const RowProduct* product, const char* lhs, const char* rhs, char* out, void* const* extra,
                   int64_t begin, int64_t end, GemmFinish* finish);
inline constexpr char kRowProductName[] = "kiln_row_product";

// Makes it the schedule of such a product, where there are kernels for it and it is worth one. `problem` as the
// schedule swaps it.
bool ChooseRowProduct(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic, int threads,
                      GemmSchedule& schedule);
// The description as it stands in memory.
std::vector<int64_t> DescribeRowProduct(const GemmSpec& spec, const GemmProblem& problem, const GemmSchedule& schedule,
                                        const GemmLayout& layout);

}  // namespace kiln::cpu

#endif  // KILN_CPU_ROW_PRODUCT_H_
