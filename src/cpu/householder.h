// Householder reflectors H = I - tau v v^T of real matrices, v being 1 in its first place: of stacks of small matrices
// in lanes, and of one matrix with rows in vectors, where a block of reflectors is applied as I - V T V^T. As LAPACK's
// geqrf and orgqr; columns are divided by their largest element, so that squares neither overflow nor vanish.
#ifndef KILN_CPU_HOUSEHOLDER_H_
#define KILN_CPU_HOUSEHOLDER_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "src/cpu/lane_matrices.h"
#include "src/cpu/row_matrices.h"
#include "src/cpu/vector_lanes.h"

namespace kiln::cpu {

template <typename T>
KILN_INLINE Vector<T> Magnitude(Vector<T> x) {
  return Choose<T>(x < 0, -x, x);
}

// H with column j of the rows from j on, behind their first, takes off the columns from `from` on.
template <typename T>
KILN_INLINE void ReflectLanes(Vector<T>* a, int64_t m, int64_t n, int64_t j, Vector<T> tau, int64_t from) {
  for (int64_t c = from; c < n; ++c) {
    Vector<T> share = a[j * n + c];
    for (int64_t i = j + 1; i < m; ++i) share += a[i * n + j] * a[i * n + c];
    share *= tau;
    a[j * n + c] -= share;
    for (int64_t i = j + 1; i < m; ++i) a[i * n + c] -= a[i * n + j] * share;
  }
}

template <typename T>
KILN_INLINE void FactorizeQrLanes(Vector<T>* a, int64_t m, int64_t n, Vector<T>* taus) {
  const Vector<T> one = Splat(T{1});
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    Vector<T> scale = {};
    for (int64_t i = j; i < m; ++i) {
      const Vector<T> size = Magnitude<T>(a[i * n + j]);
      scale = Choose<T>(size > scale, size, scale);
    }
    scale = Choose<T>(scale == 0, one, scale);
    const Vector<T> alpha = a[j * n + j] / scale;
    Vector<T> tail = {};
    for (int64_t i = j + 1; i < m; ++i) {
      Vector<T>& x = a[i * n + j];
      x /= scale;
      tail += x * x;
    }
    const LaneMask<T> trivial = tail == 0;
    const Vector<T> norm = __builtin_elementwise_sqrt(tail + alpha * alpha);
    const Vector<T> beta = Choose<T>(alpha < 0, norm, -norm);  // of the sign that keeps alpha - beta from cancelling
    taus[j] = Choose<T>(trivial, Vector<T>{}, (beta - alpha) / Choose<T>(trivial, one, beta));
    const Vector<T> factor = one / Choose<T>(trivial, one, alpha - beta);
    for (int64_t i = j + 1; i < m; ++i) a[i * n + j] *= factor;
    a[j * n + j] = Choose<T>(trivial, alpha, beta) * scale;
    ReflectLanes<T>(a, m, n, j, taus[j], j + 1);
  }
}

// The first n columns of H_0 H_1 ..., from `steps` reflectors below the diagonal of `a`, in their place.
template <typename T>
KILN_INLINE void MultiplyReflectorsLanes(Vector<T>* a, int64_t m, int64_t n, int64_t steps, const Vector<T>* taus) {
  const Vector<T> one = Splat(T{1});
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t c = steps; c < n; ++c) a[i * n + c] = i == c ? one : Vector<T>{};
  }
  for (int64_t j = steps - 1; j >= 0; --j) {
    ReflectLanes<T>(a, m, n, j, taus[j], j + 1);
    for (int64_t i = 0; i < j; ++i) a[i * n + j] = Vector<T>{};
    a[j * n + j] = one - taus[j];
    for (int64_t i = j + 1; i < m; ++i) a[i * n + j] *= -taus[j];
  }
}

// `x`, a column of `count` numbers and zeros up to a whole vector, becomes beta and the rest of v. Gives tau.
template <typename T>
KILN_INLINE T MakeReflector(T* x, int64_t count) {
  Vector<T> largest = {};
  for (int64_t i = 0; i < count; i += kLanes<T>) {
    const Vector<T> size = Magnitude<T>(LoadVector(x + i));
    largest = Choose<T>(size > largest, size, largest);
  }
  T scale = 0;
  for (int64_t lane = 0; lane < kLanes<T>; ++lane) scale = std::max(scale, largest[lane]);
  if (scale == 0) scale = 1;
  const T alpha = x[0] / scale;
  x[0] = 0;
  Vector<T> squares = {};
  for (int64_t i = 0; i < count; i += kLanes<T>) {
    const Vector<T> part = LoadVector(x + i) / Splat(scale);
    squares += part * part;
    StoreVector(x + i, part);
  }
  const T tail = SumOfLanes<T>(squares);
  if (tail == 0) {
    x[0] = alpha * scale;
    return 0;
  }
  const T norm = std::sqrt(tail + alpha * alpha), beta = alpha < 0 ? norm : -norm;
  const Vector<T> factor = Splat(1 / (alpha - beta));
  for (int64_t i = 0; i < count; i += kLanes<T>) StoreVector(x + i, LoadVector(x + i) * factor);
  x[0] = beta * scale;
  return (beta - alpha) / beta;
}

