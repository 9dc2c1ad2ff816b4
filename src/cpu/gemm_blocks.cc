#include "src/cpu/gemm_blocks.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "src/base/cpu_tuning.h"
#include "src/base/float_environment.h"
#include "src/base/rounding.h"
#include "src/cpu/gemm_tile_packing.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/rhs_prefetch.h"
#include "src/cpu/square_transposition.h"
#include "src/cpu/vector_lanes.h"

namespace kiln::cpu {
namespace {

constexpr int64_t kMaxKeptBytes = int64_t{8} << 20;

char* AlignTo64(char* memory) { return memory + (-reinterpret_cast<uintptr_t>(memory) & 63); }

GemmBlockDimension OffsetOf(const GemmBlockDimension* dimensions, int64_t count, int64_t index) {
  GemmBlockDimension offset;
  for (int64_t i = count; i-- > 0;) {
    const int64_t position = i == 0 ? index : index % dimensions[i].size;
    index /= dimensions[i].size;
    offset.lhs += position * dimensions[i].lhs;
    offset.rhs += position * dimensions[i].rhs;
    offset.out += position * dimensions[i].out;
  }
  return offset;
}

// What registers of this thread were last told (GemmKernels::configure), until they are given back.
class TileRegisters {
 public:
  TileRegisters() = default;
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
  ~TileRegisters() {
    if (release_ != nullptr) release_();
  }

  void Configure(const GemmKernels& kernels, int64_t rows, int64_t columns) {
    if (kernels.configure == nullptr || (rows == rows_ && columns == columns_)) return;
    kernels.configure(rows, columns);
    rows_ = rows, columns_ = columns;
    release_ = kernels.release;
  }

 private:
  int64_t rows_ = 0, columns_ = 0;
  void (*release_)() = nullptr;
};

// Tiles side by side, or below each other, whose sums stay in the first-level cache.
constexpr int64_t kFinishedTogether = 4;

class BlockRunner {
 public:
  // With `keeps_rhs`, all of it is packed at once, for RunRows; sums are made in one go then or are the result.
  // `registers` are those of all runners of this thread.
  BlockRunner(const GemmBlocks& blocks, TileRegisters& registers, void* const* extra, GemmFinish* finish,
              bool keeps_rhs = false, GemmMake* make_lhs = nullptr, GemmMake* make_rhs = nullptr)
      : g_(blocks),
        registers_(registers),
        kernels_(*FindGemmKernels(blocks.kind)),
        runs_lhs_(reinterpret_cast<const int64_t*>(&blocks + 1)),
        runs_rhs_(runs_lhs_ + blocks.runs),
        extra_(extra),
        finish_(finish),
        narrow_(blocks.narrow_out == GemmWidening::kNone
                    ? nullptr
                    : FindGemmKernels(GemmKernelKind::kF32)->narrow[static_cast<int64_t>(blocks.narrow_out)]),
        make_lhs_(make_lhs),
        make_rhs_(make_rhs),
        vectors_(blocks.columns / kernels_.lanes),
        step_bytes_(blocks.columns * kernels_.sum_bytes) {
    const int64_t steps = g_.runs > 1 ? std::min(g_.run_block, g_.runs) * g_.steps : std::min(g_.step_block, g_.steps);
    const int64_t panels = CeilDivide(keeps_rhs ? g_.n : std::min(g_.column_block, g_.n), g_.columns);
    in_parts_ = !keeps_rhs && (g_.runs > 1 ? g_.run_block < g_.runs : g_.step_block < g_.steps);
    panel_bytes_ = steps * step_bytes_;
    stretch_bytes_ = panels * panel_bytes_;
    sums_row_ = g_.direct ? g_.out_row : step_bytes_;
    rhs_bytes_ = g_.pack_rhs ? stretch_bytes_ * (keeps_rhs ? CeilDivide(g_.steps, steps) : 1) : 0;
    if (g_.pack_tail) rhs_bytes_ = panel_bytes_;
    packed_tile_bytes_ = g_.pack_lhs ? RoundUp(steps * g_.rows * kernels_.sum_bytes, 64) : 0;
    if (PacksTiles()) taken_tiles_ = std::max<int64_t>(kPackedRowBytes / (g_.rows * kernels_.sum_bytes), 1);
    lhs_bytes_ = taken_tiles_ * packed_tile_bytes_;
    if ((g_.widen_lhs != GemmWidening::kNone || kernels_.take_row != nullptr) && !g_.pack_lhs && make_lhs == nullptr) {
      copied_row_ = PitchOf(steps * kernels_.lhs_bytes);
      lhs_bytes_ = RoundUp(g_.rows * copied_row_, 64);
    }
    if (make_lhs != nullptr) lhs_bytes_ = RoundUp((LhsIsAlongK() ? g_.rows : steps) * g_.lhs_pitch, 64);
    if (g_.widen_rhs != GemmWidening::kNone && !RhsIsAlongN()) {
      piece_bytes_ = g_.columns * PitchOf(steps * kWideBytes) + RoundUp(steps * kNarrowBytes, 64);
    }
    if (make_rhs != nullptr) {
      piece_bytes_ = RoundUp((RhsIsAlongN() ? steps * kernels_.depth : g_.columns) * g_.rhs_pitch, 64);
    }
    // What is finished, by the description alone: RowChainBytes() has no functions.
    const bool finishes = !g_.direct && g_.transposed == 0;
    if (finishes && !in_parts_ && kernels_.take_several && !kernels_.has_offsets) {
      finished_together_ = kFinishedTogether;
    }
    sums_bytes_ = g_.direct ? 0 : (in_parts_ ? g_.tile_block * panels : 2 * finished_together_) * g_.rows * step_bytes_;
    stretch_offsets_ = kernels_.has_offsets ? panels * step_bytes_ : 0;
    offset_bytes_ = stretch_offsets_ * (keeps_rhs ? CeilDivide(g_.steps, steps) : 1);
  }

