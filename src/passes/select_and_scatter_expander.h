#ifndef KILN_PASSES_SELECT_AND_SCATTER_EXPANDER_H_
#define KILN_PASSES_SELECT_AND_SCATTER_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Select-and-scatter as a reduce-window that finds the places, and what puts values there. The place of each window
// comes from a reduce-window over (value, linear index). Small windows then become one elementwise chain in which every
// element asks, in the order of the source, each window that could have chosen it; large ones a scatter.
absl::StatusOr<bool> ExpandSelectAndScatters(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SELECT_AND_SCATTER_EXPANDER_H_
