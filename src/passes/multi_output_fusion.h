// multi-output-fusion: kernels that go through the same iterations become one with several results.
#ifndef KILN_PASSES_MULTI_OUTPUT_FUSION_H_
#define KILN_PASSES_MULTI_OUTPUT_FUSION_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Works on what the fusion pass leaves: loop fusions and elementwise instructions of equal dimensions, and reductions
// of equal operands, dimensions and results. Merges
//   siblings    that read the same array, when reading it once saves more than analysis::FusionCosts asks for
//   a producer  that others read too into consumers that read it element by element
// The result is a fusion with a tuple, kind=kLoop or kInput, and a get-tuple-element per result.
class MultiOutputFusion : public Pass {
 public:
  absl::string_view name() const override { return "multi-output-fusion"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_MULTI_OUTPUT_FUSION_H_
