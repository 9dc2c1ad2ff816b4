#include "src/passes/roots_of_unity.h"

#include <cmath>
#include <utility>

namespace kiln::passes {

RootsOfUnity::RootsOfUnity(int64_t n)
    : n_(n), step_(static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(n))))) {
  const auto root = [n](int64_t k) -> Wide {
    const long double angle = 2 * acosl(-1.0L) * static_cast<long double>(k) / static_cast<long double>(n);
    return {cosl(angle), -sinl(angle)};
  };
  for (int64_t i = 0; i < step_; ++i) fine_.push_back(root(i));
  for (int64_t i = 0; i <= n / step_; ++i) coarse_.push_back(root(i * step_));
}

std::complex<double> RootsOfUnity::operator()(int64_t k) const {
  k %= n_;
  if (k == 0) return {1, 0};
  if (2 * k == n_) return {-1, 0};
  if (4 * k == n_) return {0, -1};
  if (4 * k == 3 * n_) return {0, 1};
  const auto& [a, b] = coarse_[k / step_];
  const auto& [c, d] = fine_[k % step_];
  return {static_cast<double>(a * c - b * d), static_cast<double>(a * d + b * c)};
}

Literal ComplexLiteral(PrimitiveType type, const std::vector<std::complex<double>>& values) {
  Literal literal(Shape(type, {static_cast<int64_t>(values.size())}));
  if (type == PrimitiveType::kC64) {
    auto data = literal.mutable_data<std::complex<float>>();
    for (size_t i = 0; i < values.size(); ++i) data[i] = std::complex<float>(values[i]);
  } else {
    auto data = literal.mutable_data<std::complex<double>>();
    for (size_t i = 0; i < values.size(); ++i) data[i] = values[i];
  }
  return literal;
}

Literal RootTable(PrimitiveType type, int64_t rows, int64_t columns, int64_t n, bool inverse) {
  std::vector<std::complex<double>> roots(n);
  const RootsOfUnity root(n);
  for (int64_t k = 0; k < n; ++k) roots[k] = inverse ? std::conj(root(k)) : root(k);
  std::vector<std::complex<double>> table;
  table.reserve(rows * columns);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) table.push_back(roots[r * c % n]);
  }
  return ComplexLiteral(type, table).Reshaped(Shape(type, {rows, columns}));
}

std::vector<std::complex<double>> Chirp(int64_t n, bool inverse) {
  const RootsOfUnity root(2 * n);
  std::vector<std::complex<double>> chirp(n);
  // k^2 modulo 2 n, by differences.
  int64_t square = 0;
  for (int64_t k = 0; k < n; ++k) {
    chirp[k] = inverse ? std::conj(root(square)) : root(square);
    square = (square + 2 * k + 1) % (2 * n);
  }
  return chirp;
}

std::vector<std::complex<double>> Transformed(std::vector<std::complex<double>> x) {
  const int64_t n = static_cast<int64_t>(x.size());
  const RootsOfUnity root(n);
  std::vector<std::complex<double>> roots, y(n);
  for (int64_t k = 0; k < n; ++k) roots.push_back(root(k));
  for (int64_t s = 1, p = 2; s < n; s *= p) {
    while (n / s % p != 0) ++p;
    for (int64_t start = 0; start < n / p; start += s) {
      for (int64_t k = 0; k < s; ++k) {
        for (int64_t q = 0; q < p; ++q) {
          double re = x[start + k].real(), im = x[start + k].imag();
          for (int64_t r = 1; r < p; ++r) {
            const std::complex<double>& a = x[start + k + r * (n / p)];
            const std::complex<double>& w = roots[(k + q * s) * r % (p * s) * (n / (p * s))];
            re += a.real() * w.real() - a.imag() * w.imag();
            im += a.real() * w.imag() + a.imag() * w.real();
          }
          y[start * p + k + q * s] = {re, im};
        }
      }
    }
    x.swap(y);
  }
  return x;
}

}  // namespace kiln::passes
