// The numbers in an FftTable.
#include <cmath>
#include <complex>

#include "absl/strings/str_cat.h"
#include "src/cpu/fft_plan.h"

namespace kiln::cpu {
namespace {

using Number = std::complex<double>;

// exp(-2 pi i k / n), each part rounded once; exact at quarter turns. Two short tables of more digits, of which every root
// is a product.
class Roots {
 public:
  explicit Roots(int64_t n) : n_(n), step_(static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(n))))) {
    for (int64_t i = 0; i < step_; ++i) fine_.push_back(Compute(i));
    for (int64_t i = 0; i <= n / step_; ++i) coarse_.push_back(Compute(i * step_));
  }

  Number operator()(int64_t k) const {
    k %= n_;
    if (k == 0) return {1, 0};
    if (2 * k == n_) return {-1, 0};
    if (4 * k == n_) return {0, -1};
    if (4 * k == 3 * n_) return {0, 1};
    const Wide &a = coarse_[k / step_], &b = fine_[k % step_];
    return {static_cast<double>(a.re * b.re - a.im * b.im), static_cast<double>(a.re * b.im + a.im * b.re)};
  }

 private:
  struct Wide {
    long double re, im;
  };

  Wide Compute(int64_t k) const {
    const long double angle = 2 * acosl(-1.0L) * static_cast<long double>(k) / static_cast<long double>(n_);
    return {cosl(angle), -sinl(angle)};
  }

  const int64_t n_, step_;
  std::vector<Wide> fine_, coarse_;
};

Number Product(const Number& a, const Number& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// exp(-pi i k^2 / n).
std::vector<Number> Chirp(int64_t n) {
  const Roots roots(2 * n);
  std::vector<Number> chirp;
  // k^2 modulo 2 n, by differences.
  for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k) chirp.push_back(roots(square));
  return chirp;
}

// The transform of a length of small prime factors.
std::vector<Number> Transform(std::vector<Number> x) {
  const int64_t n = static_cast<int64_t>(x.size());
  const Roots root(n);
  std::vector<Number> roots, y(n);
  for (int64_t k = 0; k < n; ++k) roots.push_back(root(k));
  for (int64_t s = 1, p = 2; s < n; s *= p) {
    while (n / s % p != 0) ++p;
    for (int64_t start = 0; start < n / p; start += s) {
      for (int64_t k = 0; k < s; ++k) {
        for (int64_t q = 0; q < p; ++q) {
          Number sum = x[start + k];
          for (int64_t r = 1; r < p; ++r) {
            sum += Product(x[start + k + r * (n / p)], roots[(k + q * s) * r % (p * s) * (n / (p * s))]);
          }
          y[start * p + k + q * s] = sum;
        }
      }
    }
    x.swap(y);
  }
  return x;
}

std::vector<Number> ChirpSpectrum(int64_t n, int64_t size) {
  const std::vector<Number> chirp = Chirp(n);
  std::vector<Number> kernel(size);
  for (int64_t k = 0; k < n; ++k) kernel[k] = kernel[(size - k) % size] = std::conj(chirp[k]) / static_cast<double>(size);
  return Transform(std::move(kernel));
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
      const Roots roots(a * b);
      for (int64_t r = 1; r < a; ++r) {
        for (int64_t k = 0; k < b; ++k) values.push_back(roots(r * k).real());
        for (int64_t k = 0; k < b; ++k) values.push_back(roots(r * k).imag());
      }
      return values;
    }
    case FftTable::kTwiddlesByRow: {
      const Roots roots(a * b);
      for (int64_t k = 0; k < b; ++k) {
        for (int64_t r = 1; r < a; ++r) numbers.push_back(roots(r * k));
      }
      return Laid(numbers, true);
    }
    case FftTable::kHalfTurns:
    case FftTable::kHalfTurnsByRow: {
      const Roots roots(2 * a);
      for (int64_t k = 0; k <= a / 2; ++k) numbers.push_back(roots(k));
      return Laid(numbers, table.kind == FftTable::kHalfTurnsByRow);
    }
    case FftTable::kChirp:
    case FftTable::kChirpByRow:
      return Laid(Chirp(a), table.kind == FftTable::kChirpByRow);
    case FftTable::kChirpSpectrum:
    case FftTable::kChirpSpectrumByRow:
      return Laid(ChirpSpectrum(a, b), table.kind == FftTable::kChirpSpectrumByRow);
    case FftTable::kStepRoots: {
      const Roots roots(a * b);
      for (int64_t k = 0; k < a; ++k) {
        for (int64_t l = 0; l < c; ++l) values.push_back(roots(k * l).real());
        for (int64_t l = 0; l < c; ++l) values.push_back(roots(k * l).imag());
      }
      return values;
    }
    case FftTable::kStepBases: {
      const Roots roots(a * b);
      for (int64_t i = 0; i < b / c; ++i) {
        for (int64_t k = 0; k < a; ++k) numbers.push_back(roots(k * (i * c)));
      }
      return Laid(numbers, true);
    }
  }
  return values;
}

}  // namespace kiln::cpu
