// Steps of Fourier transforms for AVX-512. The whole file is compiled for it (see CMakeLists.txt).
#if defined(__AVX512F__)

#include "src/cpu/fft_kernels_template.h"

namespace kiln::cpu {

const FftKernels& FftKernels512() { return kFftKernels<64>; }

}  // namespace kiln::cpu

#endif
