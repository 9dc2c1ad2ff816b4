// The numbers in an FftTable.
#include <complex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/cpu/fft_plan.h"
#include "src/cpu/fft_transform.h"
#include "src/cpu/vector_lanes.h"
#include "src/passes/roots_of_unity.h"

namespace kiln::cpu {
namespace {

using Number = std::complex<double>;

std::vector<Number> ChirpSpectrum(int64_t n, int64_t size, bool inverse) {
  const std::vector<Number> chirp = passes::Chirp(n, inverse);
  std::vector<Number> kernel(size);
  for (int64_t k = 0; k < n; ++k)
    kernel[k] = kernel[(size - k) % size] = std::conj(chirp[k]) / static_cast<double>(size);
  return Transformed(kernel);
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

std::string FftTable::Key() const {
  return absl::StrCat("fft.", static_cast<int>(kind), by_row ? "r" : "", inverse ? "i." : ".", a, ".", b, ".", c);
}

std::vector<double> FftTableValues(const FftTable& table) {
  const int64_t a = table.a, b = table.b, c = table.c;
  std::vector<Number> numbers;
  // Rows of powers of the root of an order, power(row, column) for columns below `columns`: each laid by itself, or all
  // numbers in turns.
  auto rows_of_roots = [&](int64_t order, int64_t begin, int64_t end, int64_t columns, auto power) {
    const passes::RootsOfUnity roots(order);
    std::vector<double> values;
    for (int64_t row = begin; row < end; ++row) {
      numbers.clear();
      for (int64_t column = 0; column < columns; ++column) {
        const Number root = roots(power(row, column));
        numbers.push_back(table.inverse ? std::conj(root) : root);
      }
      const std::vector<double> laid = Laid(numbers, table.by_row);
      values.insert(values.end(), laid.begin(), laid.end());
    }
    return values;
  };
  switch (table.kind) {
    case FftTable::kTwiddles: {
      auto leg = [&](int64_t r) { return table.inverse ? a - r : r; };
      if (table.by_row) return rows_of_roots(a * b, 0, b, a - 1, [&](int64_t k, int64_t r) { return leg(r + 1) * k; });
      std::vector<double> values = rows_of_roots(a * b, 1, a, b, [&](int64_t r, int64_t k) { return leg(r) * k; });
      // What a vector of few neighbours reads behind them.
      values.resize(values.size() + kVectorBytes / sizeof(float));
      return values;
    }
    case FftTable::kHalfTurns:
      return rows_of_roots(2 * a, 0, 1, a / 2 + 1, [](int64_t, int64_t k) { return k; });
    case FftTable::kChirp:
      return Laid(passes::Chirp(a, table.inverse), table.by_row);
    case FftTable::kChirpSpectrum:
      return Laid(ChirpSpectrum(a, b, table.inverse), table.by_row);
    case FftTable::kStepRoots:
      return rows_of_roots(a * b, 0, a, c, [](int64_t k, int64_t l) { return k * l; });
    case FftTable::kStepBases:
      return rows_of_roots(a * b, 0, b / c, a, [c](int64_t i, int64_t k) { return k * (i * c); });
    case FftTable::kPrimeRoots:
      return rows_of_roots(a, 0, 1, a, [](int64_t, int64_t k) { return k; });
  }
  return {};
}

}  // namespace kiln::cpu
