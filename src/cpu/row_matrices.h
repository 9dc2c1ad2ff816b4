// Factorizations and triangular solves of one matrix with rows in vectors. Rows end with as much padding as the vectors
// at their end reach into; it is computed with, and no result depends on it.
#ifndef KILN_CPU_ROW_MATRICES_H_
#define KILN_CPU_ROW_MATRICES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "src/base/rounding.h"
#include "src/cpu/lane_matrices.h"
#include "src/cpu/vector_clones.h"
#include "src/cpu/vector_lanes.h"

namespace kiln::cpu {

// Rows and columns that are factorized or solved before the rest hears of them.
inline constexpr int64_t kPanel = 32;
// Columns of a stripe: what one thread takes at a time.
inline constexpr int64_t kStripe = 64;

// Elements from one padded row of `columns` to the next. Powers of two would put whole columns into one set of the
// cache.
template <typename T>
int64_t PaddedRow(int64_t columns) {
  const int64_t row = RoundUp(columns, kLanes<T>) + kLanes<T>;
  return row * static_cast<int64_t>(sizeof(T)) % 1024 == 0 ? row + kLanes<T> : row;
}

template <typename T>
KILN_INLINE void CopyRow(T* to, const T* from, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) StoreVector(to + i, LoadVector(from + i));
  for (; i < count; ++i) to[i] = from[i];
}

template <typename T>
KILN_INLINE void CopyRows(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) CopyRow(to + i * to_stride, from + i * from_stride, columns);
}

// `to`, rows x columns, is the transpose of `from`.
template <typename T>
KILN_INLINE void CopyTransposed(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t rows,
                                int64_t columns) {
  constexpr int64_t n = kLanes<T>;
  for (int64_t i = 0; i < rows; i += n) {
    for (int64_t j = 0; j < columns; j += n) {
      if (i + n > rows || j + n > columns) {
        for (int64_t r = i; r < std::min(i + n, rows); ++r) {
          for (int64_t c = j; c < std::min(j + n, columns); ++c) to[r * to_stride + c] = from[c * from_stride + r];
        }
        continue;
      }
      Vector<T> block[n];
#pragma clang loop unroll(full)
      for (int64_t c = 0; c < n; ++c) block[c] = LoadVector(from + (j + c) * from_stride + i);
      TransposeVectors<T>(block);
#pragma clang loop unroll(full)
      for (int64_t r = 0; r < n; ++r) StoreVector(to + (i + r) * to_stride + j, block[r]);
    }
  }
}

// The triangle above the diagonal of `to`, n x n, is the transpose of the one below it of `from`, with the diagonal and
// some elements on its other side.
template <typename T>
KILN_INLINE void CopyLowerToUpper(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes<T>) {
    CopyTransposed(to + i * (to_stride + 1), to_stride, from + i * (from_stride + 1), from_stride,
                   std::min(kLanes<T>, n - i), n - i);
  }
}

// The other way round.
template <typename T>
KILN_INLINE void CopyUpperToLower(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes<T>) {
    const int64_t rows = std::min(kLanes<T>, n - i);
    CopyTransposed(to + i * to_stride, to_stride, from + i, from_stride, rows, i + rows);
  }
}

template <typename T, int rows, int vectors>
KILN_INLINE void SubtractTile(T* c, int64_t c_stride, const T* a, MatrixStrides as, const T* b, int64_t b_stride,
                              int64_t count) {
  // Summed up by themselves, they are rounded to their own size and not to that of what they are taken off.
  Vector<T> sums[rows][vectors] = {};
  for (int64_t k = 0; k < count; ++k) {
    Vector<T> right[vectors];
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) right[v] = LoadVector(b + k * b_stride + v * kLanes<T>);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
      const Vector<T> left = Splat(a[r * as.row + k * as.column]);
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v) sums[r][v] += left * right[v];
    }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      T* place = c + r * c_stride + v * kLanes<T>;
      StoreVector(place, LoadVector(place) - sums[r][v]);
    }
  }
}

