// dimension-size-expander: get- and set-dimension-size of dimensions whose size is fixed.
#ifndef KILN_PASSES_DIMENSION_SIZE_EXPANDER_H_
#define KILN_PASSES_DIMENSION_SIZE_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// The size of a fixed dimension is a constant, and setting it to that constant changes nothing. Dimensions that are
// bounded, and sizes that the program computes, are left.
class DimensionSizeExpander : public OpExpander {
 public:
  absl::string_view name() const override { return "dimension-size-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_DIMENSION_SIZE_EXPANDER_H_
