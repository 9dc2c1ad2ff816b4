// Steps of Fourier transforms for vectors that every processor has.
#include "src/cpu/fft_kernels_template.h"

namespace kiln::cpu {

const FftKernels& FftKernels128() { return kFftKernels<16>; }

}  // namespace kiln::cpu
