#ifndef KILN_PASSES_FFT_DIMENSIONS_H_
#define KILN_PASSES_FFT_DIMENSIONS_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Dimensions of one element are no part of a transform, which is the same without them: FFT and IFFT of [n, 1] are
// those of [n]. Of transforms from or to real numbers the last dimension stays, since it changes its size.
absl::StatusOr<bool> DropFftDimensions(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_FFT_DIMENSIONS_H_
