#ifndef KILN_PASSES_FLOAT_NORMALIZATION_H_
#define KILN_PASSES_FLOAT_NORMALIZATION_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// What the program converts from bf16 to f32 is not rounded to bf16 before. Arithmetic, dot and convolution of bf16
// whose results the program converts to f32 give those f32 results themselves; every other use reads the rounded value.
// This is all the excess precision that XLA:CPU keeps, whatever it fuses: its numbers are met bit for bit by rounding
// everywhere else, and results do not depend on fusion. Values that the program itself rounds (convert to bf16,
// reduce-precision) stay rounded, and so do f16 and 8-bit floats. Functions that XLA's front-end writes out in f32
// (erfc and the like) count as such converts. Runs before simplification, on the program's own converts.
absl::StatusOr<bool> NormalizeFloats(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_FLOAT_NORMALIZATION_H_
