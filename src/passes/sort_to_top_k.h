// Sorts of which only the first or last elements are read.
#ifndef KILN_PASSES_SORT_TO_TOP_K_H_
#define KILN_PASSES_SORT_TO_TOP_K_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Rewrites sorts of whose results only a few first, or last, elements are read, all by slices, as selections of these
// (top-k): the sort's order has to be one of keys' bits, as for sort-keys. What follows the keys is gathered, or is the
// positions themselves. `jnp.argsort(x)[:k]` and the top-k of PyTorch/XLA are such sorts.
absl::StatusOr<bool> SelectInsteadOfSorting(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SORT_TO_TOP_K_H_
