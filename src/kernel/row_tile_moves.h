// What fills and empties tiles of rows (RowTile). The functions are compiled with Kiln and called by name, since every
// program would compile the same shuffles.
#ifndef KILN_KERNEL_ROW_TILE_MOVES_H_
#define KILN_KERNEL_ROW_TILE_MOVES_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace kiln::kernel {

// Between element i of row r, number r * pitch + i from `rows` on, and its place, number i * lanes + r from `places` on,
// for rows of `size` elements. Lanes from `count` on have no row, and what is in their places matters to no result.
using RowTileMove = void(char* rows, char* places, int64_t pitch, int64_t size, int64_t count);

// There is a function for each direction, size of elements, number of lanes and RowTile::PieceOf.
inline std::string RowTileMoveName(bool fill, int64_t element_bytes, int lanes, int piece) {
  return absl::StrCat(fill ? "kiln_fill_row_tile_" : "kiln_empty_row_tile_", element_bytes, "x", lanes, "_by_", piece);
}

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_ROW_TILE_MOVES_H_
