// Brings the scalar computations of reduce, map, sort, scatter, ... into the form that kernels take in: elementwise ops
// over scalars, constants, a tuple at the root, and loops over tuples of scalars.
//
// Calls are inlined, branches are computed all and chosen from (a loop in a branch that is not taken runs no round),
// and small arrays become their elements: ops that move them rename elements, reductions and dots become chains
// of their combiner, slices at run-time positions become selections.
#ifndef KILN_PASSES_SCALAR_FLATTENING_H_
#define KILN_PASSES_SCALAR_FLATTENING_H_

#include "src/passes/pass.h"

namespace kiln::passes {

class ScalarFlattening : public Pass {
 public:
  absl::string_view name() const override { return "scalar-flattening"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_SCALAR_FLATTENING_H_
