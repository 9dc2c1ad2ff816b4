// A canonical dot instruction as a matrix product.
#ifndef KILN_CPU_DOT_SPEC_H_
#define KILN_CPU_DOT_SPEC_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "src/cpu/gemm.h"
#include "src/hlo/instruction.h"

namespace kiln::cpu {

// True for a dot of row-major operands with at most one contracting and one free dimension a side, of types that
// generated matrix products know. Others are computed by a plain kernel.
bool IsMatrixProduct(const hlo::Instruction& dot);

// The product that `dot` is, without epilogue. `dot` must be one (IsMatrixProduct).
GemmSpec MatrixProductOf(const hlo::Instruction& dot);

// Elements from one index to the next, of each dimension of a dense array of these sizes.
std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> sizes);

}  // namespace kiln::cpu

#endif  // KILN_CPU_DOT_SPEC_H_
