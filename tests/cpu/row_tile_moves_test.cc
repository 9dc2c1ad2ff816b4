// What fills and empties tiles of rows, against what its header says of every place, inside guarded memory.
#include "src/cpu/row_tile_moves.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/cpu/jit_symbols.h"
#include "src/kernel/row_tile_moves.h"
#include "src/kernel/schedule.h"
#include "tests/cpu/guarded_memory.h"
#include "tests/cpu/isa_limit.h"

namespace kiln::testing {
namespace {

void Check(int bytes, int lanes, int64_t size, int64_t pitch, int64_t count, bool fill, Place place) {
  kernel::RowTile tile;
  tile.size = size;
  const int piece = tile.PieceOf(bytes, lanes);
  const std::string name = kernel::RowTileMoveName(fill, bytes, lanes, piece);
  SCOPED_TRACE(absl::StrCat(name, ", ", count, " rows of ", size, ", ", pitch, " apart"));
  auto* move = reinterpret_cast<kernel::RowTileMove*>(cpu::FindRuntimeSymbol(name));
  ASSERT_NE(move, nullptr);
  const int64_t there = std::min<int64_t>(count, lanes);
  const int64_t row_bytes = ((there - 1) * pitch + size) * bytes, place_bytes = size * lanes * bytes;
  GuardedMemory rows(row_bytes, bytes, place, 0xa5, 0x11), places(place_bytes, 64, place, 0xa5, 0x22);
  GuardedMemory& from = fill ? rows : places;
  for (int64_t i = 0; i < (fill ? row_bytes : place_bytes); ++i) from.data()[i] = static_cast<uint8_t>(i * 167 >> 3);
  const std::string untouched(reinterpret_cast<char*>(rows.data()), static_cast<size_t>(row_bytes));
  move(reinterpret_cast<char*>(rows.data()), reinterpret_cast<char*>(places.data()), pitch, size, count);
  EXPECT_EQ(rows.Damage(), "");
  EXPECT_EQ(places.Damage(), "");
  for (int64_t row = 0; row < there; ++row) {
    for (int64_t i = 0; i < std::min(pitch, (row_bytes / bytes) - row * pitch); ++i) {
      const uint8_t* in_row = rows.data() + (row * pitch + i) * bytes;
      const void* expected = i < size ? static_cast<const void*>(places.data() + (i * lanes + row) * bytes)
                                      : untouched.data() + (row * pitch + i) * bytes;
      ASSERT_EQ(std::memcmp(in_row, expected, static_cast<size_t>(bytes)), 0) << "row " << row << ", element " << i;
    }
  }
}

// Vectors of 16 to 64 bytes of the widest type, and of half of it; at least four lanes.
TEST(RowTileMoves, EverySizeOfRows) {
  cpu::AddRowTileMoves();
  for (int bytes : {1, 2, 4, 8}) {
    for (int lanes = 4; lanes <= std::min(64 / bytes * (bytes == 8 ? 2 : 1), 64); lanes *= 2) {
      for (int64_t size = 2; size <= 41; ++size) {
        for (bool fill : {true, false}) {
          const Place place = size % 2 == 0 ? Place::kAtItsEnd : Place::kAmongGuardBytes;
          for (int64_t count : {int64_t{1}, int64_t{3}, int64_t{lanes} - 1}) {
            Check(bytes, lanes, size, size + size % 3, count, fill, place);
          }
          // Generated code picks these itself.
          kernel::RowTile tile;
          tile.size = size;
          if (tile.PieceOf(bytes, lanes) == 1) continue;
          Check(bytes, lanes, size, size, lanes, fill, place);
          Check(bytes, lanes, size, 2 * size, lanes + 5, fill, place);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kiln::testing
