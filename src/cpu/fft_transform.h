// Fourier transforms that the compiler itself needs, by the steps that programs run.
#ifndef KILN_CPU_FFT_TRANSFORM_H_
#define KILN_CPU_FFT_TRANSFORM_H_

#include <complex>
#include <vector>

namespace kiln::cpu {

// The forward transform of `values`, of which there is at least one, on this thread. The size has no prime factor above
// kFftLargestRadix: others need a table that is made by this function.
std::vector<std::complex<double>> Transformed(const std::vector<std::complex<double>>& values);

}  // namespace kiln::cpu

#endif  // KILN_CPU_FFT_TRANSFORM_H_