// C (m rows, n columns and padding) minus A (m x count) times B.
template <typename T>
KILN_INLINE void SubtractProduct(T* c, int64_t c_stride, const T* a, MatrixStrides as, const T* b, int64_t b_stride,
                                 int64_t m, int64_t n, int64_t count) {
  if (count == 0) return;
  const auto rows = [&](auto height, auto wide, int64_t i) __attribute__((always_inline)) {
    int64_t j = 0;
    for (; j + (wide - 1) * kLanes<T> < n; j += wide * kLanes<T>) {
      SubtractTile<T, height, wide>(c + i * c_stride + j, c_stride, a + i * as.row, as, b + j, b_stride, count);
    }
    for (; j < n; j += kLanes<T>) {
      SubtractTile<T, height, 1>(c + i * c_stride + j, c_stride, a + i * as.row, as, b + j, b_stride, count);
    }
  };
  int64_t i = 0;
  // Sums that the registers hold: a vector takes two of AVX2's sixteen.
  if (CompiledVectorBytes() == kVectorBytes) {
    for (; i + 8 <= m; i += 8) rows(std::integral_constant<int, 8>(), std::integral_constant<int, 2>(), i);
  } else {
    for (; i + 6 <= m; i += 6) rows(std::integral_constant<int, 6>(), std::integral_constant<int, 1>(), i);
    for (; i + 2 <= m; i += 2) rows(std::integral_constant<int, 2>(), std::integral_constant<int, 2>(), i);
  }
  for (; i < m; ++i) rows(std::integral_constant<int, 1>(), std::integral_constant<int, 4>(), i);
}

// Overwrites X, n rows of m columns and padding, by the solution of A X = X with triangular A.
template <typename T>
KILN_INLINE void SolveRows(const T* a, MatrixStrides as, T* x, int64_t stride, int64_t n, int64_t m, bool lower,
                           bool unit_diagonal) {
  for (int64_t solved = 0; solved < n;) {
    const int64_t count = std::min(kPanel, n - solved), first = lower ? solved : n - solved - count;
    const int64_t done = lower ? 0 : first + count;
    SubtractProduct(x + first * stride, stride, a + first * as.row + done * as.column, as, x + done * stride, stride,
                    count, m, solved);
    for (int64_t step = 0; step < count; ++step) {
      const int64_t i = lower ? first + step : first + count - 1 - step, from = lower ? first : i + 1;
      SubtractProduct(x + i * stride, stride, a + i * as.row + from * as.column, as, x + from * stride, stride, 1, m,
                      step);
      if (unit_diagonal) continue;
      const Vector<T> pivot = Splat(a[i * (as.row + as.column)]);
      T* row = x + i * stride;
      for (int64_t c = 0; c < m; c += kLanes<T>) StoreVector(row + c, LoadVector(row + c) / pivot);
    }
    solved += count;
  }
}

// The sums, one per row of `a`, minus its products with `x`.
template <typename T, int rows>
KILN_INLINE void SubtractDots(T* sums, const T* a, int64_t stride, const T* x, int64_t count) {
  Vector<T> totals[rows] = {};
  int64_t k = 0;
  for (; k + kLanes<T> <= count; k += kLanes<T>) {
    const Vector<T> right = LoadVector(x + k);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) totals[r] += LoadVector(a + r * stride + k) * right;
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
    T total = SumOfLanes<T>(totals[r]);
    for (int64_t i = k; i < count; ++i) total += a[r * stride + i] * x[i];
    sums[r] -= total;
  }
}

// Overwrites a vector by the solution of A x = x. One of the strides is 1.
template <typename T>
KILN_INLINE void SolveVector(const T* a, MatrixStrides as, T* x, int64_t n, bool lower, bool unit_diagonal) {
  constexpr int64_t kRows = 16;
  for (int64_t solved = 0; solved < n;) {
    const int64_t count = std::min(kRows, n - solved), first = lower ? solved : n - solved - count;
    if (as.column == 1) {
      const int64_t done = lower ? 0 : first + count;
      ForFoursAndOnes(
          first, first + count, [&](auto rows, int64_t i) __attribute__((always_inline)) {
            SubtractDots<T, rows>(x + i, a + i * as.row + done, as.row, x + done, solved);
          });
    }
    for (int64_t step = 0; step < count; ++step) {
      const int64_t i = lower ? first + step : first + count - 1 - step;
      if (!unit_diagonal) x[i] /= a[i * (as.row + as.column)];
      const T own = x[i];
      for (int64_t r = lower ? i + 1 : first; r < (lower ? first + count : i); ++r) {
        x[r] -= a[r * as.row + i * as.column] * own;
      }
    }
    solved += count;
    if (as.column == 1) continue;
    // What is left, less the products with what is known now.
    int64_t r = lower ? first + count : 0;
    const int64_t end = lower ? n : first;
    const T* columns = a + first * as.column;
    for (; r + kLanes<T> <= end; r += kLanes<T>) {
      Vector<T> sum = LoadVector(x + r);
      for (int64_t k = 0; k < count; ++k) sum -= LoadVector(columns + r + k * as.column) * Splat(x[first + k]);
      StoreVector(x + r, sum);
    }
    for (; r < end; ++r) {
      for (int64_t k = 0; k < count; ++k) x[r] -= columns[r + k * as.column] * x[first + k];
    }
  }
}

