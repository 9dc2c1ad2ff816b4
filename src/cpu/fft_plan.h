// How a Fourier transform is computed: phases of steps over units of work that fit into a cache. No code yet.
//
// All of it are Stockham passes: a pass of radix R reads R elements ("legs") that lie n / R apart, multiplies them by
// roots of unity, transforms them within registers, and writes them so that the last pass leaves all in order. Lanes
// run:
// - along one row, where passes before made groups of neighbours that are multiplied by successive roots,
// - over columns, for dimensions that are not the last,
// - over rows, which are transposed block by block on their way into the scratch and out of it, where they are short.
// A long row is a matrix of which first the columns and then the rows are transformed (four steps), all in the result.
// Lengths with a large prime factor become a convolution of a smooth length (Bluestein), whose transforms are in four
// steps where rows are long. An inverse transform counts
// legs backwards and takes conjugate roots. A real transform of even length is a complex one of half the length.
#ifndef KILN_CPU_FFT_PLAN_H_
#define KILN_CPU_FFT_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/cpu/fft_step.h"
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
    kPrimeRoots,     // w^k, w the root of order a, as [re, im][k < a]
  };
  Kind kind = kTwiddles;
  bool by_row = false;   // of the first four: as [k][r][re, im]
  bool inverse = false;  // conjugates, and of twiddles r is a - r
  int64_t a = 0, b = 0, c = 0;

  // The same for equal tables.
  std::string Key() const;
};

// The numbers of a table.
std::vector<double> FftTableValues(const FftTable& table);

struct FftPhase {
  FftUnits units;  // with what the plan says of all of them (FftPlan::UnitsOf)
  std::vector<FftStep> steps;
  int64_t scratch_numbers = 0;  // of each of two arrays, for each of those that are together
  double nanoseconds = 0;       // of all units on one thread
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
  // Each slot is one thread's.
  int64_t slots = 1;
  int64_t slot_numbers = 0;
  int64_t temporary_numbers = 0;  // of FftBuffer::kTemporary
  int64_t other_numbers = 0;      // of FftBuffer::kOther
  double nanoseconds = 0;

  int64_t ScratchBytes() const;
  // Whether the result may be the operand's memory: every unit has read all that it reads there before it writes.
  bool MayRunInPlace() const;
  // All that a phase's units say.
  FftUnits UnitsOf(const FftPhase& phase) const;
  // Where they stand in the scratch memory, in bytes.
  int64_t OffsetOf(FftBuffer buffer, const FftPhase& phase) const;
};

// The plan for an fft instruction; its arrays are not empty.
FftPlan PlanFft(const hlo::Instruction& fft);

}  // namespace kiln::cpu

#endif  // KILN_CPU_FFT_PLAN_H_
