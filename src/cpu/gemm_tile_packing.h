// Packing tiles of rows of a product's lhs that lies along m.
#ifndef KILN_CPU_GEMM_TILE_PACKING_H_
#define KILN_CPU_GEMM_TILE_PACKING_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace kiln::cpu {

// What is packed together of a row of lhs: `gemm_bench f32 M N K tn 1` of 1500, 128, 512 takes 0.5 of the time of one
// tile at a time, 1500, 1500, 128 0.88, 1024 each 1.04; with half as many bytes 0.7, 0.92 and 1.07 (Zen 3).
constexpr int64_t kPackedRowBytes = 384;

// Micro-tiles [step][rows] of an lhs that is contiguous along m, of `bytes` of it together. Several at a time, since
// its rows may lie on pages of their own, and in few sets of the caches: lines would be gone before the next tile's
// turn.
inline void PackTiles(const char* from, char* to, int64_t step_stride, int64_t steps, int64_t bytes, int64_t tile_bytes,
                      int64_t tile_stride) {
  for (int64_t step = 0; step < steps; ++step, from += step_stride, to += tile_bytes) {
    for (int64_t tile = 0; tile * tile_bytes < bytes; ++tile) {
      const char* source = from + tile * tile_bytes;
      char* place = to + tile * tile_stride;
      const int64_t row_bytes = std::min(bytes - tile * tile_bytes, tile_bytes);
      int64_t at = 0;
      for (; at + 16 <= row_bytes; at += 16) std::memcpy(place + at, source + at, 16);
      if (at < row_bytes && at >= 16) {
        std::memcpy(place + row_bytes - 16, source + row_bytes - 16, 16);
      } else {
        for (; at < row_bytes; at += 4) std::memcpy(place + at, source + at, 4);
      }
    }
  }
}

}  // namespace kiln::cpu

#endif  // KILN_CPU_GEMM_TILE_PACKING_H_
