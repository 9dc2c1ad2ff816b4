// The functions that kernel/row_tile_moves.h describes.
#ifndef KILN_CPU_ROW_TILE_MOVES_H_
#define KILN_CPU_ROW_TILE_MOVES_H_

namespace kiln::cpu {

// Makes those for the host callable from generated code.
void AddRowTileMoves();

}  // namespace kiln::cpu

#endif  // KILN_CPU_ROW_TILE_MOVES_H_
