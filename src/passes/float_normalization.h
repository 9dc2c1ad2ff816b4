// float-normalization: what the program converts from bf16 to f32 is not rounded to bf16 before.
#ifndef KILN_PASSES_FLOAT_NORMALIZATION_H_
#define KILN_PASSES_FLOAT_NORMALIZATION_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Arithmetic, dot and convolution of bf16 whose results the program converts to f32 give those f32 results themselves;
// every other use reads the rounded value. This is all the excess precision that XLA:CPU keeps, whatever it fuses: its
// numbers are met bit for bit by rounding everywhere else, and results do not depend on fusion. Values that the
// program itself rounds (convert to bf16, reduce-precision) stay rounded, and so do f16 and 8-bit floats.
// Functions that XLA's front-end writes out in f32 (erfc and the like) count as such converts.
// Runs before simplification, on the program's own converts.
class FloatNormalization : public Pass {
 public:
  absl::string_view name() const override { return "float-normalization"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_FLOAT_NORMALIZATION_H_
