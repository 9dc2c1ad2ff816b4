// What a phase of a Fourier transform does (fft_plan.h), as data that functions compiled with Kiln read while it runs:
// structs of 64-bit numbers alone, which stand among a program's constants. Sizes and strides are in numbers.
#ifndef KILN_CPU_FFT_STEP_H_
#define KILN_CPU_FFT_STEP_H_

#include <cstdint>

namespace kiln::cpu {

// What all threads share is kTemporary and kOther.
enum class FftBuffer : int64_t { kInput, kOutput, kTemporary, kOther, kScratch0, kScratch1 };
inline constexpr int kFftBuffers = 6;

// How code sees an array.
struct FftSide {
  int64_t plane = 1;  // from a real part to its imaginary part; 0 where there are real parts alone
  int64_t pitch = 2;  // from one element of a transform to the next

  bool interleaved() const { return plane == 1; }
  // From one lane to the next.
  int64_t step() const { return interleaved() ? 2 : 1; }
};

// Lanes run over columns, or along a row.
enum class FftOperation : int64_t {
  // Legs, roots, a transform of `radix` within registers.
  kPass,
  // The first `length` elements, times a table's; or, of a table for `length` elements, those of the phase's extent that
  // the unit is.
  kCopy,
  kCopyOfUnit,
  // Between a real transform of length 2 m and a complex one of length m, elements k and m - k together. Forward, and
  // for rows alone of the part of the phase's extent that the unit is, or backward.
  kPairs,
  kPairsOfUnit,
  kPairsToReal,
  // The latter before a complex transform of length rows x columns: some of its columns.
  kUnpairedColumns,
  // The conjugate second half of a spectrum of odd length, whose first element is made real as well; in place, along
  // rows or columns.
  kMirror,
  // Rows to columns of the scratch, or back; of real rows the real parts alone.
  kToColumns,
  kToRows,
  // Elements from `begin` to `length` become zero.
  kZero,
};

struct FftStep {
  FftOperation operation = FftOperation::kPass;
  int64_t columns = 0;  // lanes run over them
  FftBuffer from = FftBuffer::kScratch0, to = FftBuffer::kScratch0;
  int64_t from_begin = 0, to_begin = 0;  // behind where the unit begins
  FftSide source, destination;
  int64_t table = -1;  // of those of the plan
  int64_t bases = -1;  // of step roots: a table of which each block of columns has a part
  int64_t bases_per_block = 0;
  int64_t prime_roots = -1;  // of a radix that is a large prime
  int64_t length = 0;        // of the transform; m; of rows that become columns
  int64_t radix = 1;
  int64_t neighbours = 1;    // the product of the radices before
  int64_t inverse = 0;       // legs are counted backwards
  int64_t step_roots = 0;    // of a large transform's rows, as columns, in the first pass: roots times bases
  int64_t extent = 0;        // how many lanes are meant; 0: the unit's columns
  int64_t vector_bytes = 0;  // of the code that is meant
  int64_t begin = 0;         // of zeros
  int64_t row = 0;           // from one row to the next; with kUnpairedColumns the number of columns
  double scale = 1;
};

// Where units begin in a buffer.
struct FftStrides {
  int64_t round = 0, outer = 0, block = 0;
};

// Units are [outer][blocks of an extent], or several of `outer` where there are no blocks. All are independent of each
// other.
struct FftUnits {
  int64_t outer = 1;
  int64_t together = 1;    // of `outer`, in one unit
  int64_t extent = 1;      // what is divided into blocks: columns, or rows that are transposed
  int64_t block = 1;       // the last block has the remainder as well, up to twice as much
  int64_t overlapped = 0;  // all blocks are of `block`: the last one begins earlier instead
  int64_t slots = 1;       // what threads share, each with scratch of its own
  int64_t slot_numbers = 0;
  int64_t row_numbers = 0;  // of a slot, for each of those that are together
  int64_t is_double = 0;
  int64_t steps = 0;
  FftStrides strides[kFftBuffers];

  int64_t blocks() const {
    if (overlapped) return (extent + block - 1) / block;
    return extent / block > 1 ? extent / block : 1;
  }
  int64_t count() const { return (outer + together - 1) / together * blocks(); }
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_FFT_STEP_H_
