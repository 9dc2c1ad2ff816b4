// The steps of Fourier transforms, compiled with Kiln once for each vector width.
#ifndef KILN_CPU_FFT_KERNELS_H_
#define KILN_CPU_FFT_KERNELS_H_

#include <cstdint>

#include "src/cpu/fft_step.h"

namespace kiln::cpu {

// Where a step's arrays begin for one unit, and which part of the phase's extent that is.
template <typename T>
struct FftArrays {
  const T* source = nullptr;
  T* destination = nullptr;
  const T *table = nullptr, *bases = nullptr, *prime_roots = nullptr;
  int64_t start = 0, width = 0;
  // The same is done to so many rows, which are so far apart.
  int64_t rows = 1, source_row = 0, destination_row = 0;
};

struct FftKernels {
  template <typename T>
  using Run = void(const FftStep& step, const FftArrays<T>& arrays);
  Run<float>* run_f32;
  Run<double>* run_f64;
};

// For vectors of 64, 32 and 16 bytes: AVX-512, AVX2 with FMA, and what every processor has.
const FftKernels& FftKernels512();
const FftKernels& FftKernels256();
const FftKernels& FftKernels128();

// Radices that have code for each shape of a pass, that have code of their own, and those that share the code for any
// prime. 16 needs 32 vector registers: the functions for 32 bytes do not have it.
inline constexpr int64_t kFftCommonRadices[] = {3, 4, 5, 8, 16};
inline constexpr int64_t kFftRadices[] = {2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16};
inline constexpr int64_t kFftPrimes[] = {17, 19, 23, 29, 31};
inline constexpr int kFftLargestRadix = 31;

// Slots [begin, end) of a phase's units. `description` is FftUnits and so many FftStep, `pointers` the buffers, as far
// as the round is concerned, and then the plan's tables.
inline constexpr char kFftPhaseName[] = "kiln_fft_phase";
void RunFftPhase(const int64_t* description, char* const* pointers, int64_t begin, int64_t end);

}  // namespace kiln::cpu

#endif  // KILN_CPU_FFT_KERNELS_H_
