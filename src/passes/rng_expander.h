// rng-expander: rng as Philox over the counter that rng-get-and-update-state hands out.
#ifndef KILN_PASSES_RNG_EXPANDER_H_
#define KILN_PASSES_RNG_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// Draws one counter per element, with key 0, and computes in f64: uniform numbers in [a, b) (integers too), or normal
// ones with mean a and deviation b by Box and Muller. Every run draws new numbers, as the state lives with the program.
class RngExpander : public OpExpander {
 public:
  absl::string_view name() const override { return "rng-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_RNG_EXPANDER_H_
