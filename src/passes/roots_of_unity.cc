#include "src/passes/roots_of_unity.h"

#include <cmath>
#include <utility>

namespace kiln::passes {

using hlo::Literal;
using hlo::PrimitiveType;
using hlo::Shape;

std::complex<double> RootOfUnity(int64_t k, int64_t n, bool inverse) {
  k %= n;
  const double sign = inverse ? 1 : -1;
  if (k == 0) return {1, 0};
  if (2 * k == n) return {-1, 0};
  if (4 * k == n) return {0, sign};
  if (4 * k == 3 * n) return {0, -sign};
  const long double angle = 2 * acosl(-1.0L) * static_cast<long double>(k) / static_cast<long double>(n);
  return {static_cast<double>(cosl(angle)), sign * static_cast<double>(sinl(angle))};
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
  for (int64_t k = 0; k < n; ++k) roots[k] = RootOfUnity(k, n, inverse);
  std::vector<std::complex<double>> table;
  table.reserve(rows * columns);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) table.push_back(roots[r * c % n]);
  }
  return ComplexLiteral(type, table).Reshaped(Shape(type, {rows, columns}));
}

std::vector<std::complex<double>> Chirp(int64_t n, bool inverse) {
  std::vector<std::complex<double>> chirp(n);
  // k^2 modulo 2 n, by differences.
  int64_t square = 0;
  for (int64_t k = 0; k < n; ++k) {
    chirp[k] = RootOfUnity(square, 2 * n, inverse);
    square = (square + 2 * k + 1) % (2 * n);
  }
  return chirp;
}

void TransformPowerOfTwo(std::vector<std::complex<double>>* values) {
  std::vector<std::complex<double>>& x = *values;
  const size_t n = x.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j |= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  std::vector<std::complex<double>> roots(n / 2);
  for (size_t k = 0; k < n / 2; ++k) {
    roots[k] = RootOfUnity(static_cast<int64_t>(k), static_cast<int64_t>(n), /*inverse=*/false);
  }
  for (size_t size = 2; size <= n; size *= 2) {
    for (size_t start = 0; start < n; start += size) {
      for (size_t k = 0; k < size / 2; ++k) {
        const std::complex<double> a = x[start + k], b = x[start + k + size / 2] * roots[k * (n / size)];
        x[start + k] = a + b;
        x[start + k + size / 2] = a - b;
      }
    }
  }
}

}  // namespace kiln::passes
