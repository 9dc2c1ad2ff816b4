#include "src/cpu/gemm_blocks.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "src/base/rounding.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

// What a thread packs into, kept for the next product.
char* ThreadMemory(int64_t bytes) {
  thread_local std::unique_ptr<char[]> memory;
  thread_local int64_t size = 0;
  if (size < bytes + 64) {
    memory.reset();
    memory.reset(new char[static_cast<size_t>(bytes + 64)]);
    size = bytes + 64;
  }
  return memory.get() + (-reinterpret_cast<uintptr_t>(memory.get()) & 63);
}

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

// Micro-tile [step][rows] of an lhs that is contiguous along m.
void PackTile(const char* from, char* to, int64_t step_stride, int64_t steps, int64_t row_bytes, int64_t tile_bytes) {
  for (int64_t step = 0; step < steps; ++step, from += step_stride, to += tile_bytes) {
    int64_t at = 0;
    for (; at + 16 <= row_bytes; at += 16) std::memcpy(to + at, from + at, 16);
    for (; at < row_bytes; at += 4) std::memcpy(to + at, from + at, 4);
  }
}

// Asks for the rows of rhs that the next stretch of k will need, a few lines before every tile of this one: where they
// come from memory, nothing else foretells them.
class RhsPrefetch {
 public:
  // `rows` of `bytes` each, `stride` apart and `steps` to a run; spread over `calls` of Advance().
  void Begin(const char* rhs, const int64_t* runs, int64_t steps, int64_t rows, int64_t stride, int64_t bytes,
             int64_t calls) {
    rhs_ = rhs, runs_ = runs, steps_ = steps, rows_ = rows, stride_ = stride, bytes_ = bytes;
    lines_per_call_ = CeilDivide(rows * CeilDivide(bytes, kLine), std::max<int64_t>(calls, 1));
    run_ = step_ = at_ = 0;
  }

  void Advance() {
    for (int64_t line = 0; line < lines_per_call_ && rows_ > 0; ++line) {
      __builtin_prefetch(rhs_ + runs_[run_] + step_ * stride_ + at_, 0, 2);
      at_ += kLine;
      if (at_ < bytes_) continue;
      at_ = 0;
      --rows_;
      if (++step_ == steps_) {
        step_ = 0;
        ++run_;
      }
    }
  }

 private:
  static constexpr int64_t kLine = 64;
  const char* rhs_ = nullptr;
  const int64_t* runs_ = nullptr;
  int64_t steps_ = 0, rows_ = 0, stride_ = 0, bytes_ = 0, lines_per_call_ = 0, run_ = 0, step_ = 0, at_ = 0;
};

class BlockRunner {
 public:
  BlockRunner(const GemmBlocks& blocks, void* const* extra, GemmFinish* finish)
      : g_(blocks),
        kernels_(*FindGemmKernels(blocks.kind)),
        runs_lhs_(reinterpret_cast<const int64_t*>(&blocks + 1)),
        runs_rhs_(runs_lhs_ + blocks.runs),
        extra_(extra),
        finish_(finish),
        vectors_(blocks.columns / kernels_.lanes),
        step_bytes_(blocks.columns * kernels_.sum_bytes) {
    const int64_t steps = g_.runs > 1 ? std::min(g_.run_block, g_.runs) * g_.steps : std::min(g_.step_block, g_.steps);
    const int64_t columns = CeilDivide(std::min(g_.column_block, g_.n), g_.columns) * g_.columns;
    in_parts_ = g_.runs > 1 ? g_.run_block < g_.runs : g_.step_block < g_.steps;
    panel_bytes_ = steps * step_bytes_;
    sums_row_ = g_.direct ? g_.out_row : step_bytes_;
    const int64_t rhs_bytes = g_.pack_rhs ? steps * columns * kernels_.sum_bytes : 0;
    const int64_t lhs_bytes = g_.pack_lhs ? CeilDivide(steps * g_.rows * kernels_.sum_bytes, 64) * 64 : 0;
    const int64_t tiles = in_parts_ ? g_.tile_block * (columns / g_.columns) : 1;
    packed_rhs_ = ThreadMemory(rhs_bytes + lhs_bytes + (g_.direct ? 0 : tiles * g_.rows * step_bytes_));
    packed_lhs_ = packed_rhs_ + rhs_bytes;
    sums_ = packed_lhs_ + lhs_bytes;
  }

