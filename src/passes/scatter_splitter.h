#ifndef KILN_PASSES_SCATTER_SPLITTER_H_
#define KILN_PASSES_SCATTER_SPLITTER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Divides many updates of a small array, in whatever order they give the same or are sums of f32 or f64, into parts
// with arrays of their own, which are combined: histograms, sums of segments, shortest ways to the nodes of a graph. By
// the shapes alone, so that sums do not depend on threads.
absl::StatusOr<bool> SplitScatters(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SCATTER_SPLITTER_H_
