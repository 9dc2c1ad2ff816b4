// Steps of Fourier transforms for vectors that every processor has.
#if defined(__x86_64__)
// Of few processors there: code that is short rather than fast.
#define KILN_FFT_SHORT 1
#endif
#include "src/cpu/fft_kernels_template.h"

namespace kiln::cpu {

const FftKernels& FftKernels128() { return kFftKernels<16>; }

}  // namespace kiln::cpu