  // Of the memory that the runner works in, which has to be aligned to 64.
  int64_t bytes() const { return rhs_bytes_ + lhs_bytes_ + piece_bytes_ + sums_bytes_ + offset_bytes_; }
  void UseMemory(char* memory) {
    packed_rhs_ = memory;
    packed_lhs_ = packed_rhs_ + rhs_bytes_;
    piece_ = packed_lhs_ + lhs_bytes_;
    sums_ = piece_ + piece_bytes_;
    offsets_ = sums_ + sums_bytes_;
  }

  void RunTask(int64_t task, const char* lhs, const char* rhs, char* out) {
    const int64_t round = task / g_.tasks;
    task %= g_.tasks;
    // Columns first: a thread goes on with rows that it has padded, or read.
    const int64_t n_begin = task % g_.column_blocks * g_.column_block;
    task /= g_.column_blocks;
    const int64_t first_tile = round * g_.round_tiles + task % g_.tile_blocks * g_.tile_block;
    const int64_t batch = task / g_.tile_blocks;
    const int64_t all_tiles = g_.row_tiles * OuterCount();
    const int64_t last_tile = std::min(first_tile + g_.tile_block, all_tiles);
    const int64_t n_end = std::min(n_begin + g_.column_block, g_.n);
    const GemmBlockDimension offset = OffsetOf(g_.batch, g_.batch_count, batch);
    lhs += offset.lhs - round * g_.round_lhs;
    rhs += offset.rhs + n_begin * g_.rhs_n;
    out += offset.out;
    // The columns that are packed.
    const int64_t first_packed = g_.pack_rhs ? n_begin : TailBegin(n_begin, n_end), packed = n_end - first_packed;
    const char* to_pack = rhs + (first_packed - n_begin) * g_.rhs_n;
    if (g_.runs > 1) {
      for (int64_t run = 0; run < g_.runs; run += g_.run_block) {
        const int64_t count = std::min(g_.run_block, g_.runs - run);
        for (int64_t i = 0, next; packed > 0 && i < count; i = next) {
          // Runs that follow each other in memory at once.
          const int64_t from = runs_rhs_[run + i], run_bytes = g_.k_elements * g_.rhs_k;
          for (next = i + 1; next < count && runs_rhs_[run + next] == from + (next - i) * run_bytes;) ++next;
          Pack(to_pack + from, packed_rhs_ + i * g_.steps * step_bytes_, (next - i) * g_.k_elements, packed);
        }
        PrefetchNext(rhs, runs_rhs_ + run + count, g_.steps, std::min(count, g_.runs - run - count) * g_.steps,
                     last_tile - first_tile, n_end - n_begin);
        Multiply({lhs, runs_lhs_ + run, g_.pack_rhs ? nullptr : runs_rhs_ + run, count, g_.steps, run > 0,
                  run + count == g_.runs},
                 g_.pack_rhs ? packed_rhs_ : rhs, first_tile, last_tile, n_begin, n_end, out, batch);
      }
      return;
    }
    for (int64_t step = 0; step < g_.steps; step += g_.step_block) {
      const int64_t count = std::min(g_.step_block, g_.steps - step);
      const int64_t place = step * kernels_.depth * g_.rhs_k;
      const char* from = rhs + place;
      const int64_t left = g_.k_elements - step * kernels_.depth;
      if (make_rhs_ != nullptr) {
        MakeRhs(batch, step * kernels_.depth, std::min(count * kernels_.depth, left), n_begin, n_end, packed_rhs_);
      } else if (packed > 0) {
        Pack(to_pack + place, packed_rhs_, std::min(count * kernels_.depth, left), packed);
      }
      PrefetchNext(from + count * kernels_.depth * g_.rhs_k, runs_rhs_, g_.steps * kernels_.depth,
                   std::min(count, g_.steps - step - count) * kernels_.depth, last_tile - first_tile, n_end - n_begin);
      Multiply({lhs + step * g_.lhs_step, runs_lhs_, nullptr, 1, count, step > 0, step + count == g_.steps, step},
               g_.pack_rhs ? packed_rhs_ : from, first_tile, last_tile, n_begin, n_end, out, batch);
    }
  }

