#ifndef KILN_PASSES_SIDE_EFFECT_ORDER_H_
#define KILN_PASSES_SIDE_EFFECT_ORDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// What acts on the world does so in the order of the program. Chains the instructions with side effects of each
// computation by control edges, in the order in which they stand. First of all passes: later ones keep edges, not
// orders.
absl::StatusOr<bool> OrderSideEffects(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SIDE_EFFECT_ORDER_H_
