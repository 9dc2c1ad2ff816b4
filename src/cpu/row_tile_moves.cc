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

template <typename T, int kLanes, int kPiece, bool kFill>
void AddMove() {
  kernel::RowTileMove* move = &Move128<T, kLanes, kPiece, kFill>;
  if constexpr (kPiece == 1) {
    move = &MoveElements<T, kLanes, kFill>;
  } else {
#if defined(__x86_64__)
    const int width = CompiledVectorBytes();
    if (width >= 32) move = &Move256<T, kLanes, kPiece, kFill>;
    if (width >= 64) move = &Move512<T, kLanes, kPiece, kFill>;
#endif
  }
  AddRuntimeSymbol(kernel::RowTileMoveName(kFill, sizeof(T), kLanes, kPiece), reinterpret_cast<void*>(move));
}

template <typename T, int kPiece, int... kLanes>
void AddMoves() {
  (AddMove<T, kLanes, kPiece, true>(), ...);
  (AddMove<T, kLanes, kPiece, false>(), ...);
}

}  // namespace

void AddRowTileMoves() {
  AddMoves<uint8_t, 1, 4, 8, 16, 32, 64>();
  AddMoves<uint8_t, 4, 4>();
  AddMoves<uint8_t, 8, 8, 16, 32, 64>();
  AddMoves<uint8_t, 16, 16, 32, 64>();
  AddMoves<uint16_t, 1, 4, 8, 16, 32>();
  AddMoves<uint16_t, 4, 4>();
  AddMoves<uint16_t, 8, 8, 16, 32>();
  AddMoves<uint32_t, 1, 4, 8, 16>();
  AddMoves<uint32_t, 4, 4, 8, 16>();
  AddMoves<uint64_t, 2, 4, 8, 16>();
}

}  // namespace kiln::cpu
