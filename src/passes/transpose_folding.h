// transpose-folding: transposes around dots and convolutions become the order of their dimensions.
#ifndef KILN_PASSES_TRANSPOSE_FOLDING_H_
#define KILN_PASSES_TRANSPOSE_FOLDING_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Looks at dots in the form that dot-canonicalization gives them. A transpose of an operand is read through by strides,
// unless that would make the batch dimension the fastest in memory. A transpose of the result that swaps its two matrix
// dimensions swaps the operands. Convolutions have names for their dimensions and take in any transpose.
class TransposeFolding : public Pass {
 public:
  absl::string_view name() const override { return "transpose-folding"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_TRANSPOSE_FOLDING_H_
