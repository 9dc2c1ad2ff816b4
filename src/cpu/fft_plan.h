// How a Fourier transform is computed: phases of steps over units of work that fit into a cache. No code yet.
//
// All of it are Stockham passes: a pass of radix R reads R elements ("legs") that lie n / R apart, multiplies them by
// roots of unity, transforms them within registers, and writes them so that the last pass leaves all in order. Lanes
// run:
// - along one row, where passes before made groups of neighbours that are multiplied by successive roots,
// - over columns, for dimensions that are not the last,
// - over rows, which are transposed block by block on their way into the scratch and out of it, where they are short.
// A long row is a matrix of which first the columns and then the rows are transformed (four steps), all in the result.
// Lengths with a large prime factor become a convolution of a smooth length (Bluestein). An inverse transform is a
// forward one with real and imaginary parts swapped on both sides. A real transform of even length is a complex one of
// half the length.
#ifndef KILN_CPU_FFT_PLAN_H_
#define KILN_CPU_FFT_PLAN_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "src/hlo/instruction.h"

namespace kiln::cpu {

// A table of numbers of the transform's precision, made together with the executable.
struct FftTable {
  enum Kind {
    kTwiddles,       // w^(r k), w the root of order a * b, as [r = 1 .. a - 1][re, im][k < b]: radix a, b neighbours
    kHalfTurns,      // w^k, w the root of order 2 a, as [re, im][k <= a / 2]
    kChirp,          // exp(-pi i k^2 / a) as [re, im][k < a]
    kChirpSpectrum,  // the transform of length b of the conjugate chirp of length a, divided by b, as [re, im][b]
    kStepRoots,      // w^(k l), w the root of order a * b, as [k < a][re, im][l < c]
    kStepBases,      // w^(k i c) as [i < b / c][k < a][re, im]
  };
  Kind kind = kTwiddles;
  bool by_row = false;  // of the first four: as [k][r][re, im]
  int64_t a = 0, b = 0, c = 0;

  // The same for equal tables.
  std::string Key() const;
};

// The numbers of a table.
std::vector<double> FftTableValues(const FftTable& table);

// How code sees an array.
struct FftSide {
  enum Form {
    kSplit,        // real parts, and imaginary parts `plane` further on
    kInterleaved,  // complex numbers
    kReal,         // no imaginary parts
  };
  Form form = kSplit;
  bool swapped = false;  // the imaginary part stands for the real one and the other way round
  int64_t plane = 0;
  int64_t pitch = 1;  // from one element of a transform to the next, in elements; 1 where lanes run along it
};

// Legs, roots, a transform of `radix` within registers. With radix 1 elements are copied or multiplied.
struct FftPass {
  enum Lanes { kAlong, kAcrossGroups, kColumns };
  Lanes lanes_run = kAlong;
  int64_t length = 0;  // of the transform; with radix 1 the number of elements
  int64_t radix = 1;
  int64_t neighbours = 1;      // the product of the radices before
  bool twiddles = false;       // a table, by row where lanes are columns
  bool step_twiddles = false;  // of a large transform's rows, as columns, in the first pass: roots times bases
  double scale = 1;
  FftSide source, destination;
};

// Between a real transform of length 2 m and a complex one of length m, elements k and m - k together.
struct FftPairs {
  bool to_real = false;
  bool columns = false;
  bool pieces = false;  // of the unit's extent instead of all pairs
  int64_t half = 0;     // m
  FftSide source, destination;
};

// What that is before a complex transform of length rows x columns that becomes a real one: some of its columns.
struct FftUnpairedColumns {
  int64_t rows = 0, columns = 0;
  FftSide source, destination;
};

// The conjugate second half of a spectrum of odd length, of whose first half the destination's real first element is
// made real as well; in place.
struct FftMirror {
  int64_t length = 0;
  FftSide side;
};

// Rows to columns of the scratch, or back.
struct FftTransposition {
  bool into_rows = false;
  int64_t count = 0;   // rows, a multiple of the lanes
  int64_t length = 0;  // elements of a row
  int64_t row = 0;     // from one row to the next, in numbers
  double scale = 1;
  FftSide rows;     // interleaved, pitch 1
  FftSide columns;  // split
};

// Elements from `begin` to `end` become zero.
struct FftZero {
  int64_t begin = 0, end = 0;
  FftSide side;  // split
};

enum class FftBuffer { kInput, kOutput, kTemporary, kScratch0, kScratch1 };
inline constexpr int kFftBuffers = 5;

struct FftStep {
  std::variant<FftPass, FftPairs, FftUnpairedColumns, FftMirror, FftTransposition, FftZero> code;
  FftBuffer source = FftBuffer::kScratch0, destination = FftBuffer::kScratch0;
  int64_t source_begin = 0, destination_begin = 0;  // in numbers, behind where the unit begins
  int table = -1;                                   // in FftPlan::tables
  int bases = -1;               // of step twiddles: a table of which each block of columns has a part
  int64_t bases_per_block = 0;  // in numbers
  int lanes = 1;
};

// Where units begin in a buffer, in numbers (of which a complex one has two where it is not split).
struct FftStrides {
  int64_t round = 0, outer = 0, block = 0;
};

// Units are [outer][blocks of an extent]. All are independent of each other.
struct FftPhase {
  int64_t outer = 1;
  int64_t extent = 1;       // what is divided into blocks: columns, or rows that are transposed
  int64_t block = 1;        // the last block has the remainder as well, up to twice as much
  bool overlapped = false;  // all blocks are of `block`: the last one begins earlier instead
  FftStrides strides[kFftBuffers];
  std::vector<FftStep> steps;
  double nanoseconds = 0;  // of all units on one thread

  int64_t blocks() const;
};

// Phases one after the other, all of it once per round.
struct FftGroup {
  int64_t rounds = 1;
  std::vector<FftPhase> phases;
};

struct FftPlan {
  bool is_double = false;
  std::vector<FftTable> tables;
  std::vector<FftGroup> groups;
  // Each slot is one thread's: two arrays of scratch_numbers.
  int64_t slots = 1;
  int64_t scratch_numbers = 0;
  int64_t temporary_numbers = 0;  // of FftBuffer::kTemporary
  double nanoseconds = 0;

  int64_t ScratchBytes() const;
  // Where they stand in the scratch memory, in bytes.
  int64_t OffsetOf(FftBuffer buffer) const;
};

// The plan for an fft instruction; its arrays are not empty.
FftPlan PlanFft(const hlo::Instruction& fft);

}  // namespace kiln::cpu

#endif  // KILN_CPU_FFT_PLAN_H_
