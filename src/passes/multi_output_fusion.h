#ifndef KILN_PASSES_MULTI_OUTPUT_FUSION_H_
#define KILN_PASSES_MULTI_OUTPUT_FUSION_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Kernels that go through the same iterations become one with several results. Works on what the fusion pass leaves:
// loop fusions and elementwise instructions of equal dimensions, and reductions of equal operands, dimensions and
// results. Merges
//   siblings    that read the same array, when reading it once saves more than analysis::FusionCosts asks for
//   a producer  that others read too into consumers that read it element by element
// The result is a fusion with a tuple, kind=kLoop or kInput, and a get-tuple-element per result.
absl::StatusOr<bool> MergeKernels(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_MULTI_OUTPUT_FUSION_H_
