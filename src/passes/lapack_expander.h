// LAPACK's routines, as JAX calls them on CPUs, as ops.
#ifndef KILN_PASSES_LAPACK_EXPANDER_H_
#define KILN_PASSES_LAPACK_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Rewrites custom calls of LAPACK (lapack_NAME_ffi) that Kiln has code of its own for, as fast and as accurate:
// Cholesky factorizations (potrf), LU (getrf) and QR (geqrf, orgqr) of real matrices, QR where the smaller side is at
// least 25, and triangular solves (trsm). Programs that JAX lowered for its CPUs then need no handlers for these. Other
// calls, and those whose operands and results are not as they should be, are left to their handlers.
absl::StatusOr<bool> ExpandLapack(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_LAPACK_EXPANDER_H_