  void RunTask(int64_t task, const char* lhs, const char* rhs, char* out) {
    const int64_t round = task / g_.tasks;
    task %= g_.tasks;
    const int64_t first_tile = round * g_.round_tiles + task % g_.tile_blocks * g_.tile_block;
    task /= g_.tile_blocks;
    const int64_t n_begin = task % g_.column_blocks * g_.column_block;
    const int64_t batch = task / g_.column_blocks;
    const int64_t all_tiles = g_.row_tiles * OuterCount();
    const int64_t last_tile = std::min(first_tile + g_.tile_block, all_tiles);
    const int64_t n_end = std::min(n_begin + g_.column_block, g_.n);
    const GemmBlockDimension offset = OffsetOf(g_.batch, g_.batch_count, batch);
    lhs += offset.lhs - round * g_.round_lhs;
    rhs += offset.rhs + n_begin * g_.rhs_n;
    out += offset.out;
    if (g_.runs > 1) {
      for (int64_t run = 0; run < g_.runs; run += g_.run_block) {
        const int64_t count = std::min(g_.run_block, g_.runs - run);
        for (int64_t i = 0; g_.pack_rhs && i < count; ++i) {
          Pack(rhs + runs_rhs_[run + i], packed_rhs_ + i * g_.steps * step_bytes_, g_.k_elements, n_end - n_begin);
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
      const char* from = rhs + step * kernels_.depth * g_.rhs_k;
      if (g_.pack_rhs) {
        const int64_t left = g_.k_elements - step * kernels_.depth;
        Pack(from, packed_rhs_, std::min(count * kernels_.depth, left), n_end - n_begin);
      }
      PrefetchNext(from + count * kernels_.depth * g_.rhs_k, runs_rhs_, g_.steps * kernels_.depth,
                   std::min(count, g_.steps - step - count) * kernels_.depth, last_tile - first_tile, n_end - n_begin);
      Multiply({lhs + step * g_.lhs_step, runs_lhs_, nullptr, 1, count, step > 0, step + count == g_.steps},
               g_.pack_rhs ? packed_rhs_ : from, first_tile, last_tile, n_begin, n_end, out, batch);
    }
  }

 private:
  // A stretch of k.
  struct Stretch {
    const char* lhs;
    const int64_t *lhs_runs, *rhs_runs;
    int64_t run_count, steps;
    bool resume, last;
  };

  int64_t OuterCount() const {
    int64_t count = 1;
    for (int64_t i = 0; i < g_.outer_count; ++i) count *= g_.outer[i].size;
    return count;
  }

  void Pack(const char* from, char* to, int64_t elements, int64_t columns) {
    GemmPacking packing;
    packing.k_stride = g_.rhs_k;
    packing.n_stride = g_.rhs_n;
    packing.panel_columns = g_.columns;
    packing.panel_bytes = panel_bytes_;
    const bool along_n = g_.rhs_n * kernels_.depth == kernels_.sum_bytes;
    (along_n ? kernels_.pack_rows : kernels_.pack_columns)(from, to, packing, elements, columns);
  }

  // `rows` follow in rhs.
  void PrefetchNext(const char* rhs, const int64_t* runs, int64_t steps, int64_t rows, int64_t tiles, int64_t columns) {
    const bool along_n = g_.rhs_n * kernels_.depth == kernels_.sum_bytes;
    // With few tiles the products are no slower than the loads, and asking would be in their way.
    constexpr int64_t kMinTiles = 4;
    prefetch_.Begin(rhs, runs, steps, along_n && tiles >= kMinTiles ? rows : 0, g_.rhs_k, columns * g_.rhs_n,
                    tiles * CeilDivide(columns, g_.columns));
  }

  void Multiply(const Stretch& k, const char* rhs, int64_t first_tile, int64_t last_tile, int64_t n_begin,
                int64_t n_end, char* out, int64_t batch) {
    GemmTileStrides strides{g_.lhs_row, g_.lhs_step, g_.pack_rhs ? step_bytes_ : g_.rhs_k, sums_row_};
    if (g_.pack_lhs) {
      strides.lhs_row = kernels_.sum_bytes;
      strides.lhs_step = g_.rows * kernels_.sum_bytes;
    }
    const int64_t panel_stride = g_.pack_rhs ? panel_bytes_ : g_.columns * g_.rhs_n;
    char* sums = sums_;
    for (int64_t tile = first_tile; tile < last_tile; ++tile) {
      const int64_t outer = tile / g_.row_tiles;
      const int64_t m = tile % g_.row_tiles * g_.rows;
      const int64_t rows = std::min(g_.rows, g_.m - m);
      const GemmBlockDimension offset = OffsetOf(g_.outer, g_.outer_count, outer);
      const char* lhs = k.lhs + offset.lhs + m * g_.lhs_row;
      if (g_.pack_lhs) {
        PackTile(lhs, packed_lhs_, g_.lhs_step, k.steps, rows * kernels_.sum_bytes, strides.lhs_step);
        lhs = packed_lhs_;
      }
      char* row_out = out + offset.out;
      const char* panel = rhs;
      for (int64_t n = n_begin; n < n_end; n += g_.columns, panel += panel_stride) {
        const int64_t columns = std::min(g_.columns, n_end - n);
        const int64_t vectors = columns == g_.columns ? vectors_ : CeilDivide(columns, kernels_.lanes);
        prefetch_.Advance();
        GemmTileKernel* kernel = kernels_.tiles[vectors - 1][rows - 1];
        if (g_.direct) {
          kernel(lhs, panel, row_out + m * g_.out_row + n * g_.out_element, strides, k.lhs_runs, k.rhs_runs,
                 k.run_count, k.steps, columns, k.resume);
          continue;
        }
        kernel(lhs, panel, sums, strides, k.lhs_runs, k.rhs_runs, k.run_count, k.steps, vectors * kernels_.lanes,
               k.resume);
        if (k.last) finish_(sums, row_out, extra_, batch * OuterCount() + outer, m, n, rows, columns);
        if (in_parts_) sums += g_.rows * step_bytes_;
      }
    }
  }

  const GemmBlocks& g_;
  const GemmKernels& kernels_;
  const int64_t* const runs_lhs_;
  const int64_t* const runs_rhs_;
  void* const* const extra_;
  GemmFinish* const finish_;
  const int64_t vectors_;
  const int64_t step_bytes_;  // of a packed step of a panel, and of a row of sums
  bool in_parts_ = false;     // sums are made in several goes, and kept for the whole block
  int64_t panel_bytes_ = 0;
  int64_t sums_row_ = 0;
  RhsPrefetch prefetch_;
  char *packed_rhs_ = nullptr, *packed_lhs_ = nullptr, *sums_ = nullptr;
};

}  // namespace

const GemmKernels* FindGemmKernels(GemmKernelKind kind) {
  const HostIsa& host = Host();
  const bool brain = kind == GemmKernelKind::kBrain,
             plain = kind == GemmKernelKind::kF32 || kind == GemmKernelKind::kF64;
  if (!plain && !(brain ? host.brain_dot : host.byte_dot)) return nullptr;
  if (host.compiled_vector_bytes == 64) return GemmKernels512(kind);
  return host.compiled_vector_bytes == 32 ? GemmKernels256(kind) : nullptr;
}

void RunGemmBlocks(const GemmBlocks* blocks, const char* lhs, const char* rhs, char* out, void* const* extra,
                   int64_t begin, int64_t end, GemmFinish* finish) {
  BlockRunner runner(*blocks, extra, finish);
  for (int64_t task = begin; task < end; ++task) runner.RunTask(task, lhs, rhs, out);
}

}  // namespace kiln::cpu