// Columns [first, end) of an m-row matrix become those of its factors. Whole rows are exchanged, and what follows from
// these columns for those before `reach` is taken off them.
template <typename T>
KILN_INLINE void FactorizeLuPanel(T* a, int64_t stride, int64_t m, int64_t first, int64_t end, int64_t reach,
                                  int32_t* pivots, int32_t* permutation) {
  LaneMask<T> numbers;
  for (int64_t lane = 0; lane < kLanes<T>; ++lane) numbers[lane] = static_cast<LaneInteger<T>>(lane);
  for (int64_t j = first; j < end; ++j) {
    int64_t place = j;
    T largest = std::abs(a[j * stride + j]);
    for (int64_t i = j + 1; i < m; ++i) {
      const T size = std::abs(a[i * stride + j]);
      if (size > largest) {
        largest = size;
        place = i;
      }
    }
    pivots[j] = static_cast<int32_t>(place);
    T* own = a + j * stride;
    if (place != j) {
      std::swap(permutation[j], permutation[place]);
      T* other = a + place * stride;
      for (int64_t c = 0; c < stride; c += kLanes<T>) {
        const Vector<T> moved = LoadVector(own + c);
        StoreVector(own + c, LoadVector(other + c));
        StoreVector(other + c, moved);
      }
    }
    const T pivot = own[j] == 0 ? T{1} : own[j];  // a column of zeros stays
    const int64_t start = (j + 1) / kLanes<T> * kLanes<T>;
    // The multiplier is written with the vector that it is part of: a narrow store would hold up the next wide load.
    const LaneMask<T> places = numbers + static_cast<LaneInteger<T>>(start);
    const LaneMask<T> last = LaneMask<T>{} + static_cast<LaneInteger<T>>(j);
    const LaneMask<T> behind = places > last, here = places == last;
    const Vector<T> head = LoadVector(own + start);
    for (int64_t i = j + 1; i < m; ++i) {
      T* row = a + i * stride;
      const T factor = row[j] / pivot;
      if (start > j) row[j] = factor;
      if (start >= reach) continue;
      const Vector<T> factors = Splat(factor), before = LoadVector(row + start);
      StoreVector(row + start, Choose<T>(behind, before - factors * head, Choose<T>(here, factors, before)));
      for (int64_t c = start + kLanes<T>; c < reach; c += kLanes<T>) {
        StoreVector(row + c, LoadVector(row + c) - factors * LoadVector(own + c));
      }
    }
  }
}

// The upper factor U of a diagonal block of U^H U. False when it is not positive definite.
template <typename T>
KILN_INLINE bool FactorizeCholeskyBlock(T* a, int64_t stride, int64_t count) {
  bool fine = true;
  for (int64_t j = 0; j < count; ++j) {
    T* own = a + j * stride;
    fine &= own[j] > 0;
    const T root = std::sqrt(own[j]);
    for (int64_t c = j / kLanes<T> * kLanes<T>; c < count; c += kLanes<T>) {
      StoreVector(own + c, LoadVector(own + c) / Splat(root));
    }
    own[j] = root;
    for (int64_t i = j + 1; i < count; ++i) {
      T* row = a + i * stride;
      const Vector<T> factor = Splat(own[i]);
      for (int64_t c = i / kLanes<T> * kLanes<T>; c < count; c += kLanes<T>) {
        StoreVector(row + c, LoadVector(row + c) - factor * LoadVector(own + c));
      }
    }
  }
  return fine;
}

}  // namespace kiln::cpu

#endif  // KILN_CPU_ROW_MATRICES_H_
