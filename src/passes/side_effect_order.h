// side-effect-order: what acts on the world does so in the order of the program.
#ifndef KILN_PASSES_SIDE_EFFECT_ORDER_H_
#define KILN_PASSES_SIDE_EFFECT_ORDER_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Chains the instructions with side effects of each computation by control edges, in the order in which they stand.
// First of all passes: later ones keep edges, not orders.
class SideEffectOrder : public Pass {
 public:
  absl::string_view name() const override { return "side-effect-order"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_SIDE_EFFECT_ORDER_H_
