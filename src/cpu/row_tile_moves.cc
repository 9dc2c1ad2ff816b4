#include "src/cpu/row_tile_moves.h"

#include "src/cpu/jit_symbols.h"
#include "src/cpu/lane_squares.h"
#include "src/cpu/vector_clones.h"
#include "src/kernel/row_tile_moves.h"

namespace kiln::cpu {
namespace {

template <typename T, int kLanes, bool kFill>
void MoveElements(char* rows, char* places, int64_t pitch, int64_t size, int64_t count) {
  for (int64_t lane = 0; lane < count; ++lane) {
    T* row = reinterpret_cast<T*>(rows) + lane * pitch;
    T* place = reinterpret_cast<T*>(places) + lane;
    for (int64_t i = 0; i < size; ++i) (kFill ? place[i * kLanes] : row[i]) = kFill ? row[i] : place[i * kLanes];
  }
}

#define KILN_MOVE(name, width, attributes)                                                       \
  template <typename T, int kLanes, int kPiece, bool kFill>                                      \
  attributes void name(char* rows, char* places, int64_t pitch, int64_t size, int64_t count) {   \
    if (count < kLanes) return MoveElements<T, kLanes, kFill>(rows, places, pitch, size, count); \
    MoveSquares<T, kLanes, kPiece, width, kFill>(rows, places, pitch, size);                     \
  }
KILN_MOVE(Move128, 16, )
#if defined(__x86_64__)
KILN_MOVE(Move256, 32, __attribute__((target("avx2"))))
KILN_MOVE(Move512, 64, __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq"))))
#endif
#undef KILN_MOVE

}  // namespace

template <typename T, int kLanes, int kPiece, bool kFill>
kernel::RowTileMove* HostRowTileMove() {
  if constexpr (kPiece == 1) {
    return &MoveElements<T, kLanes, kFill>;
  } else {
#if defined(__x86_64__)
    const int width = CompiledVectorBytes();
    if (width >= 64) return &Move512<T, kLanes, kPiece, kFill>;
    if (width >= 32) return &Move256<T, kLanes, kPiece, kFill>;
#endif
    return &Move128<T, kLanes, kPiece, kFill>;
  }
}

// Types of elements, lanes, and pieces of rows.
#define KILN_ALL_MOVES          \
  KILN_MOVE_OF(uint8_t, 4, 1)   \
  KILN_MOVE_OF(uint8_t, 8, 1)   \
  KILN_MOVE_OF(uint8_t, 16, 1)  \
  KILN_MOVE_OF(uint8_t, 32, 1)  \
  KILN_MOVE_OF(uint8_t, 64, 1)  \
  KILN_MOVE_OF(uint8_t, 4, 4)   \
  KILN_MOVE_OF(uint8_t, 32, 4)  \
  KILN_MOVE_OF(uint8_t, 64, 4)  \
  KILN_MOVE_OF(uint8_t, 8, 8)   \
  KILN_MOVE_OF(uint8_t, 16, 8)  \
  KILN_MOVE_OF(uint8_t, 32, 8)  \
  KILN_MOVE_OF(uint8_t, 64, 8)  \
  KILN_MOVE_OF(uint8_t, 16, 16) \
  KILN_MOVE_OF(uint8_t, 32, 16) \
  KILN_MOVE_OF(uint8_t, 64, 16) \
  KILN_MOVE_OF(uint16_t, 4, 1)  \
  KILN_MOVE_OF(uint16_t, 8, 1)  \
  KILN_MOVE_OF(uint16_t, 16, 1) \
  KILN_MOVE_OF(uint16_t, 32, 1) \
  KILN_MOVE_OF(uint16_t, 4, 4)  \
  KILN_MOVE_OF(uint16_t, 16, 4) \
  KILN_MOVE_OF(uint16_t, 32, 4) \
  KILN_MOVE_OF(uint16_t, 8, 8)  \
  KILN_MOVE_OF(uint16_t, 16, 8) \
  KILN_MOVE_OF(uint16_t, 32, 8) \
  KILN_MOVE_OF(uint32_t, 4, 1)  \
  KILN_MOVE_OF(uint32_t, 8, 1)  \
  KILN_MOVE_OF(uint32_t, 16, 1) \
  KILN_MOVE_OF(uint32_t, 32, 1) \
  KILN_MOVE_OF(uint32_t, 4, 4)  \
  KILN_MOVE_OF(uint32_t, 8, 4)  \
  KILN_MOVE_OF(uint32_t, 16, 4) \
  KILN_MOVE_OF(uint32_t, 32, 4) \
  KILN_MOVE_OF(uint64_t, 8, 1)  \
  KILN_MOVE_OF(uint64_t, 4, 2)  \
  KILN_MOVE_OF(uint64_t, 8, 2)  \
  KILN_MOVE_OF(uint64_t, 16, 2)

#define KILN_MOVE_OF(T, lanes, piece)                                     \
  template kernel::RowTileMove* HostRowTileMove<T, lanes, piece, true>(); \
  template kernel::RowTileMove* HostRowTileMove<T, lanes, piece, false>();
KILN_ALL_MOVES
#undef KILN_MOVE_OF

void AddRowTileMoves() {
  const auto add = [](bool fill, int64_t element_bytes, int lanes, int piece, kernel::RowTileMove* move) {
    AddRuntimeSymbol(kernel::RowTileMoveName(fill, element_bytes, lanes, piece), reinterpret_cast<void*>(move));
  };
#define KILN_MOVE_OF(T, lanes, piece)                                           \
  add(true, sizeof(T), lanes, piece, HostRowTileMove<T, lanes, piece, true>()); \
  add(false, sizeof(T), lanes, piece, HostRowTileMove<T, lanes, piece, false>());
  KILN_ALL_MOVES
#undef KILN_MOVE_OF
}

}  // namespace kiln::cpu
