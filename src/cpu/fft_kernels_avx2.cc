// Steps of Fourier transforms for AVX2 with FMA. The whole file is compiled for it (see CMakeLists.txt).
#if defined(__AVX2__)

#include "src/cpu/fft_kernels_template.h"

namespace kiln::cpu {

const FftKernels& FftKernels256() { return kFftKernels<32>; }

}  // namespace kiln::cpu

#endif
