#ifndef KILN_PASSES_TRIANGULAR_SOLVE_EXPANDER_H_
#define KILN_PASSES_TRIANGULAR_SOLVE_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Triangular-solve as loops over rows, in blocks. Substitution: a block of rows loses its product with the rows that
// are solved, by one matrix product, and is then solved row by row. The other triangle is never looked at. Types
// narrower than f32 are computed in f32. `keeps_real`: leaves what the CPU target has a library for.
absl::StatusOr<bool> ExpandTriangularSolves(Module* module, bool keeps_real = false);

}  // namespace kiln::passes

#endif  // KILN_PASSES_TRIANGULAR_SOLVE_EXPANDER_H_
