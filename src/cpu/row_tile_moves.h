// The functions that kernel/row_tile_moves.h describes.
#ifndef KILN_CPU_ROW_TILE_MOVES_H_
#define KILN_CPU_ROW_TILE_MOVES_H_

#include "src/kernel/row_tile_moves.h"

namespace kiln::cpu {

// The host's for elements of type T, which is an unsigned integer; of the combinations that AddRowTileMoves lists.
template <typename T, int kLanes, int kPiece, bool kFill>
kernel::RowTileMove* HostRowTileMove();

// Makes those for the host callable from generated code.
void AddRowTileMoves();

}  // namespace kiln::cpu

#endif  // KILN_CPU_ROW_TILE_MOVES_H_
