#ifndef KILN_PASSES_SCALAR_FLATTENING_H_
#define KILN_PASSES_SCALAR_FLATTENING_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Brings the scalar computations of reduce, map, sort, scatter, ... into the form that kernels take in: elementwise ops
// over scalars, constants, a tuple at the root, and loops over tuples of scalars. Calls are inlined, branches are
// computed all and chosen from (a loop in a branch that is not taken runs no round), and small arrays become their
// elements: ops that move them rename elements, reductions and dots become chains of their combiner, slices at run-time
// positions become selections.
absl::StatusOr<bool> FlattenScalarComputations(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SCALAR_FLATTENING_H_
