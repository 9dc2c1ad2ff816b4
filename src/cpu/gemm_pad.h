// The padded copy of a product's lhs where its elements stay as they are, compiled with Kiln.
#ifndef KILN_CPU_GEMM_PAD_H_
#define KILN_CPU_GEMM_PAD_H_

#include <cstdint>
#include <vector>

#include "src/cpu/gemm.h"

namespace kiln::cpu {

// In memory all 64-bit integers, followed by the GemmPadding of every dimension; the innermost one is a row.
struct GemmPad {
  int64_t element_bytes = 0;
  int64_t rows = 0;  // of the whole copy
  int64_t dimensions = 0;
};
std::vector<int64_t> DescribeGemmPad(const std::vector<GemmPadding>& padding, int64_t element_bytes);

// Symbol "kiln_gemm_pad": rows first_row + [begin, end) of the copy, as far as they exist, to to[begin, end).
void PadGemmRows(const GemmPad* pad, const char* from, char* to, int64_t first_row, int64_t begin, int64_t end);
inline constexpr char kGemmPadName[] = "kiln_gemm_pad";

}  // namespace kiln::cpu

#endif  // KILN_CPU_GEMM_PAD_H_