  // Rows [m_begin, m_end) of a batch, all columns; lhs, rhs and out as of its row 0. rhs is packed if it is new.
  void RunRows(const char* lhs, const char* rhs, char* out, int64_t batch, int64_t m_begin, int64_t m_end,
               bool is_new_rhs) {
    const int64_t panel_stride = PanelStride();
    for (int64_t step = 0; step < g_.steps; step += g_.step_block) {
      const int64_t count = std::min(g_.step_block, g_.steps - step);
      const char* from = rhs + step * kernels_.depth * g_.rhs_k;
      if (g_.pack_rhs) {
        char* packed = packed_rhs_ + step / g_.step_block * stretch_bytes_;
        const int64_t left = g_.k_elements - step * kernels_.depth;
        if (is_new_rhs && make_rhs_ != nullptr) {
          MakeRhs(batch, step * kernels_.depth, std::min(count * kernels_.depth, left), 0, g_.n, packed);
        } else if (is_new_rhs) {
          Pack(from, packed, std::min(count * kernels_.depth, left), g_.n);
        }
        from = packed;
      }
      const Stretch k = {lhs + step * g_.lhs_step, runs_lhs_, nullptr, 1, count, step > 0,
                         step + count == g_.steps, step};
      GemmTileStrides strides = Strides();
      char* offsets = offsets_ + step / g_.step_block * stretch_offsets_;
      if (is_new_rhs) MakeOffsets(k, from, 0, g_.n, offsets);
      const Stretch tile_k = OfTiles(k);
      const auto multiply = [&](int64_t m, int64_t n, int64_t tiles) {
        if (kernels_.has_offsets) strides.offsets = offsets + n * kernels_.sum_bytes;
        MultiplyTile(tile_k, tiles > 1 ? SideBySide(strides, tiles) : strides,
                     HasOwnLhs() ? packed_lhs_ : k.lhs + m * g_.lhs_row, from + n / g_.columns * panel_stride, out,
                     sums_, batch, m, n, std::min(g_.rows, m_end - m), std::min(g_.columns, g_.n - n));
      };
      // Few steps leave room in the first-level cache for all rows beside a panel.
      if (!HasOwnLhs() && count * kernels_.sum_bytes * (m_end - m_begin) <= Host().l1_bytes) {
        for (int64_t n = 0; n < g_.n; n += g_.columns) {
          for (int64_t m = m_begin; m < m_end; m += g_.rows) multiply(m, n, 1);
        }
      } else {
        for (int64_t m = m_begin; m < m_end; m += g_.rows) {
          TakeLhs(k, k.lhs + m * g_.lhs_row, batch, m, std::min(g_.rows, m_end - m));
          for (int64_t n = 0, tiles; n < g_.n; n += tiles * g_.columns) {
            tiles = std::clamp<int64_t>((g_.n - n) / g_.columns, 1, finished_together_);
            multiply(m, n, tiles);
          }
        }
      }
      StoreWaiting();
    }
  }

 private:
  // A stretch of k.
  struct Stretch {
    const char* lhs;
    const int64_t *lhs_runs, *rhs_runs;
    int64_t run_count, steps;
    bool resume, last;
    int64_t first = 0;  // step, of a single run
  };

  int64_t OuterCount() const {
    int64_t count = 1;
    for (int64_t i = 0; i < g_.outer_count; ++i) count *= g_.outer[i].size;
    return count;
  }

  static constexpr int64_t kNarrowBytes = 2, kWideBytes = 4;  // of an element that is widened

  bool RhsIsAlongN() const {
    if (g_.widen_rhs != GemmWidening::kNone) return g_.rhs_n == kNarrowBytes;
    return g_.rhs_n * kernels_.depth == kernels_.sum_bytes;
  }
  bool LhsIsAlongK() const { return g_.lhs_step == kernels_.sum_bytes; }
  // Whether tiles of lhs are made or copied, and how they lie in memory of the thread. Bytes lie along k, so that those
  // in another form are never packed.
  bool HasOwnLhs() const {
    return make_lhs_ != nullptr || g_.pack_lhs != 0 || g_.widen_lhs != GemmWidening::kNone ||
           kernels_.take_row != nullptr;
  }
  // Whether tiles are packed several at a time: all of them are rows that follow each other.
  bool PacksTiles() const {
    return g_.pack_lhs != 0 && make_lhs_ == nullptr && g_.outer_count == 0;
  }
  Stretch OfTiles(const Stretch& k) const {
    if (copied_row_ == 0) return k;
    static constexpr int64_t kNoDistance = 0;
    Stretch tile = k;
    tile.lhs_runs = &kNoDistance;
    tile.steps *= tile.run_count;
    tile.run_count = 1;
    return tile;
  }

  // From one row of so many bytes to the next: whole lines, an odd number of them, since rows of a power of two would
  // share few cache sets.
  static int64_t PitchOf(int64_t bytes) { return RoundUp(bytes, 128) + 64; }

  void Widen(GemmWidening widening, const char* from, char* to, int64_t count) {
    kernels_.widen[static_cast<int64_t>(widening)](from, to, count);
  }

  // Columns along n go to their panels, others to a piece of the size of a panel first.
  void PackWidened(const char* from, char* panel, int64_t elements, int64_t columns) {
    const int64_t pitch = PitchOf(elements * kWideBytes);
    for (int64_t n = 0; n < columns; n += g_.columns, panel += panel_bytes_) {
      const int64_t count = std::min(g_.columns, columns - n);
      if (RhsIsAlongN()) {
        for (int64_t k = 0; k < elements; ++k) {
          char* to = panel + k * step_bytes_;
          Widen(g_.widen_rhs, from + k * g_.rhs_k + n * kNarrowBytes, to, count);
          std::memset(to + count * kWideBytes, 0, static_cast<size_t>((g_.columns - count) * kWideBytes));
        }
        continue;
      }
      for (int64_t i = 0; i < count; ++i) {
        const char* column = from + (n + i) * g_.rhs_n;
        if (g_.rhs_k != kNarrowBytes) {
          char* const together = piece_ + g_.columns * pitch;
          for (int64_t k = 0; k < elements; ++k) {
            std::memcpy(together + k * kNarrowBytes, column + k * g_.rhs_k, kNarrowBytes);
          }
          column = together;
        }
        Widen(g_.widen_rhs, column, piece_ + i * pitch, elements);
      }
      const GemmPacking packing = {kWideBytes, pitch, g_.columns, panel_bytes_};
      kernels_.pack_columns(piece_, panel, packing, elements, count);
    }
  }

