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
  const int64_t* rows;
  int64_t to_pitch;

  const T* Row(int64_t row, int64_t column) const { return from + rows[row] + column; }
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

// 16 bytes of each vector after the other, beginning with the first 16 of each.
template <typename T, int kSide, int kRows, int... group, int... i>
KILN_INLINE void StorePieces(const typename Several<T, kSide>::Type (&tile)[kRows], T* to,
                             std::integer_sequence<int, group...>, std::integer_sequence<int, i...> piece) {
  const auto store = [&]<int kFirst>() __attribute__((always_inline)) {
    KILN_FULLY_UNROLLED for (int row = 0; row < kRows; ++row) {
      const auto part = Part<kFirst>(tile[row], piece);
      std::memcpy(to + kFirst * kRows + row * static_cast<int>(sizeof...(i)), &part, sizeof(part));
    }
  };
  (store.template operator()<group* static_cast<int>(sizeof...(i))>(), ...);
}

// Few rows, of which columns lie one behind the other where they are written: vectors of them are interleaved.
template <typename T, int kSide, int kRows>
KILN_INLINE void InterleaveRows(const Square<T>& square, int64_t columns) {
  using V = typename Several<T, kSide>::Type;
  constexpr int kPiece = std::min<int>(16 / sizeof(T), kSide);
  constexpr auto kNumbers = std::make_integer_sequence<int, kSide>();
  constexpr auto kPieceNumbers = std::make_integer_sequence<int, kPiece>();
  for (int64_t column = 0; column < columns; column += kSide) {
    const int64_t c = std::min(column, columns - kSide);
    V tile[kRows];
    KILN_FULLY_UNROLLED for (int i = 0; i < kRows; ++i) std::memcpy(&tile[i], square.Row(i, c), sizeof(V));
    // Each round interleaves halves of the rows, 16 bytes by themselves: piece g of vector i is then piece i of those
    // of group g of columns.
    KILN_FULLY_UNROLLED for (int round = 1; round < kRows; round *= 2) {
      V next[kRows];
      KILN_FULLY_UNROLLED for (int i = 0; i < kRows / 2; ++i) {
        next[2 * i] = Interleaved<1, kPiece, 0>(tile[i], tile[i + kRows / 2], kNumbers);
        next[2 * i + 1] = Interleaved<1, kPiece, 1>(tile[i], tile[i + kRows / 2], kNumbers);
      }
      std::copy(next, next + kRows, tile);
    }
    T* to = square.Column(c, 0);
    StorePieces<T, kSide, kRows>(tile, to, std::make_integer_sequence<int, kSide / kPiece>(), kPieceNumbers);
  }
}

// Goes along what is written first. The last tiles of a side overlap the ones before where the side has a whole one.
template <typename T, int kSide, bool kStreams>
KILN_INLINE void TransposeTiles(const Square<T>& square, int64_t rows, int64_t columns) {
  if (rows < kSide && columns >= kSide && rows == square.to_pitch) {
    if (rows == 2) return InterleaveRows<T, kSide, 2>(square, columns);
    if (rows == 4) return InterleaveRows<T, kSide, 4>(square, columns);
    if (rows == 8) return InterleaveRows<T, kSide, 8>(square, columns);
    if constexpr (kSide > 16) {
      if (rows == 16) return InterleaveRows<T, kSide, 16>(square, columns);
    }
  }
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

#define KILN_TRANSPOSE(name, width, attributes)                                                              \
  template <typename T>                                                                                      \
  attributes void name(const char* from, char* to, const int64_t* rows, int64_t to_pitch, int64_t row_count, \
                       int64_t columns, int64_t streams) {                                                   \
    constexpr int kSide = std::min<int>(width / sizeof(T), 32);                                              \
    const Square<T> square = {reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), rows, to_pitch};   \
    if (kSide * sizeof(T) == 64 && streams != 0)                                                             \
      return TransposeTiles<T, kSide, kSide * sizeof(T) == 64>(square, row_count, columns);                  \
    TransposeTiles<T, kSide, false>(square, row_count, columns);                                             \
  }
KILN_TRANSPOSE(Transpose128, 16, )
#if defined(__x86_64__)
KILN_TRANSPOSE(Transpose256, 32, __attribute__((target("avx2"))))
KILN_TRANSPOSE(Transpose512, 64, __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq"))))
#endif
#undef KILN_TRANSPOSE

template <typename T>
kernel::SquareTransposition* Choose() {
#if defined(__x86_64__)
  const int width = CompiledVectorBytes();
  if (width >= 64) return &Transpose512<T>;
  if (width >= 32) return &Transpose256<T>;
#endif
  return &Transpose128<T>;
}

}  // namespace

kernel::SquareTransposition* SquareTranspositionOf(int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return Choose<uint8_t>();
    case 2:
      return Choose<uint16_t>();
    case 4:
      return Choose<uint32_t>();
    default:
      return Choose<uint64_t>();
  }
}

void AddSquareTranspositions() {
  for (int64_t bytes = 1; bytes <= kernel::kMaxSquareElementBytes; bytes *= 2) {
    AddRuntimeSymbol(kernel::SquareTranspositionName(bytes), reinterpret_cast<void*>(SquareTranspositionOf(bytes)));
  }
}

}  // namespace kiln::cpu
