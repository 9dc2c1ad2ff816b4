#ifndef KILN_PASSES_MULTI_OUTPUT_FUSION_H_
#define KILN_PASSES_MULTI_OUTPUT_FUSION_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Kernels that go through the same iterations become one with several results. Works on what the fusion pass leaves:
// loop fusions and elementwise instructions of equal dimensions, reductions of equal operands, dimensions and results,
// and matrix products. Merges
//   siblings    that read the same array, when reading it once saves more than analysis::FusionCosts asks for
//   a producer  that others read too into consumers that read it element by element
//   a product   with what reads its result element by element: a value kept for the backward pass beside its
//               activation, the three results of an optimizer's step behind the gradient of a weight
// The result is a fusion with a tuple, unless one value alone is read outside, of kind kLoop, kInput or kOutput, and a
// get-tuple-element per result.
absl::StatusOr<bool> MergeKernels(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_MULTI_OUTPUT_FUSION_H_
