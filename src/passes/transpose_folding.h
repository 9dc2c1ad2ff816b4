#ifndef KILN_PASSES_TRANSPOSE_FOLDING_H_
#define KILN_PASSES_TRANSPOSE_FOLDING_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Transposes around dots and convolutions become the order of their dimensions. Looks at dots in the form that
// dot-canonicalization gives them. A transpose of an operand is read through by strides, unless that would make the
// batch dimension the fastest in memory. A transpose of the result that swaps its two matrix dimensions swaps the
// operands. Convolutions have names for their dimensions and take in any transpose.
absl::StatusOr<bool> FoldTransposes(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_TRANSPOSE_FOLDING_H_
