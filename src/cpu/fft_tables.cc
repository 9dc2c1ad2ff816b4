// The numbers in an FftTable.
#include <complex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/cpu/fft_plan.h"
#include "src/passes/roots_of_unity.h"

namespace kiln::cpu {
namespace {

using Number = std::complex<double>;

std::vector<Number> ChirpSpectrum(int64_t n, int64_t size) {
  const std::vector<Number> chirp = passes::Chirp(n, /*inverse=*/false);
  std::vector<Number> kernel(size);
  for (int64_t k = 0; k < n; ++k)
    kernel[k] = kernel[(size - k) % size] = std::conj(chirp[k]) / static_cast<double>(size);
  return passes::Transformed(std::move(kernel));
}

// All real parts, then all imaginary ones; or in turns.
std::vector<double> Laid(const std::vector<Number>& numbers, bool by_row) {
  const size_t n = numbers.size();
  std::vector<double> values(2 * n);
  for (size_t i = 0; i < n; ++i) {
    values[by_row ? 2 * i : i] = numbers[i].real();
    values[by_row ? 2 * i + 1 : n + i] = numbers[i].imag();
  }
  return values;
}

}  // namespace

std::string FftTable::Key() const { return absl::StrCat("fft.", static_cast<int>(kind), ".", a, ".", b, ".", c); }

std::vector<double> FftTableValues(const FftTable& table) {
  const int64_t a = table.a, b = table.b, c = table.c;
  std::vector<double> values;
  std::vector<Number> numbers;
  switch (table.kind) {
    case FftTable::kTwiddles: {
      const passes::RootsOfUnity roots(a * b);
      for (int64_t r = 1; r < a; ++r) {
        for (int64_t k = 0; k < b; ++k) values.push_back(roots(r * k).real());
        for (int64_t k = 0; k < b; ++k) values.push_back(roots(r * k).imag());
      }
      return values;
    }
    case FftTable::kTwiddlesByRow: {
      const passes::RootsOfUnity roots(a * b);
      for (int64_t k = 0; k < b; ++k) {
        for (int64_t r = 1; r < a; ++r) numbers.push_back(roots(r * k));
      }
      return Laid(numbers, true);
    }
    case FftTable::kHalfTurns:
    case FftTable::kHalfTurnsByRow: {
      const passes::RootsOfUnity roots(2 * a);
      for (int64_t k = 0; k <= a / 2; ++k) numbers.push_back(roots(k));
      return Laid(numbers, table.kind == FftTable::kHalfTurnsByRow);
    }
    case FftTable::kChirp:
    case FftTable::kChirpByRow:
      return Laid(passes::Chirp(a, /*inverse=*/false), table.kind == FftTable::kChirpByRow);
    case FftTable::kChirpSpectrum:
    case FftTable::kChirpSpectrumByRow:
      return Laid(ChirpSpectrum(a, b), table.kind == FftTable::kChirpSpectrumByRow);
    case FftTable::kStepRoots: {
      const passes::RootsOfUnity roots(a * b);
      for (int64_t k = 0; k < a; ++k) {
        for (int64_t l = 0; l < c; ++l) values.push_back(roots(k * l).real());
        for (int64_t l = 0; l < c; ++l) values.push_back(roots(k * l).imag());
      }
      return values;
    }
    case FftTable::kStepBases: {
      const passes::RootsOfUnity roots(a * b);
      for (int64_t i = 0; i < b / c; ++i) {
        for (int64_t k = 0; k < a; ++k) numbers.push_back(roots(k * (i * c)));
      }
      return Laid(numbers, true);
    }
  }
  return values;
}

}  // namespace kiln::cpu
