#ifndef KILN_PASSES_FFT_EXPANDER_H_
#define KILN_PASSES_FFT_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Fft as matrix products and twiddle factors, for targets without code for transforms. A length is split into factors
// of up to 64, each of them one product with a small table of roots of unity (Cooley and Tukey); a length without such
// factors becomes a convolution of a power of two (Bluestein). Several dimensions go one after the other; real
// transforms are complex ones of which half is kept or made up.
absl::StatusOr<bool> ExpandFfts(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_FFT_EXPANDER_H_
