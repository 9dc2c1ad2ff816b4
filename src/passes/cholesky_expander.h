#ifndef KILN_PASSES_CHOLESKY_EXPANDER_H_
#define KILN_PASSES_CHOLESKY_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Cholesky as loops over columns, in blocks. Left-looking: a block of columns loses its product with the columns before
// it, by one matrix product, and is then factorized column by column. The other triangle of the result is 0; a matrix
// that is not positive definite gives NaN throughout its triangle. Types narrower than f32 are computed in f32.
// `keeps_real`: leaves what the CPU target has a library for.
absl::StatusOr<bool> ExpandCholesky(Module* module, bool keeps_real = false);

}  // namespace kiln::passes

#endif  // KILN_PASSES_CHOLESKY_EXPANDER_H_
