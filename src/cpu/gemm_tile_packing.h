// Packing tiles of rows of a product's lhs that lies along m.
#ifndef KILN_CPU_GEMM_TILE_PACKING_H_
#define KILN_CPU_GEMM_TILE_PACKING_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace kiln::cpu {

// What is packed together of a row of lhs: `gemm_bench f32 M N K tn 1` of 1500, 128, 512 takes 0.5 of the time of one
// tile at a time, 1500, 1500, 128 0.88, 1024 each 1.04; with half as many bytes 0.7, 0.92 and 1.07 (Zen 3).
constexpr int64_t kPackedRowBytes = 384;

// Micro-tiles [step][rows] of an lhs that is contiguous along m.
struct TilePacking {
  int64_t step_stride, steps;
  int64_t tile_bytes, tile_stride;  // of a step of a tile; of a tile
  int64_t steps_ahead;              // asked for beside each step, 0: none
};

// So many whole tiles, of which a step takes `kPieces` of 16 bytes; the last two of them overlap.
template <int kPieces>
void PackWholeTiles(const char* from, char* to, const TilePacking& packing, int64_t tiles) {
  constexpr int64_t kPiece = 16, kLine = 64;
  const int64_t last = packing.tile_bytes - kPiece;
  for (int64_t step = 0; step < packing.steps; ++step, from += packing.step_stride, to += packing.tile_bytes) {
    if (step + packing.steps_ahead < packing.steps && packing.steps_ahead > 0) {
      const char* const ahead = from + packing.steps_ahead * packing.step_stride;
      for (int64_t at = 0; at < tiles * packing.tile_bytes; at += kLine) __builtin_prefetch(ahead + at);
    }
    const char* source = from;
    char* place = to;
    for (int64_t tile = 0; tile < tiles; ++tile, source += packing.tile_bytes, place += packing.tile_stride) {
      for (int piece = 0; piece < kPieces - 1; ++piece) {
        std::memcpy(place + piece * kPiece, source + piece * kPiece, kPiece);
      }
      std::memcpy(place + last, source + last, kPiece);
    }
  }
}

// `bytes` of each step. Several tiles together, since rows of lhs may lie on pages of their own, and in few sets of the
// caches: lines would be gone before the next tile's turn. The widest tiles are 14 rows of f64.
inline void PackTiles(const char* from, char* to, const TilePacking& packing, int64_t bytes) {
  using Packer = void(const char*, char*, const TilePacking&, int64_t);
  static constexpr Packer* kPackers[] = {nullptr,           PackWholeTiles<1>, PackWholeTiles<2>,
                                         PackWholeTiles<3>, PackWholeTiles<4>, PackWholeTiles<5>,
                                         PackWholeTiles<6>, PackWholeTiles<7>, PackWholeTiles<8>};
  const int64_t pieces = packing.tile_bytes < 16 ? 0 : (packing.tile_bytes + 15) / 16;
  int64_t whole = 0;
  if (pieces > 0 && pieces < static_cast<int64_t>(std::size(kPackers))) {
    whole = bytes / packing.tile_bytes;
    kPackers[pieces](from, to, packing, whole);
  }
  for (int64_t at = whole * packing.tile_bytes; at < bytes; at += packing.tile_bytes, ++whole) {
    const auto row_bytes = static_cast<size_t>(std::min(bytes - at, packing.tile_bytes));
    for (int64_t step = 0; step < packing.steps; ++step) {
      std::memcpy(to + whole * packing.tile_stride + step * packing.tile_bytes, from + at + step * packing.step_stride,
                  row_bytes);
    }
  }
}

}  // namespace kiln::cpu

#endif  // KILN_CPU_GEMM_TILE_PACKING_H_