  void Pack(const char* from, char* to, int64_t elements, int64_t columns) {
    if (g_.widen_rhs != GemmWidening::kNone) return PackWidened(from, to, elements, columns);
    Pack(from, to, elements, columns, g_.rhs_k, g_.rhs_n);
  }
  void Pack(const char* from, char* to, int64_t elements, int64_t columns, int64_t k_stride, int64_t n_stride) {
    GemmPacking packing;
    packing.k_stride = k_stride;
    packing.n_stride = n_stride;
    packing.panel_columns = g_.columns;
    packing.panel_bytes = panel_bytes_;
    packing.rows_ahead = Tuning().products.pack_ahead_rows;
    (RhsIsAlongN() ? kernels_.pack_rows : kernels_.pack_columns)(from, to, packing, elements, columns);
  }

  // Packs a block of an rhs that is made: in its panels, or in a piece of the size of a panel.
  void MakeRhs(int64_t batch, int64_t k, int64_t elements, int64_t n_begin, int64_t n_end, char* panel) {
    if (g_.rhs_pitch == 0) return make_rhs_(panel, extra_, batch, k, n_begin, elements, n_end - n_begin);
    for (int64_t n = n_begin; n < n_end; n += g_.columns, panel += panel_bytes_) {
      const int64_t columns = std::min(g_.columns, n_end - n);
      if (RhsIsAlongN()) {
        make_rhs_(piece_, extra_, batch, k, n, elements, columns);
        Pack(piece_, panel, elements, columns, g_.rhs_pitch, g_.rhs_n);
      } else {
        make_rhs_(piece_, extra_, batch, n, k, columns, elements);
        Pack(piece_, panel, elements, columns, g_.rhs_k, g_.rhs_pitch);
      }
    }
  }

  // The rows from `m` on of an lhs that is made.
  void MakeLhs(const Stretch& k, int64_t batch, int64_t m, int64_t rows) {
    const int64_t first = k.first * kernels_.depth, count = k.steps * kernels_.depth;
    LhsIsAlongK() ? make_lhs_(packed_lhs_, extra_, batch, m, first, rows, count)
                  : make_lhs_(packed_lhs_, extra_, batch, first, m, count, rows);
  }

  // The rows from `m` on of an lhs that is not read where it lies, at `lhs`.
  void TakeLhs(const Stretch& k, const char* lhs, int64_t batch, int64_t m, int64_t rows) {
    if (make_lhs_ != nullptr) {
      MakeLhs(k, batch, m, rows);
      for (int64_t row = 0; kernels_.take_row != nullptr && row < rows; ++row) {
        char* const made = packed_lhs_ + row * g_.lhs_pitch;
        kernels_.take_row(made, made, k.steps * kernels_.lhs_bytes);
      }
    } else if (copied_row_ != 0) {
      for (int64_t run = 0; run < k.run_count; ++run) {
        const char* from = lhs + k.lhs_runs[run];
        char* to = packed_lhs_ + run * k.steps * kernels_.lhs_bytes;
        for (int64_t row = 0; row < rows; ++row, from += g_.lhs_row, to += copied_row_) {
          if (kernels_.take_row != nullptr) {
            kernels_.take_row(from, to, k.steps * kernels_.sum_bytes);
          } else {
            Widen(g_.widen_lhs, from, to, k.steps);
          }
        }
      }
    } else if (g_.widen_lhs != GemmWidening::kNone) {
      WidenTiles(k, lhs, rows);
    } else if (g_.pack_lhs) {
      const TilePacking packing = {g_.lhs_step, k.steps, g_.rows * kernels_.sum_bytes, packed_tile_bytes_,
                                   Tuning().products.pack_ahead_rows};
      PackTiles(lhs, packed_lhs_, packing, rows * kernels_.sum_bytes);
    }
  }

  // Rows of several tiles at once, some steps of which are in the first-level cache when they are packed.
  void WidenTiles(const Stretch& k, const char* lhs, int64_t rows) {
    constexpr int64_t kSteps = 16;
    alignas(64) char wide[kSteps * kPackedRowBytes];
    for (int64_t step = 0; step < k.steps; step += kSteps) {
      const int64_t steps = std::min(kSteps, k.steps - step);
      for (int64_t i = 0; i < steps; ++i) {
        Widen(g_.widen_lhs, lhs + (step + i) * g_.lhs_step, wide + i * kPackedRowBytes, rows);
      }
      const int64_t tile_bytes = g_.rows * kWideBytes;
      PackTiles(wide, packed_lhs_ + step * tile_bytes, {kPackedRowBytes, steps, tile_bytes, packed_tile_bytes_, 0},
                rows * kWideBytes);
    }
  }

  // `rows` follow in rhs.
  void PrefetchNext(const char* rhs, const int64_t* runs, int64_t steps, int64_t rows, int64_t tiles, int64_t columns) {
    const bool from_memory = RhsIsAlongN() && make_rhs_ == nullptr;
    // With few tiles the products are no slower than the loads, and asking would be in their way.
    constexpr int64_t kMinTiles = 4;
    const bool asks = from_memory && (g_.streams ? Tuning().products.asks_for_streams : tiles >= kMinTiles);
    prefetch_.Begin(rhs, runs, steps, asks ? rows : 0, g_.rhs_k, columns * g_.rhs_n,
                    tiles * CeilDivide(columns, g_.columns));
  }

