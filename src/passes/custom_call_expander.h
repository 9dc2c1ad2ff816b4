// custom-call-expander: the custom calls TopK, and those that only say where values lie, as ops.
#ifndef KILN_PASSES_CUSTOM_CALL_EXPANDER_H_
#define KILN_PASSES_CUSTOM_CALL_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// Sharding and its kin are the identity on one device; they vanish. TopK gives values and positions along the last
// dimension; a comparator, if it has one, must be "greater".
class CustomCallExpander : public OpExpander {
 public:
  absl::string_view name() const override { return "custom-call-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_CUSTOM_CALL_EXPANDER_H_
