#include "src/cpu/square_transposition.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "src/cpu/jit_symbols.h"
#include "src/cpu/lane_squares.h"
#include "src/cpu/vector_clones.h"
#include "src/kernel/square_transposition.h"

namespace kiln::cpu {
namespace {

template <typename T>
struct Square {
  const T* from;
  T* to;
  int64_t from_pitch, to_pitch;

  const T* Row(int64_t row, int64_t column) const { return from + row * from_pitch + column; }
  T* Column(int64_t column, int64_t row) const { return to + column * to_pitch + row; }
};

// `kSide` rows of as many elements, which are all read before any is written.
template <typename T, int kSide, bool kStreams>
KILN_INLINE void TransposeTile(const Square<T>& square, int64_t row, int64_t column) {
  using V = typename Several<T, kSide>::Type;
  V tile[kSide];
  KILN_FULLY_UNROLLED for (int i = 0; i < kSide; ++i) std::memcpy(&tile[i], square.Row(row + i, column), sizeof(V));
  Transpose<T, kSide, kSide>(tile);
  KILN_FULLY_UNROLLED for (int i = 0; i < kSide; ++i) {
    T* place = square.Column(column + i, row);
    if constexpr (kStreams) {
      __builtin_nontemporal_store(tile[i], reinterpret_cast<V*>(place));
    } else {
      std::memcpy(place, &tile[i], sizeof(V));
    }
  }
}

template <typename T>
void TransposeElements(const Square<T>& square, int64_t rows, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) *square.Column(c, r) = *square.Row(r, c);
  }
}

// Goes along what is written first. The last tiles of a side overlap the ones before where the side has a whole one.
template <typename T, int kSide, bool kStreams>
KILN_INLINE void TransposeTiles(const Square<T>& square, int64_t rows, int64_t columns) {
  if (rows < kSide || columns < kSide) {
    if constexpr (kSide > 4) return TransposeTiles<T, kSide / 2, /*kStreams=*/false>(square, rows, columns);
    return TransposeElements(square, rows, columns);
  }
  for (int64_t column = 0; column < columns; column += kSide) {
    const int64_t c = std::min(column, columns - kSide);
    int64_t row = 0;
    for (; row + kSide <= rows; row += kSide) TransposeTile<T, kSide, kStreams>(square, row, c);
    if (row < rows) TransposeTile<T, kSide, /*kStreams=*/false>(square, rows - kSide, c);
  }
}

#define KILN_TRANSPOSE(name, width, attributes)                                                                  \
  template <typename T>                                                                                          \
  attributes void name(const char* from, char* to, int64_t from_pitch, int64_t to_pitch, int64_t rows,           \
                       int64_t columns, int64_t streams) {                                                       \
    constexpr int kSide = std::min<int>(width / sizeof(T), 32);                                                  \
    const Square<T> square = {reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), from_pitch, to_pitch}; \
    if (kSide * sizeof(T) == 64 && streams != 0)                                                                 \
      return TransposeTiles<T, kSide, kSide * sizeof(T) == 64>(square, rows, columns);                           \
    TransposeTiles<T, kSide, false>(square, rows, columns);                                                      \
  }
KILN_TRANSPOSE(Transpose128, 16, )
#if defined(__x86_64__)
KILN_TRANSPOSE(Transpose256, 32, __attribute__((target("avx2"))))
KILN_TRANSPOSE(Transpose512, 64, __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq"))))
#endif
#undef KILN_TRANSPOSE

template <typename T>
void Add() {
  kernel::SquareTransposition* function = &Transpose128<T>;
#if defined(__x86_64__)
  const int width = CompiledVectorBytes();
  if (width >= 32) function = &Transpose256<T>;
  if (width >= 64) function = &Transpose512<T>;
#endif
  AddRuntimeSymbol(kernel::SquareTranspositionName(sizeof(T)), reinterpret_cast<void*>(function));
}

}  // namespace

void AddSquareTranspositions() {
  Add<uint8_t>();
  Add<uint16_t>();
  Add<uint32_t>();
  Add<uint64_t>();
}

}  // namespace kiln::cpu
