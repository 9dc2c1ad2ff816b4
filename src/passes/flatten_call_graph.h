// flatten-call-graph: gives every while, conditional and call computations of its own, so that each value in them has
// one place in memory.
#ifndef KILN_PASSES_FLATTEN_CALL_GRAPH_H_
#define KILN_PASSES_FLATTEN_CALL_GRAPH_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Computations called as control flow from several places are copied for all but the first. Fails with
// RESOURCE_EXHAUSTED when the copies would grow past a fixed budget. Scalar computations and fusions stay shared.
class FlattenCallGraph : public Pass {
 public:
  absl::string_view name() const override { return "flatten-call-graph"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_FLATTEN_CALL_GRAPH_H_
