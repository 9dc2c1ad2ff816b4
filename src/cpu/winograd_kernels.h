// The transforms of Winograd's convolution (winograd.h), compiled with Kiln once for each vector width.
#ifndef KILN_CPU_WINOGRAD_KERNELS_H_
#define KILN_CPU_WINOGRAD_KERNELS_H_

#include <cstdint>

namespace kiln::cpu {

// A tile: so many results from so many inputs, along each of two dimensions.
inline constexpr int kWinogradResults = 2;
inline constexpr int kWinogradInputs = 4;
inline constexpr int kWinogradElements = kWinogradInputs * kWinogradInputs;

// In bytes: where weights are, by tap and channel, and where they go, by element and channel. Features are neighbours.
struct WinogradWeightStrides {
  int64_t from_row = 0, from_column = 0, from_channel = 0;
  int64_t to_element = 0, to_channel = 0;
};

struct WinogradKernels {
  int64_t lanes = 0;
  // `features` of weights, whole vectors, for so many channels.
  void (*weights)(const char* from, char* to, const WinogradWeightStrides& strides, int64_t channels,
                  int64_t features) = nullptr;
  // `bytes` of channels of one tile, whole vectors, whose inputs are `column` bytes apart in each row.
  void (*whole_inputs)(const char* const* rows, int64_t column, char* to, int64_t to_element, int64_t bytes) = nullptr;
  // The same with a pointer to each input.
  void (*inputs)(const char* const* from, char* to, int64_t to_element, int64_t bytes) = nullptr;
  // `bytes` of features of one tile, to a pointer for each result. Whether all results are finite.
  bool (*results)(const char* from, int64_t from_element, char* const* to, int64_t bytes) = nullptr;
};

// Those for vectors of 64, 32 and 16 bytes (AVX-512, AVX2, NEON); null where this build has none.
const WinogradKernels* WinogradKernels512();
const WinogradKernels* WinogradKernels256();
const WinogradKernels* WinogradKernels128();
// The host's, or null.
const WinogradKernels* FindWinogradKernels();

}  // namespace kiln::cpu

#endif  // KILN_CPU_WINOGRAD_KERNELS_H_
