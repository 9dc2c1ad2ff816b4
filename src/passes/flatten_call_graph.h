#ifndef KILN_PASSES_FLATTEN_CALL_GRAPH_H_
#define KILN_PASSES_FLATTEN_CALL_GRAPH_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Gives every while, conditional and call computations of its own, so that each value in them has one place in memory.
// Computations called as control flow from several places are copied for all but the first. Fails with
// RESOURCE_EXHAUSTED when the copies would grow past a fixed budget. Scalar computations and fusions stay shared.
absl::StatusOr<bool> FlattenCallGraph(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_FLATTEN_CALL_GRAPH_H_
