// approx-top-k-expander: the custom call ApproxTopK as a sort, which is exact.
#ifndef KILN_PASSES_APPROX_TOP_K_EXPANDER_H_
#define KILN_PASSES_APPROX_TOP_K_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// Operands are n arrays and n initial values, of which the latter would only fill up incomplete groups; the comparator
// is that of a sort. However many results are asked for, they are the first ones.
class ApproxTopKExpander : public OpExpander {
 public:
  absl::string_view name() const override { return "approx-top-k-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_APPROX_TOP_K_EXPANDER_H_