// Columns [first, end) of an m-row matrix become reflectors and what is left of the columns above them. `column` has
// room for m numbers and a vector.
template <typename T>
KILN_INLINE void FactorizeQrPanel(T* a, int64_t stride, int64_t m, int64_t first, int64_t end, T* taus, T* column) {
  LaneMask<T> numbers;
  for (int64_t lane = 0; lane < kLanes<T>; ++lane) numbers[lane] = static_cast<LaneInteger<T>>(lane);
  for (int64_t j = first; j < end; ++j) {
    const int64_t count = m - j;
    T* rows = a + j * stride;
    for (int64_t i = 0; i < count; ++i) column[i] = rows[i * stride + j];
    StoreVector(column + count, Vector<T>{});
    taus[j] = MakeReflector(column, count);
    rows[j] = column[0];
    for (int64_t i = 1; i < count; ++i) rows[i * stride + j] = column[i];
    if (taus[j] == 0) continue;
    column[0] = 1;
    for (int64_t c = (j + 1) / kLanes<T> * kLanes<T>; c < end; c += kLanes<T>) {
      Vector<T> sums[4] = {};
      ForFoursAndOnes(
          0, count, [&](auto width, int64_t i) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
            for (int r = 0; r < width; ++r) sums[r] += Splat(column[i + r]) * LoadVector(rows + (i + r) * stride + c);
          });
      const Vector<T> share = ((sums[0] + sums[1]) + (sums[2] + sums[3])) * Splat(taus[j]);
      const LaneMask<T> places = numbers + static_cast<LaneInteger<T>>(c);
      const LaneMask<T> inside = (places > LaneMask<T>{} + static_cast<LaneInteger<T>>(j)) &
                                 (places < LaneMask<T>{} + static_cast<LaneInteger<T>>(end));
      for (int64_t i = 0; i < count; ++i) {
        T* place = rows + i * stride + c;
        const Vector<T> before = LoadVector(place);
        StoreVector(place, Choose<T>(inside, before - Splat(column[i]) * share, before));
      }
    }
  }
}

// Up to kPanel reflectors, of which the first begins in the first row.
template <typename T>
struct ReflectorBlock {
  int64_t rows, count;
  T* v;           // rows x count, with the ones and the zeros above them
  T* minus_t;     // the upper triangle of the inverse of -T: of -V^T V, the diagonal being -1 / tau
  static int64_t Stride() { return PaddedRow<T>(kPanel); }
  static int64_t Elements(int64_t rows) { return (rows + kPanel) * Stride(); }
};

// The reflectors in the columns of `a` from its diagonal on. `memory` has room for Elements(rows).
template <typename T>
KILN_INLINE ReflectorBlock<T> MakeBlock(const T* a, int64_t stride, int64_t rows, int64_t count, const T* taus,
                                        T* memory) {
  const int64_t own = ReflectorBlock<T>::Stride();
  const ReflectorBlock<T> block = {rows, count, memory, memory + rows * own};
  std::fill(memory, memory + ReflectorBlock<T>::Elements(rows), T{0});
  for (int64_t i = 0; i < rows; ++i) {
    std::copy(a + i * stride, a + i * stride + std::min(i, count), block.v + i * own);
    if (i < count) block.v[i * own + i] = 1;
  }
  SubtractProduct(block.minus_t, own, block.v, {.row = 1, .column = own}, block.v, own, count, count, rows);
  for (int64_t c = 0; c < count; ++c) block.minus_t[c * own + c] = -1 / taus[c];
  return block;
}

// Multiplies so many columns of as many rows as the block has, up to kStripe of them, by the block or its transpose.
template <typename T>
KILN_INLINE void ReflectStripe(const ReflectorBlock<T>& block, bool transposed, T* c, int64_t stride, int64_t columns) {
  constexpr int64_t kShares = kStripe + 2 * kLanes<T>;
  const int64_t own = ReflectorBlock<T>::Stride();
  alignas(kVectorBytes) T shares[kPanel * kShares];
  std::fill(shares, shares + block.count * kShares, T{0});
  SubtractProduct<T>(shares, kShares, block.v, {.row = 1, .column = own}, c, stride, block.count, columns, block.rows);
  // Both signs are turned.
  SolveRows<T>(block.minus_t, transposed ? MatrixStrides{1, own} : MatrixStrides{own, 1}, shares, kShares, block.count,
               columns, /*lower=*/transposed, /*unit_diagonal=*/false);
  SubtractProduct<T>(c, stride, block.v, {.row = own, .column = 1}, shares, kShares, block.rows, columns, block.count);
}

}  // namespace kiln::cpu

#endif  // KILN_CPU_HOUSEHOLDER_H_
