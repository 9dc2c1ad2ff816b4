// Factorizations and triangular solves of as many small matrices as a vector has lanes, one matrix per lane: element e
// of all of them is one vector. No step waits for a sum across lanes, and loops are as short as the matrices are.
#ifndef KILN_CPU_LANE_MATRICES_H_
#define KILN_CPU_LANE_MATRICES_H_

#include <algorithm>
#include <cstdint>

#include "src/cpu/vector_lanes.h"

namespace kiln::cpu {

// Vectors of `elements` neighbours each of `valid` arrays, `stride` apart; the last array stands in for those missing.
template <typename T>
KILN_INLINE void LoadLanes(Vector<T>* to, const T* from, int64_t stride, int64_t valid, int64_t elements) {
  constexpr int64_t n = kLanes<T>;
  const T* lanes[n];
  for (int64_t lane = 0; lane < n; ++lane) lanes[lane] = from + std::min(lane, valid - 1) * stride;
  if (elements < n) {
    for (int64_t e = 0; e < elements; ++e) {
      T parts[n];
#pragma clang loop unroll(full)
      for (int64_t lane = 0; lane < n; ++lane) parts[lane] = lanes[lane][e];
      to[e] = LoadVector(parts);
    }
    return;
  }
  for (int64_t e = 0; e < elements; e += n) {
    e = std::min(e, elements - n);  // the last ones overlap those before
    Vector<T> block[n];
#pragma clang loop unroll(full)
    for (int64_t lane = 0; lane < n; ++lane) block[lane] = LoadVector(lanes[lane] + e);
    TransposeVectors<T>(block);
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < n; ++i) to[e + i] = block[i];
  }
}

template <typename T>
KILN_INLINE void StoreLanes(T* to, const Vector<T>* from, int64_t stride, int64_t valid, int64_t elements) {
  constexpr int64_t n = kLanes<T>;
  if (elements < n) {
    for (int64_t e = 0; e < elements; ++e) {
      T parts[n];
      StoreVector(parts, from[e]);
      for (int64_t lane = 0; lane < valid; ++lane) to[lane * stride + e] = parts[lane];
    }
    return;
  }
  for (int64_t e = 0; e < elements; e += n) {
    e = std::min(e, elements - n);
    Vector<T> block[n];
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < n; ++i) block[i] = from[e + i];
    TransposeVectors<T>(block);
    if (valid == n) {
#pragma clang loop unroll(full)
      for (int64_t lane = 0; lane < n; ++lane) StoreVector(to + lane * stride + e, block[lane]);
    } else {
      for (int64_t lane = 0; lane < valid; ++lane) StoreVector(to + lane * stride + e, block[lane]);
    }
  }
}

// How a matrix lies in memory, in elements: of vectors here, of numbers elsewhere.
struct MatrixStrides {
  int64_t row = 0;
  int64_t column = 0;
};

// Takes the sums of `count` products off `sums`: of one row of A with `width` columns of B.
template <typename T, int width>
KILN_INLINE void SubtractProducts(Vector<T>* sums, const Vector<T>* a, int64_t a_step, const Vector<T>* b,
                                  int64_t b_step, int64_t b_column, int64_t count) {
  Vector<T> totals[width] = {};
  for (int64_t k = 0; k < count; ++k) {
    const Vector<T> factor = a[k * a_step];
#pragma clang loop unroll(full)
    for (int c = 0; c < width; ++c) totals[c] += factor * b[k * b_step + c * b_column];
  }
#pragma clang loop unroll(full)
  for (int c = 0; c < width; ++c) sums[c] -= totals[c];
}

// body(width, i) from `begin` to `end`, four at a time as long as there are as many; `width` is a constant.
template <typename Body>
KILN_INLINE void ForFoursAndOnes(int64_t begin, int64_t end, Body body) {
  for (; begin + 4 <= end; begin += 4) body(std::integral_constant<int, 4>(), begin);
  for (; begin < end; ++begin) body(std::integral_constant<int, 1>(), begin);
}

// Overwrites B, n rows of m columns, by the solution of M X = B with triangular M.
template <typename T>
KILN_INLINE void SolveLanes(const Vector<T>* a, MatrixStrides as, Vector<T>* b, MatrixStrides bs, int64_t n, int64_t m,
                            bool lower, bool unit_diagonal) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = lower ? step : n - 1 - step, done = lower ? 0 : i + 1;
    const Vector<T>* row = a + i * as.row + done * as.column;
    const Vector<T> pivot = a[i * (as.row + as.column)];
    ForFoursAndOnes(
        0, m, [&](auto width, int64_t c) __attribute__((always_inline)) {
          Vector<T>* x = b + i * bs.row + c * bs.column;
          Vector<T> sums[width];
#pragma clang loop unroll(full)
          for (int j = 0; j < width; ++j) sums[j] = x[j * bs.column];
          SubtractProducts<T, width>(sums, row, as.column, b + done * bs.row + c * bs.column, bs.row, bs.column, step);
#pragma clang loop unroll(full)
          for (int j = 0; j < width; ++j) x[j * bs.column] = unit_diagonal ? sums[j] : sums[j] / pivot;
        });
  }
}

