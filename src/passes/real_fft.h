#ifndef KILN_PASSES_REAL_FFT_H_
#define KILN_PASSES_REAL_FFT_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Transforms of real numbers that were made complex as transforms to half a spectrum, of which the other half is the
// mirror image. FFT(convert(x)), in any number of dimensions: half the work for even lengths, and what reads the
// result reads half as much. Of odd lengths those that become convolutions.
absl::StatusOr<bool> HalveRealFfts(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_REAL_FFT_H_
