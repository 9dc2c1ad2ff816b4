// Squares of pieces of rows, transposed in registers, for functions that are compiled with Kiln.
#ifndef KILN_CPU_LANE_SQUARES_H_
#define KILN_CPU_LANE_SQUARES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "src/cpu/vector_lanes.h"

#define KILN_FULLY_UNROLLED _Pragma("clang loop unroll(full)")

namespace kiln::cpu {
namespace {

template <typename T, int kCount>
struct Several {
  typedef T Type __attribute__((vector_size(kCount * sizeof(T))));
};

// Pieces of `kPiece` elements 0, 0', 1, 1'... of the first or second half of each stretch of `kSize`.
template <int kPiece, int kSize, int kHalf, typename V, int... i>
KILN_INLINE V Interleaved(V a, V b, std::integer_sequence<int, i...>) {
  constexpr int kLanes = sizeof...(i);
  return __builtin_shufflevector(a, b,
                                 (i / kPiece % 2 * kLanes + i / kSize * kSize +
                                  (kHalf * (kSize / kPiece) + i % kSize / kPiece) / 2 * kPiece + i % kPiece)...);
}

// In each stretch of `kSize` lanes element i of vector j becomes element j of vector i. First within 16 bytes each,
// where processors have the cheapest shuffles, and then pieces of so many.
template <typename T, int kLanes, int kSize>
KILN_INLINE void Transpose(typename Several<T, kLanes>::Type (&rows)[kSize]) {
  using V = typename Several<T, kLanes>::Type;
  constexpr auto kNumbers = std::make_integer_sequence<int, kLanes>();
  constexpr int kInner = std::min<int>(kSize, 16 / sizeof(T)), kOuter = kSize / kInner;
  V groups[kOuter][kInner];
  KILN_FULLY_UNROLLED for (int g = 0; g < kOuter; ++g) {
    std::copy(rows + g * kInner, rows + (g + 1) * kInner, groups[g]);
    KILN_FULLY_UNROLLED for (int round = 1; round < kInner; round *= 2) {
      V next[kInner];
      KILN_FULLY_UNROLLED for (int i = 0; i < kInner / 2; ++i) {
        next[2 * i] = Interleaved<1, kInner, 0>(groups[g][i], groups[g][i + kInner / 2], kNumbers);
        next[2 * i + 1] = Interleaved<1, kInner, 1>(groups[g][i], groups[g][i + kInner / 2], kNumbers);
      }
      std::copy(next, next + kInner, groups[g]);
    }
  }
  KILN_FULLY_UNROLLED for (int c = 0; c < kInner; ++c) {
    V column[kOuter];
    KILN_FULLY_UNROLLED for (int g = 0; g < kOuter; ++g) column[g] = groups[g][c];
    KILN_FULLY_UNROLLED for (int round = 1; round < kOuter; round *= 2) {
      V next[kOuter];
      KILN_FULLY_UNROLLED for (int i = 0; i < kOuter / 2; ++i) {
        next[2 * i] = Interleaved<kInner, kSize, 0>(column[i], column[i + kOuter / 2], kNumbers);
        next[2 * i + 1] = Interleaved<kInner, kSize, 1>(column[i], column[i + kOuter / 2], kNumbers);
      }
      std::copy(next, next + kOuter, column);
    }
    KILN_FULLY_UNROLLED for (int g = 0; g < kOuter; ++g) rows[g * kInner + c] = column[g];
  }
}

template <typename V, int... i>
KILN_INLINE auto Joined(V a, V b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, i...);
}

template <int kFirst, typename V, int... i>
KILN_INLINE auto Part(V a, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, a, (kFirst + i)...);
}

// Pieces of rows that are `step` elements apart, one behind the other.
template <typename T, int kLanes, int kPiece>
KILN_INLINE typename Several<T, kLanes>::Type LoadPieces(const T* row, int64_t step) {
  if constexpr (kLanes == kPiece) {
    typename Several<T, kLanes>::Type piece;
    std::memcpy(&piece, row, sizeof(piece));
    return piece;
  } else {
    return Joined(LoadPieces<T, kLanes / 2, kPiece>(row, step),
                  LoadPieces<T, kLanes / 2, kPiece>(row + kLanes / 2 / kPiece * step, step),
                  std::make_integer_sequence<int, kLanes>());
  }
}