// Overwrites matrices of which one triangle counts by their factors. `s` are the strides of the lower triangle:
// swapped, they are those of the upper one. NaN throughout where the diagonal is not positive everywhere.
template <typename T>
KILN_INLINE void FactorizeCholeskyLanes(Vector<T>* a, MatrixStrides s, int64_t n) {
  LaneMask<T> fine = ~LaneMask<T>{};
  for (int64_t j = 0; j < n; ++j) {
    const Vector<T>* own = a + j * s.row;
    Vector<T> square = a[j * (s.row + s.column)];
    SubtractProducts<T, 1>(&square, own, s.column, own, s.column, 0, j);
    fine &= square > 0;
    const Vector<T> root = __builtin_elementwise_sqrt(square);
    a[j * (s.row + s.column)] = root;
    ForFoursAndOnes(
        j + 1, n, [&](auto width, int64_t i) __attribute__((always_inline)) {
          Vector<T>* x = a + i * s.row + j * s.column;
          Vector<T> sums[width];
#pragma clang loop unroll(full)
          for (int r = 0; r < width; ++r) sums[r] = x[r * s.row];
          SubtractProducts<T, width>(sums, own, s.column, a + i * s.row, s.column, s.row, j);
#pragma clang loop unroll(full)
          for (int r = 0; r < width; ++r) x[r * s.row] = sums[r] / root;
        });
  }
  const Vector<T> nan = Splat<T>(__builtin_nan(""));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      Vector<T>& x = a[i * s.row + j * s.column];
      x = Choose<T>(fine, x, nan);
      if (j < i) a[j * s.row + i * s.column] = Vector<T>{};
    }
  }
}

// Overwrites m x n matrices, dense and row-major, by their factors: L below the diagonal, where it is 1, and U. Row k
// was exchanged with row pivots[k]; row i of the product is row permutation[i] of the matrix.
template <typename T>
KILN_INLINE void FactorizeLuLanes(Vector<T>* a, int64_t m, int64_t n, LaneMask<T>* pivots, LaneMask<T>* permutation) {
  for (int64_t i = 0; i < m; ++i) permutation[i] = LaneMask<T>{} + static_cast<LaneInteger<T>>(i);
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    Vector<T>* own = a + k * n;
    Vector<T> largest = __builtin_elementwise_abs(own[k]);
    LaneMask<T> place = LaneMask<T>{} + static_cast<LaneInteger<T>>(k);
    for (int64_t r = k + 1; r < m; ++r) {
      const Vector<T> size = __builtin_elementwise_abs(a[r * n + k]);
      const LaneMask<T> larger = size > largest;
      largest = Choose<T>(larger, size, largest);
      place = larger ? LaneMask<T>{} + static_cast<LaneInteger<T>>(r) : place;
    }
    pivots[k] = place;
    const auto taken = [&](int64_t r) __attribute__((always_inline)) {
      return place == LaneMask<T>{} + static_cast<LaneInteger<T>>(r);
    };
    LaneMask<T> first = permutation[k];
    for (int64_t r = k + 1; r < m; ++r) {
      const LaneMask<T> mask = taken(r), other = permutation[r];
      permutation[r] = mask ? permutation[k] : other;
      first = mask ? other : first;
    }
    permutation[k] = first;
    // The pivot's column is first to change, so that the others find their multipliers in it.
    for (int64_t order = 0; order < n; ++order) {
      const int64_t c = order == 0 ? k : order <= k ? order - 1 : order;
      const Vector<T> moved = own[c];
      Vector<T> pivot = moved;
      for (int64_t r = k + 1; r < m; ++r) pivot = Choose<T>(taken(r), a[r * n + c], pivot);
      own[c] = pivot;
      if (c < k) {
        for (int64_t r = k + 1; r < m; ++r) a[r * n + c] = Choose<T>(taken(r), moved, a[r * n + c]);
      } else if (c > k) {
        for (int64_t r = k + 1; r < m; ++r) {
          a[r * n + c] = Choose<T>(taken(r), moved, a[r * n + c]) - a[r * n + k] * pivot;
        }
      } else {
        // A column of zeros stays.
        const Vector<T> divisor = Choose<T>(pivot == 0, Splat<T>(1), pivot);
        for (int64_t r = k + 1; r < m; ++r) a[r * n + c] = Choose<T>(taken(r), moved, a[r * n + c]) / divisor;
      }
    }
  }
}

}  // namespace kiln::cpu

#endif  // KILN_CPU_LANE_MATRICES_H_
