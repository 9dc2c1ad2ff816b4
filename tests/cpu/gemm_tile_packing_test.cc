#include "src/cpu/gemm_tile_packing.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace kiln::cpu {
namespace {

// Whole tiles and a part of one, of all widths: every byte is where it belongs, and nothing else is touched.
TEST(GemmTilePacking, PacksEveryByteAndNoOther) {
  constexpr char kUntouched = -1;
  for (int64_t tile_bytes = 4; tile_bytes <= 140; tile_bytes += 4) {
    for (const int64_t steps : {1, 3, 20}) {
      for (const int64_t bytes : {tile_bytes, 3 * tile_bytes, 2 * tile_bytes + 4}) {
        const TilePacking packing = {.step_stride = bytes + 5,
                                     .steps = steps,
                                     .tile_bytes = tile_bytes,
                                     .tile_stride = steps * tile_bytes + 12,
                                     .steps_ahead = steps == 20 ? 8 : 0};
        std::vector<char> from(static_cast<size_t>(steps * packing.step_stride - 5));
        for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i % 127);
        std::vector<char> to(static_cast<size_t>(4 * packing.tile_stride), kUntouched), expected = to;
        for (int64_t step = 0; step < steps; ++step) {
          for (int64_t at = 0; at < bytes; ++at) {
            const int64_t tile = at / tile_bytes;
            expected[static_cast<size_t>(tile * packing.tile_stride + step * tile_bytes + at % tile_bytes)] =
                from[static_cast<size_t>(step * packing.step_stride + at)];
          }
        }
        PackTiles(from.data(), to.data(), packing, bytes);
        EXPECT_EQ(to, expected) << tile_bytes << " bytes, " << steps << " steps, " << bytes << " together";
      }
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