template <typename T, int kLanes, int kPiece>
KILN_INLINE void StorePieces(typename Several<T, kLanes>::Type pieces, T* row, int64_t step) {
  if constexpr (kLanes == kPiece) {
    std::memcpy(row, &pieces, sizeof(pieces));
  } else {
    constexpr auto kHalf = std::make_integer_sequence<int, kLanes / 2>();
    StorePieces<T, kLanes / 2, kPiece>(Part<0>(pieces, kHalf), row, step);
    StorePieces<T, kLanes / 2, kPiece>(Part<kLanes / 2>(pieces, kHalf), row + kLanes / 2 / kPiece * step, step);
  }
}

template <int kPiece, int kRows, typename V, int... i>
KILN_INLINE V InPlaces(V rows, std::integer_sequence<int, i...>) {
  constexpr int kLane = kPiece * kRows;
  return __builtin_shufflevector(rows, rows, (i / kLane * kLane + i % kRows * kPiece + i % kLane / kRows)...);
}

// The square of `kLanes` rows of no more than `kPiece` elements, so short that 16 bytes hold several: these are turned
// round among themselves, and what they have of a place moves as one element.
template <typename T, int kLanes, int kPiece>
KILN_INLINE void FillFromShortRows(const T* rows, T* places, int64_t place_pitch) {
  constexpr int kRows = 16 / (kPiece * sizeof(T)), kBytes = kRows * sizeof(T), kUnits = kLanes / kRows;
  using Unit = std::conditional_t<kBytes == 2, uint16_t, uint32_t>;
  using V = typename Several<T, kLanes>::Type;
  using Units = typename Several<Unit, kUnits>::Type;
  Units square[kPiece];
#pragma clang loop unroll(full)
  for (int i = 0; i < kPiece; ++i) {
    const V some = LoadPieces<T, kLanes, kRows * kPiece>(rows + i * kRows * kPiece, kPiece * kRows * kPiece);
    square[i] = reinterpret_cast<Units>(InPlaces<kPiece, kRows>(some, std::make_integer_sequence<int, kLanes>()));
  }
  Transpose<Unit, kUnits, kPiece>(square);
#pragma clang loop unroll(full)
  for (int i = 0; i < kPiece; ++i) std::memcpy(places + i * place_pitch, &square[i], sizeof(V));
}

// Elements i of `kLanes` rows to place i, or back. Registers of `kWidth` bytes. Vector number q of a square has pieces
// of the rows q, q + piece, q + 2 * piece...
template <typename T, int kLanes, int kPiece, int kWidth, bool kFill>
KILN_INLINE void MoveSquares(char* rows, char* places, int64_t pitch, int64_t size, int64_t place_pitch = kLanes) {
  constexpr int kOwn = std::min<int>(kLanes, kWidth / sizeof(T));
  using V = typename Several<T, kOwn>::Type;
  if constexpr (kFill && kPiece * sizeof(T) < 16 && kPiece >= 4 && kOwn * sizeof(T) >= 16) {
    if (pitch == kPiece && size == kPiece) {
      for (int lane = 0; lane < kLanes; lane += kOwn) {
        FillFromShortRows<T, kOwn, kPiece>(reinterpret_cast<T*>(rows) + lane * kPiece,
                                           reinterpret_cast<T*>(places) + lane, place_pitch);
      }
      return;
    }
  }
  for (int64_t start = 0; start < size; start += kPiece) {
    // The last one may overlap the one before.
    const int64_t first = std::min(start, size - kPiece);
    T* row = reinterpret_cast<T*>(rows) + first;
    T* place = reinterpret_cast<T*>(places) + first * place_pitch;
    for (int lane = 0; lane < kLanes; lane += kOwn, row += kOwn * pitch, place += kOwn) {
      V square[kPiece];
#pragma clang loop unroll(full)
      for (int i = 0; i < kPiece; ++i) {
        if constexpr (kFill) {
          square[i] = LoadPieces<T, kOwn, kPiece>(row + i * pitch, kPiece * pitch);
        } else {
          std::memcpy(&square[i], place + i * place_pitch, sizeof(V));
        }
      }
      Transpose<T, kOwn, kPiece>(square);
#pragma clang loop unroll(full)
      for (int i = 0; i < kPiece; ++i) {
        if constexpr (kFill) {
          std::memcpy(place + i * place_pitch, &square[i], sizeof(V));
        } else {
          StorePieces<T, kOwn, kPiece>(square[i], row + i * pitch, kPiece * pitch);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kiln::cpu

#endif  // KILN_CPU_LANE_SQUARES_H_
