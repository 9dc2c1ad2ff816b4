// rng-bit-generator-expander: rng-bit-generator as integer arithmetic over iotas.
#ifndef KILN_PASSES_RNG_BIT_GENERATOR_EXPANDER_H_
#define KILN_PASSES_RNG_BIT_GENERATOR_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// The numbers and the new state are bit for bit those of XLA on CPU; the default algorithm is Philox. The state holds a
// key and a counter: u64[2] or (Philox only) u64[3], or the same words as u32, the lower half of each first.
class RngBitGeneratorExpander : public OpExpander {
 public:
  absl::string_view name() const override { return "rng-bit-generator-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_RNG_BIT_GENERATOR_EXPANDER_H_
