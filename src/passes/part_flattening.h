#ifndef KILN_PASSES_PART_FLATTENING_H_
#define KILN_PASSES_PART_FLATTENING_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Arrays that are joined of parts, and of which only parts are read again, become their parts: the components of a
// state that is stacked after every step of an integrator. Elementwise ops over concatenations are made of each part,
// slices of them are ops on parts, and only what is wanted as a whole is joined. Then all of it can be one kernel,
// where slices of what is joined keep kernels apart. Not where slices cross parts, as those of neighbours in a grid do,
// nor where more would be joined than before.
absl::StatusOr<bool> FlattenParts(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_PART_FLATTENING_H_
