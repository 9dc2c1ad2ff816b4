#ifndef KILN_PASSES_SCATTER_SPLITTER_H_
#define KILN_PASSES_SCATTER_SPLITTER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Divides many updates of a small array, in whatever order they give the same, into parts with arrays of their own,
// which are combined: histograms, and shortest ways to the nodes of a graph. By the shapes alone.
absl::StatusOr<bool> SplitScatters(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SCATTER_SPLITTER_H_