  GemmTileStrides Strides() const {
    GemmTileStrides strides{g_.lhs_row, g_.lhs_step, g_.pack_rhs ? step_bytes_ : g_.rhs_k, sums_row_};
    if (g_.pack_lhs) {
      strides.lhs_row = kernels_.sum_bytes;
      strides.lhs_step = g_.rows * kernels_.sum_bytes;
    } else if (copied_row_ != 0) {
      strides.lhs_row = copied_row_;
      strides.lhs_step = kernels_.lhs_bytes;
    } else if (make_lhs_ != nullptr) {
      (LhsIsAlongK() ? strides.lhs_row : strides.lhs_step) = g_.lhs_pitch;
    }
    return strides;
  }

  // Where the columns begin that do not fill vectors and are packed where others are not; `n_end`: all do.
  int64_t TailBegin(int64_t n_begin, int64_t n_end) const {
    const int64_t columns = (n_end - n_begin) % g_.columns;
    return g_.pack_tail && columns % kernels_.lanes != 0 ? n_end - columns : n_end;
  }

  // Tiles from `n` on that one call of a kernel computes: calls are a fourth of the time of tiles of eight steps, and
  // of finish take up to a tenth of a microsecond.
  int64_t TilesTogether(const Stretch& k, int64_t n, int64_t tail) const {
    constexpr int64_t kFewSteps = 64;
    const int64_t tiles = (tail - n) / g_.columns;
    if (!g_.direct) return std::min(finished_together_, tiles);
    return kernels_.take_several && !kernels_.has_offsets && k.steps <= kFewSteps ? tiles : 1;
  }

  GemmTileStrides SideBySide(GemmTileStrides strides, int64_t tiles) const {
    strides.tiles = tiles;
    strides.rhs_tile = PanelStride();
    strides.sums_tile = g_.direct ? g_.columns * g_.out_column : step_bytes_;
    if (!g_.direct) strides.sums_row = tiles * step_bytes_;
    return strides;
  }

  int64_t PanelStride() const { return g_.pack_rhs ? panel_bytes_ : g_.columns * g_.rhs_n; }

  // `out` is where row 0 of the outer iteration `outer` begins, `lhs` the tile's.
  void MultiplyTile(const Stretch& k, const GemmTileStrides& strides, const char* lhs, const char* panel, char* out,
                    char* sums, int64_t outer, int64_t m, int64_t n, int64_t rows, int64_t columns) {
    const int64_t vectors = columns == g_.columns ? vectors_ : CeilDivide(columns, kernels_.lanes);
    GemmTileKernel* kernel = kernels_.tiles[vectors - 1][rows - 1];
    registers_.Configure(kernels_, rows, g_.direct ? columns : vectors * kernels_.lanes);
    if (g_.direct) {
      kernel(lhs, panel, out + m * g_.out_row + n * g_.out_column, strides, k.lhs_runs, k.rhs_runs, k.run_count,
             k.steps, columns, k.resume);
      return;
    }
    const bool goes_on = strides.tiles == 1 && GoesOn(out, outer, m, n, rows, columns);
    if (goes_on) {
      sums = waiting_.sums + waiting_.rows * step_bytes_;
    } else if (!in_parts_) {
      // Sums that are no longer wanted once they are stored lie in one of two places.
      sums += is_second_ ? g_.rows * finished_together_ * step_bytes_ : 0;
      is_second_ = !is_second_;
    }
    kernel(lhs, panel, sums, strides, k.lhs_runs, k.rhs_runs, k.run_count, k.steps, vectors * kernels_.lanes, k.resume);
    if (!k.last) return;
    if (goes_on) {
      waiting_.rows += rows;
      return;
    }
    StoreWaiting();
    waiting_ = {sums, out, outer, m, n, rows, columns * strides.tiles, strides.sums_row};
    if (finished_together_ == 1 && !kernels_.has_matrix_registers) StoreWaiting();
  }

  // Whether a tile goes on below those whose sums wait, and is finished with them.
  bool GoesOn(const char* out, int64_t outer, int64_t m, int64_t n, int64_t rows, int64_t columns) const {
    const Sums& w = waiting_;
    return finished_together_ > 1 && w.sums != nullptr && w.out == out && w.outer == outer && w.n == n &&
           w.m + w.rows == m && w.columns == columns && w.rows + rows <= finished_together_ * g_.rows;
  }

  // Those of matrix registers are read much later than they are written: only the next tile's behind it. Others wait
  // for tiles below that are finished with them.
  struct Sums {
    char* sums = nullptr;
    char* out = nullptr;
    int64_t outer = 0, m = 0, n = 0, rows = 0, columns = 0, row_bytes = 0;
  };
  void StoreWaiting() {
    const Sums w = std::exchange(waiting_, {});
    if (w.sums != nullptr) StoreTile(w);
  }

