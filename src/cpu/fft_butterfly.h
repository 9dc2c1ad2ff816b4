// Fourier transforms of a few values in registers, for files that are compiled for one instruction set each.
#ifndef KILN_CPU_FFT_BUTTERFLY_H_
#define KILN_CPU_FFT_BUTTERFLY_H_

#include <cstdint>
#include <numbers>
#include <numeric>

#include "src/cpu/vector_lanes.h"

// Of lambdas.
#define KILN_INLINE_BODY __attribute__((always_inline))
#define KILN_ROLLED _Pragma("clang loop unroll(disable)")
#if KILN_FFT_SHORT
#define KILN_UNROLLED KILN_ROLLED
#else
#define KILN_UNROLLED _Pragma("clang loop unroll(full)")
#endif
#pragma clang fp contract(fast)

namespace kiln::cpu {
namespace {

// Numbers or vectors of them.
template <typename V>
struct Complex {
  V re, im;
};

template <typename V>
KILN_INLINE Complex<V> Sum(Complex<V> x, Complex<V> y) {
  return {x.re + y.re, x.im + y.im};
}

template <typename V>
KILN_INLINE Complex<V> Difference(Complex<V> x, Complex<V> y) {
  return {x.re - y.re, x.im - y.im};
}

template <typename V>
KILN_INLINE Complex<V> Product(Complex<V> x, Complex<V> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

// Of 2 pi k / n, k < n.
struct CircleTable {
  double cosine[16] = {}, sine[16] = {};
  constexpr explicit CircleTable(int n) {
    for (int k = 0; k < n; ++k) {
      // Within half a quarter turn, where few terms do.
      const int quarter = (4 * k + n / 2) / n;
      const long double x = std::numbers::pi_v<long double> / 2 * (4 * k - quarter * n) / n;
      long double c = 0, s = 0, term = 1;
      for (int i = 0; i < 26; term *= x / ++i) (i % 2 ? s : c) += i % 4 < 2 ? term : -term;
      cosine[k] = static_cast<double>(quarter % 2 ? (quarter % 4 == 1 ? -s : s) : (quarter % 4 == 0 ? c : -c));
      sine[k] = static_cast<double>(quarter % 2 ? (quarter % 4 == 1 ? c : -c) : (quarter % 4 == 0 ? s : -s));
    }
  }
};

template <int kSize>
inline constexpr CircleTable kCircle{kSize};

// x exp(-2 pi i k / n).
template <typename T, int kSize, typename V>
KILN_INLINE Complex<V> Turned(Complex<V> x, int k) {
  k %= kSize;
  if (k == 0) return x;
  if (2 * k == kSize) return {-x.re, -x.im};
  if (4 * k == kSize) return {x.im, -x.re};
  if (4 * k == 3 * kSize) return {-x.im, x.re};
  const T cosine = static_cast<T>(kCircle<kSize>.cosine[k]);
  if (8 * k == kSize || 8 * k == 5 * kSize) return {cosine * (x.re + x.im), cosine * (x.im - x.re)};
  if (8 * k == 3 * kSize || 8 * k == 7 * kSize) return {cosine * (x.re - x.im), cosine * (x.im + x.re)};
  return Product(x, {V{} + cosine, V{} - static_cast<T>(kCircle<kSize>.sine[k])});
}

// By sums and differences of opposite values.
template <typename T, int kSize, typename V>
KILN_INLINE void OddPrime(Complex<V>* x) {
  constexpr int kHalf = kSize / 2;
  Complex<V> sums[kHalf], differences[kHalf];
  const Complex<V> first = x[0];
  KILN_UNROLLED for (int j = 0; j < kHalf; ++j) {
    sums[j] = Sum(x[j + 1], x[kSize - 1 - j]);
    differences[j] = Difference(x[j + 1], x[kSize - 1 - j]);
    x[0] = Sum(x[0], sums[j]);
  }
  KILN_UNROLLED for (int k = 1; k <= kHalf; ++k) {
    Complex<V> even = first, odd = {V{}, V{}};
    KILN_UNROLLED for (int j = 0; j < kHalf; ++j) {
      const T cosine = static_cast<T>(kCircle<kSize>.cosine[(j + 1) * k % kSize]);
      const T sine = static_cast<T>(kCircle<kSize>.sine[(j + 1) * k % kSize]);
      even = {even.re + cosine * sums[j].re, even.im + cosine * sums[j].im};
      odd = {odd.re + sine * differences[j].re, odd.im + sine * differences[j].im};
    }
    x[k] = {even.re + odd.im, even.im - odd.re};
    x[kSize - k] = {even.re - odd.im, even.im + odd.re};
  }
}

// The factor to take out first.
constexpr int FactorOf(int n) {
  if (n % 4 == 0 && n > 4) return 4;
  int p = 2;
  while (n % p != 0) ++p;
  return p;
}

// The forward transform of the values that `load` gives in order, each to `store`: as late and as early as can be, so
// that few of them are in registers.
template <typename T, int kSize, typename V, typename Load, typename Store>
KILN_INLINE void Through(const Load& load, const Store& store) {
  constexpr int p = FactorOf(kSize), q = kSize / p;
  if constexpr (kSize == 2) {
    const Complex<V> first = load(0), second = load(1);
    store(0, Sum(first, second));
    store(1, Difference(first, second));
  } else if constexpr (q == 1) {
    Complex<V> x[kSize];
    KILN_UNROLLED for (int i = 0; i < kSize; ++i) x[i] = load(i);
    OddPrime<T, kSize>(x);
    KILN_UNROLLED for (int i = 0; i < kSize; ++i) store(i, x[i]);
  } else {
    // Coprime factors need no roots between them: elements are numbered by their remainders then.
    constexpr bool kCoprime = std::gcd(p, q) == 1;
    Complex<V> inner[q][p];
    KILN_UNROLLED for (int j = 0; j < q; ++j) {
      Through<T, p, V>([&](int i) KILN_INLINE_BODY { return load(kCoprime ? (i * q + j * p) % kSize : i * q + j); },
                       [&](int i, Complex<V> x)
                           KILN_INLINE_BODY { inner[j][i] = kCoprime ? x : Turned<T, kSize>(x, i * j); });
    }
    KILN_UNROLLED for (int i = 0; i < p; ++i) {
      Through<T, q, V>([&](int j) KILN_INLINE_BODY { return inner[j][i]; },
                       [&](int k, Complex<V> x) KILN_INLINE_BODY {
                         KILN_UNROLLED for (int to = 0; to < kSize; ++to) {
                           if (to % p == i && k == (kCoprime ? to % q : to / p)) store(to, x);
                         }
                       });
    }
  }
}

template <typename T, int kSize, typename V>
KILN_INLINE void Butterfly(Complex<V>* x) {
  Through<T, kSize, V>([&](int i) KILN_INLINE_BODY { return x[i]; },
                       [&](int i, Complex<V> value) KILN_INLINE_BODY { x[i] = value; });
}

// The same of a prime that is not known before, with its roots as [re, im][k < p].
template <typename T, typename V>
KILN_INLINE void PrimeButterfly(Complex<V>* x, int p, const T* roots) {
  const int half = p / 2;
  Complex<V> sums[15], differences[15];
  const Complex<V> first = x[0];
  Complex<V> total = first;
  for (int j = 0; j < half; ++j) {
    sums[j] = Sum(x[j + 1], x[p - 1 - j]);
    differences[j] = Difference(x[j + 1], x[p - 1 - j]);
    total = Sum(total, sums[j]);
  }
  x[0] = total;
  // Two results at a time, the last alone where they are odd in number.
  for (int k = 1; k <= half; k += 2) {
    Complex<V> even[2] = {first, first}, odd[2] = {};
    const int step[2] = {k, k < half ? k + 1 : k};
    int at[2] = {0, 0};
    for (int j = 0; j < half; ++j) {
      KILN_UNROLLED for (int i = 0; i < 2; ++i) {
        at[i] += step[i];
        at[i] -= at[i] >= p ? p : 0;
        const T cosine = roots[at[i]], sine = -roots[p + at[i]];
        even[i] = {even[i].re + cosine * sums[j].re, even[i].im + cosine * sums[j].im};
        odd[i] = {odd[i].re + sine * differences[j].re, odd[i].im + sine * differences[j].im};
      }
    }
    KILN_UNROLLED for (int i = 0; i < 2; ++i) {
      x[step[i]] = {even[i].re + odd[i].im, even[i].im - odd[i].re};
      x[p - step[i]] = {even[i].re - odd[i].im, even[i].im + odd[i].re};
    }
  }
}

}  // namespace
}  // namespace kiln::cpu

#endif  // KILN_CPU_FFT_BUTTERFLY_H_
