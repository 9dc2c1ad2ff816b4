// Which radices a transform is made of, and what it costs.
#ifndef KILN_CPU_FFT_RADICES_H_
#define KILN_CPU_FFT_RADICES_H_

#include <cstdint>
#include <vector>

namespace kiln::cpu {

// Of the passes of one transform. Costs are cycles of one core per transform of one row or, with columns, per
// transform of as many columns as a vector has lanes.
struct FftRadices {
  std::vector<int64_t> radices;  // in order; none where the length has a large prime factor, or is 1
  double cycles = 0;
};

// The largest power of two that is at most `vector_lanes` and `extent`; at least 1.
int64_t FftLanes(int64_t vector_lanes, int64_t extent);

// A radix of the code for any prime.
bool IsFftPrime(int64_t radix);

// True when `length` has prime factors that passes exist for alone.
bool IsSmooth(int64_t length);

// Lanes run along the transform.
FftRadices RowRadices(int64_t length, int64_t vector_lanes);
// Lanes are other transforms, which fill whole vectors or less.
FftRadices ColumnRadices(int64_t length, int64_t vector_lanes, bool whole = true);

// The length of the convolution that a transform of another length becomes.
int64_t ConvolutionLength(int64_t length, bool columns, int64_t vector_lanes);

}  // namespace kiln::cpu

#endif  // KILN_CPU_FFT_RADICES_H_