  // Takes a tile's sums to the result, of which kernels have not stored them directly.
  void StoreTile(const Sums& tile) {
    const auto& [sums, out, outer, m, n, rows, columns, row_bytes] = tile;
    char* const place = out + m * g_.out_row + n * g_.out_column;
    alignas(64) char narrow_sums[kMaxTileRows * kMaxTileVectors * kVectorBytes / 2];
    const bool is_narrow = g_.transposed == kNarrowBytes;
    char* results = sums;
    int64_t results_row = step_bytes_;
    if (finish_ != nullptr) {
      finish_(sums, out, extra_, outer, m, n, rows, columns, row_bytes);
    } else if (narrow_ != nullptr) {
      if (is_narrow) {
        results = narrow_sums;
        results_row = g_.columns * kNarrowBytes;
        narrow_(sums, results, step_bytes_, results_row, kNarrowBytes, rows, columns);
      } else {
        narrow_(sums, place, row_bytes, g_.out_row, g_.out_column, rows, columns);
      }
    }
    if (g_.transposed == 0) return;
    if (!is_narrow) {
      kernels_.store_columns(results, place, results_row, g_.out_row, g_.out_column, rows, columns);
      return;
    }
    StoreNarrowColumns(results, place, results_row, rows, columns);
  }

  void StoreNarrowColumns(const char* results, char* place, int64_t results_row, int64_t rows, int64_t columns) const {
    if (g_.out_row == kNarrowBytes) {
      int64_t places[kMaxTileRows];
      for (int64_t row = 0; row < rows; ++row) places[row] = row * results_row / kNarrowBytes;
      SquareTranspositionOf(kNarrowBytes)(results, place, places, g_.out_column / kNarrowBytes, rows, columns,
                                          /*streams=*/0);
      return;
    }
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < columns; ++n) {
        std::memcpy(place + row * g_.out_row + n * g_.out_column, results + row * results_row + n * kNarrowBytes,
                    kNarrowBytes);
      }
    }
  }

  // The offsets of columns [n_begin, n_end), of which rhs has the panels.
  void MakeOffsets(const Stretch& k, const char* rhs, int64_t n_begin, int64_t n_end, char* offsets) {
    if (!kernels_.has_offsets) return;
    constexpr uint32_t kFlippedZeros = 0x80808080;
    constexpr int64_t kNoDistance = 0;
    GemmTileStrides strides = Strides();
    strides.lhs_step = 0;
    for (int64_t n = n_begin; n < n_end; n += g_.columns, rhs += PanelStride(), offsets += step_bytes_) {
      const int64_t vectors = CeilDivide(std::min(g_.columns, n_end - n), kernels_.lanes);
      GemmTileKernel* kernel = kernels_.tiles[vectors - 1][0];
      for (int64_t run = 0; run < k.run_count; ++run) {
        kernel(reinterpret_cast<const char*>(&kFlippedZeros),
               rhs + (k.rhs_runs != nullptr ? k.rhs_runs[run] : run * k.steps * strides.rhs_step), offsets, strides,
               &kNoDistance, nullptr, 1, k.steps, vectors * kernels_.lanes, run > 0);
      }
    }
  }

  void Multiply(const Stretch& k, const char* rhs, int64_t first_tile, int64_t last_tile, int64_t n_begin,
                int64_t n_end, char* out, int64_t batch) {
    GemmTileStrides strides = Strides();
    MakeOffsets(k, rhs, n_begin, n_end, offsets_);
    const Stretch tile_k = OfTiles(k);
    const int64_t panel_stride = PanelStride();
    const int64_t tail = TailBegin(n_begin, n_end);
    GemmTileStrides tail_strides = strides;
    tail_strides.rhs_step = step_bytes_;
    Stretch tail_k = tile_k;
    tail_k.rhs_runs = nullptr;
    char* sums = sums_;
    for (int64_t tile = first_tile; tile < last_tile; ++tile) {
      const int64_t outer = tile / g_.row_tiles;
      const int64_t m = tile % g_.row_tiles * g_.rows;
      const int64_t rows = std::min(g_.rows, g_.m - m);
      const GemmBlockDimension offset = OffsetOf(g_.outer, g_.outer_count, outer);
      const char* lhs = k.lhs + offset.lhs + m * g_.lhs_row;
      if (HasOwnLhs()) {
        const int64_t place = (tile - first_tile) % taken_tiles_;
        const int64_t tiles = std::min(taken_tiles_, last_tile - tile);
        if (place == 0) TakeLhs(k, lhs, batch, m, std::min(tiles * g_.rows, g_.m - m));
        lhs = packed_lhs_ + place * packed_tile_bytes_;
      }
      // The next tile's rows, some for each panel.
      const int64_t next_tile = tile + 1;
      const char* next_lhs = nullptr;
      int64_t next_rows = 0, rows_per_panel = 0;
      if (kernels_.has_matrix_registers && !HasOwnLhs() && next_tile < last_tile) {
        const int64_t next_m = next_tile % g_.row_tiles * g_.rows;
        next_lhs = k.lhs + OffsetOf(g_.outer, g_.outer_count, next_tile / g_.row_tiles).lhs + next_m * g_.lhs_row;
        next_rows = std::min(g_.rows, g_.m - next_m);
        rows_per_panel = CeilDivide(next_rows, CeilDivide(n_end - n_begin, g_.columns));
      }
      const char* panel = rhs;
      int64_t n = n_begin;
      for (int64_t tiles = 0; (tiles = TilesTogether(k, n, tail)) > 1;) {
        for (int64_t i = 0; i < tiles; ++i) prefetch_.Advance();
        MultiplyTile(tile_k, SideBySide(strides, tiles), lhs, panel, out + offset.out, sums,
                     batch * OuterCount() + outer, m, n, rows, g_.columns);
        n += tiles * g_.columns;
        panel += tiles * panel_stride;
      }
      for (; n < n_end; n += g_.columns, panel += panel_stride) {
        prefetch_.Advance();
        if (kernels_.has_offsets) strides.offsets = offsets_ + (n - n_begin) * kernels_.sum_bytes;
        const bool in_tail = n >= tail;
        strides.next_lhs = next_lhs;
        strides.next_rows = std::min(rows_per_panel, next_rows);
        next_lhs += strides.next_rows * g_.lhs_row;
        next_rows -= strides.next_rows;
        MultiplyTile(in_tail ? tail_k : tile_k, in_tail ? tail_strides : strides, lhs, in_tail ? packed_rhs_ : panel,
                     out + offset.out, sums, batch * OuterCount() + outer, m, n, rows, std::min(g_.columns, n_end - n));
        if (in_parts_) sums += g_.rows * step_bytes_;
      }
    }
    StoreWaiting();
  }

  const GemmBlocks& g_;
  TileRegisters& registers_;
  const GemmKernels& kernels_;
  const int64_t* const runs_lhs_;
  const int64_t* const runs_rhs_;
  void* const* const extra_;
  GemmFinish* const finish_;
  GemmStore* const narrow_;
  GemmMake *const make_lhs_, *const make_rhs_;
  const int64_t vectors_;
  const int64_t step_bytes_;                     // of a packed step of a panel, and of a row of sums
  bool in_parts_ = false;                        // sums are made in several goes, and kept for the whole block
  int64_t panel_bytes_ = 0, stretch_bytes_ = 0;  // of a panel, and of all panels of a stretch of k
  int64_t sums_row_ = 0;
  int64_t finished_together_ = 1;  // tiles whose sums are stored before they are finished
  int64_t rhs_bytes_ = 0, lhs_bytes_ = 0, piece_bytes_ = 0, sums_bytes_ = 0, offset_bytes_ = 0;  // of memory
  int64_t taken_tiles_ = 1;        // of an lhs that is made, copied or packed, at a time
  int64_t packed_tile_bytes_ = 0;  // of one that is packed
  int64_t copied_row_ = 0;         // bytes between rows of a tile of lhs in another form; 0: it lies along m
  int64_t stretch_offsets_ = 0;    // bytes of the offsets of a stretch of k
  RhsPrefetch prefetch_;
  Sums waiting_;
  bool is_second_ = false;
  char *packed_rhs_ = nullptr, *packed_lhs_ = nullptr, *piece_ = nullptr, *sums_ = nullptr, *offsets_ = nullptr;
};

}  // namespace

char* ThreadMemory(int64_t bytes) {
  thread_local std::unique_ptr<char[]> memory;
  thread_local int64_t size = 0;
  if (size < bytes + 64) {
    memory.reset();
    memory.reset(new char[static_cast<size_t>(bytes + 64)]);
    size = bytes + 64;
  }
  return AlignTo64(memory.get());
}

namespace {

constinit std::atomic<bool> pretend_amx{false};

bool HasAmx(GemmKernelKind kind) {
  return kind == GemmKernelKind::kAmxBrain ? Host().matrix_brain_dot : Host().matrix_byte_dot;
}

}  // namespace

bool HasGroups(GemmKernelKind kind) {
  if (kind == GemmKernelKind::kBrain) return Host().brain_dot;
  return kind < GemmKernelKind::kBrain || Host().byte_dot;
}

bool MultipliesWithAmx(GemmKernelKind kind) { return HasAmx(kind) || pretend_amx.load(); }

void PretendAmxForTest(bool pretend) { pretend_amx.store(pretend); }

const GemmKernels* FindGemmKernels(GemmKernelKind kind) {
  const HostIsa& host = Host();
  if (IsAmx(kind)) {
    const GemmKernels* kernels = HasAmx(kind) ? GemmKernelsAmx(kind) : nullptr;
    return kernels != nullptr ? kernels : GemmKernelsPlainAmx(kind);
  }
  if (host.compiled_vector_bytes == 64) return HasGroups(kind) ? GemmKernels512(kind) : nullptr;
  return host.compiled_vector_bytes == 32 ? GemmKernels256(kind) : GemmKernels128(kind);
}

void RunGemmBlocks(const GemmBlocks* blocks, const char* lhs, const char* rhs, char* out, void* const* extra,
                   int64_t begin, int64_t end, GemmFinish* finish, GemmMake* make_lhs, GemmMake* make_rhs) {
  const FlushedFloatEnvironment environment;
  TileRegisters registers;
  BlockRunner runner(*blocks, registers, extra, finish, /*keeps_rhs=*/false, make_lhs, make_rhs);
  runner.UseMemory(ThreadMemory(runner.bytes()));
  for (int64_t task = begin; task < end; ++task) runner.RunTask(task, lhs, rhs, out);
}

namespace {

const RowChainValue* ValuesOf(const RowChainBlocks& chain) {
  return reinterpret_cast<const RowChainValue*>(&chain + 1);
}

const RowChainStep* FirstStep(const RowChainBlocks& chain) {
  return reinterpret_cast<const RowChainStep*>(ValuesOf(chain) + chain.values);
}

const RowChainStep* NextStep(const RowChainStep* step) {
  return reinterpret_cast<const RowChainStep*>(reinterpret_cast<const int64_t*>(step) + step->words);
}

const int64_t* PointersOf(const RowChainStep& step) { return reinterpret_cast<const int64_t*>(&step + 1); }

const GemmBlocks& ProductOf(const RowChainStep& step) {
  return *reinterpret_cast<const GemmBlocks*>(PointersOf(step) + step.pointers);
}

// On either side of the values there is as much memory as a group has: vectors of a kernel may begin before the array's
// part that is there, lanes that nobody asks for among them.
int64_t GuardBytes(const RowChainBlocks& chain) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < chain.values; ++i) bytes = std::max(bytes, ValuesOf(chain)[i].group_bytes);
  return RoundUp(bytes, 64) + int64_t{4096};
}

int64_t ValueBytes(const RowChainBlocks& chain) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < chain.values; ++i) {
    const RowChainValue& value = ValuesOf(chain)[i];
    const int64_t parts = value.shared > 1 ? 1 : chain.block;
    bytes = std::max(bytes, value.place + RoundUp(parts * value.group_bytes, 64));
  }
  return bytes + 2 * GuardBytes(chain);
}

}  // namespace

int64_t RowChainBytes(const RowChainBlocks* chain) {
  int64_t bytes = ValueBytes(*chain) + RoundUp(chain->pointers * static_cast<int64_t>(sizeof(void*)), 64);
  const RowChainStep* step = FirstStep(*chain);
  for (int64_t i = 0; i < chain->steps; ++i, step = NextStep(step)) {
    if (step->is_product == 0) continue;
    // Sides that are made take room whatever the function.
    GemmMake* const make = [](char*, void* const*, int64_t, int64_t, int64_t, int64_t, int64_t) {};
    const GemmBlocks& product = ProductOf(*step);
    TileRegisters registers;
    const BlockRunner runner(product, registers, nullptr, nullptr, /*keeps_rhs=*/true,
                             product.lhs_pitch != 0 ? make : nullptr, product.rhs_pitch != 0 ? make : nullptr);
    bytes += RoundUp(runner.bytes(), 64);
  }
  return bytes;
}

void RunRowChain(const RowChainBlocks* blocks, void* const* arrays, void* const* functions, int64_t begin,
                 int64_t end) {
  const FlushedFloatEnvironment environment;
  const RowChainBlocks& chain = *blocks;
  const RowChainValue* const values = ValuesOf(chain);
  // What is much is not kept.
  const int64_t bytes = RowChainBytes(&chain);
  const std::unique_ptr<char[]> own(bytes > kMaxKeptBytes ? new char[static_cast<size_t>(bytes + 64)] : nullptr);
  char* memory = own != nullptr ? AlignTo64(own.get()) : ThreadMemory(bytes);
  char* const places = memory + GuardBytes(chain);
  memory += ValueBytes(chain);
  void** const pointers = reinterpret_cast<void**>(memory);
  memory += RoundUp(chain.pointers * static_cast<int64_t>(sizeof(void*)), 64);
  struct Step {
    const RowChainStep& data;
    void* const* functions;
    void** pointers;
    std::optional<BlockRunner> product;
    int64_t packed_rhs = -1, made = -1;
  };
  TileRegisters registers;
  absl::InlinedVector<Step, 4> steps;
  steps.reserve(static_cast<size_t>(chain.steps));
  const RowChainStep* data = FirstStep(chain);
  for (int64_t i = 0, used = 0; i < chain.steps; used += data->pointers, ++i, data = NextStep(data)) {
    Step& step = steps.emplace_back(Step{*data, functions + 3 * i, pointers + used});
    if (data->is_product == 0) continue;
    step.product.emplace(ProductOf(*data), registers, step.pointers, reinterpret_cast<GemmFinish*>(step.functions[0]),
                         /*keeps_rhs=*/true, reinterpret_cast<GemmMake*>(step.functions[1]),
                         reinterpret_cast<GemmMake*>(step.functions[2]));
    step.product->UseMemory(memory);
    memory += RoundUp(step.product->bytes(), 64);
  }
  for (int64_t task = begin; task < end; ++task) {
    const int64_t in_batch = task % chain.blocks * chain.block;
    const int64_t first = task / chain.blocks * chain.groups + in_batch;
    const int64_t count = std::min(chain.block, chain.groups - in_batch);
    const auto array = [&](int64_t number) {
      if (number < chain.arrays) return static_cast<char*>(arrays[number]);
      const RowChainValue& value = values[number - chain.arrays];
      return places + value.place - first / value.shared * value.group_bytes;
    };
    for (Step& step : steps) {
      for (int64_t i = 0; i < step.data.pointers; ++i) step.pointers[i] = array(PointersOf(step.data)[i]);
      if (!step.product.has_value()) {
        const int64_t group = step.data.group, per_task = step.data.groups_of_task;
        const bool is_shared = step.data.shared > 1;
        const int64_t part = first / step.data.shared, parts = is_shared ? 1 : count;
        if (is_shared && std::exchange(step.made, part) == part) continue;
        reinterpret_cast<RowChainKernel*>(step.functions[0])(step.pointers, part * group / per_task,
                                                             CeilDivide((part + parts) * group, per_task));
        continue;
      }
      const GemmBlocks& product = ProductOf(step.data);
      const int64_t row = first * step.data.group, batch = row / product.m, m = row % product.m;
      const GemmBlockDimension at = OffsetOf(product.batch, product.batch_count, batch);
      step.product->RunRows(array(step.data.lhs) + step.data.lhs_offset + at.lhs,
                            array(step.data.rhs) + step.data.rhs_offset + at.rhs, array(step.data.out) + at.out, batch,
                            m, m + count * step.data.group, at.rhs != step.packed_rhs);
      step.packed_rhs = at.rhs;
    }
  }
}

}  // namespace kiln::cpu
