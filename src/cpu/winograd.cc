#include "src/cpu/winograd.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "src/base/float_environment.h"
#include "src/base/rounding.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

using WinogradDimension = WinogradProduct::Dimension;

constexpr int64_t kElement = sizeof(float);
constexpr int64_t kTaps = 3;

// The first place of tile number `index`, which has the next one `dilation` behind it: tiles of places that are a
// multiple of the dilation apart follow each other.
int64_t FirstPlace(const WinogradDimension& d, int64_t index) {
  for (int64_t first = 0;; ++first) {
    const int64_t tiles = CeilDivide(CeilDivide(d.places - first, d.dilation), kWinogradResults);
    if (index < tiles) return first + index * kWinogradResults * d.dilation;
    index -= tiles;
  }
}

// Weights [tap][channel][columns] as kernels read them: where they lie, or copied to there from where channels are
// neighbours, or channels and taps.
class WeightPanels {
 public:
  explicit WeightPanels(const WinogradProduct& product)
      : g_(product),
        pack_(FindGemmKernels(GemmKernelKind::kF32)->pack_columns),
        in_place_(product.rhs_feature == kElement) {}

  struct Panel {
    const char* from;
    int64_t row, column, channel;  // strides
  };

  // Of `channels` from `first` on, and `columns` from `feature` on. Holds until the next call.
  Panel Find(const char* rhs, int64_t feature, int64_t columns, int64_t first, int64_t channels) {
    rhs += feature * g_.rhs_feature + first * g_.rhs_channel;
    const int64_t row = g_.space[0].rhs, column = g_.space[1].rhs;
    if (in_place_) return {rhs, row, column, g_.rhs_channel};
    const int64_t step = g_.columns * kElement;
    copy_.resize(static_cast<size_t>(kTaps * kTaps * channels * g_.columns));
    char* to = reinterpret_cast<char*>(copy_.data());
    GemmPacking packing{.k_stride = kElement, .n_stride = g_.rhs_feature, .panel_columns = g_.columns};
    if (g_.rhs_channel == kElement) {
      for (int64_t tap = 0; tap < kTaps * kTaps; ++tap) {
        pack_(rhs + tap / kTaps * row + tap % kTaps * column, to + tap * channels * step, packing, channels, columns);
      }
      return {to, kTaps * channels * step, channels * step, step};
    }
    pack_(rhs, to, packing, channels * kTaps * kTaps, columns);
    return {to, kTaps * step, step, kTaps * kTaps * step};
  }

 private:
  const WinogradProduct& g_;
  GemmPack* const pack_;
  const bool in_place_;
  std::vector<float> copy_;
};

class WinogradRunner {
 public:
  WinogradRunner(const WinogradProduct& product, const char* rhs, void* const* extra, GemmFinish* finish)
      : g_(product),
        gemm_(*FindGemmKernels(GemmKernelKind::kF32)),
        kernels_(*FindWinogradKernels()),
        rhs_(rhs),
        extra_(extra),
        finish_(finish),
        weights_(product),
        // Rows a power of two apart would share few sets of the cache.
        input_row_(product.channels * kElement + 64),
        input_element_(product.tile_block * input_row_),
        sums_row_(product.columns * kElement),
        sums_element_(product.rows * sums_row_),
        strip_row_(kStripPlaces * product.channels * kElement),
        copies_inputs_(product.lhs_channel != kElement),
        stores_results_(product.direct != 0 && product.out_feature == kElement) {
    const int64_t inputs = kWinogradElements * input_element_, sums = kWinogradElements * sums_element_;
    const int64_t strip = copies_inputs_ ? kWinogradInputs * strip_row_ : 0;
    const int64_t results = kWinogradResults * kWinogradResults * sums_element_;
    inputs_ = ThreadMemory(inputs + sums + results + strip + sums_row_ + g_.channels * kElement);
    sums_ = inputs_ + inputs;
    results_ = sums_ + sums;
    strip_ = results_ + results;
    nowhere_ = strip_ + strip;
    zeros_ = nowhere_ + sums_row_;
    std::memset(zeros_, 0, static_cast<size_t>(g_.channels * kElement));
  }

  // `weights` are those of the round's first panel, `panel` its number.
  void RunTask(int64_t task, int64_t panel, const char* weights, const char* lhs, char* out) {
    const int64_t first = task % g_.tile_blocks * g_.tile_block, last = std::min(first + g_.tile_block, g_.tiles);
    const int64_t begin = task / g_.tile_blocks * g_.panel_block;
    const int64_t end = std::min({begin + g_.panel_block, g_.round_panels, g_.panels - panel});
    if (begin >= end) return;
    ForStrips(first, last, [&](int64_t tile, int64_t count) {
      LoadInputs(tile, count, lhs, inputs_ + (tile - first) * input_row_);
    });
    const GemmTileStrides strides{input_row_, kElement, sums_row_, sums_row_};
    constexpr int64_t kRun = 0;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t feature = (panel + i) * g_.columns, columns = std::min(g_.columns, g_.features - feature);
      const int64_t vectors = columns / gemm_.lanes;
      for (int64_t row = first; row < last; row += g_.rows) {
        const int64_t rows = std::min(g_.rows, last - row);
        for (int64_t element = 0; element < kWinogradElements; ++element) {
          gemm_.tiles[vectors - 1][rows - 1](inputs_ + element * input_element_ + (row - first) * input_row_,
                                             weights + (i * kWinogradElements + element) * g_.channels * sums_row_,
                                             sums_ + element * sums_element_, strides, &kRun, nullptr, 1, g_.channels,
                                             columns, /*resume=*/false);
        }
        ForStrips(row, row + rows, [&](int64_t tile, int64_t count) {
          StoreResults(tile, count, sums_ + (tile - row) * sums_row_, feature, columns, lhs, out);
        });
      }
    }
  }

 private:
  static constexpr int64_t kStripTiles = 16;
  static constexpr int64_t kStripPlaces = kStripTiles * kWinogradResults + kWinogradInputs - kWinogradResults;

  struct TilePlace {
    int64_t batch, y, x;
  };

  TilePlace TileOf(int64_t tile) const {
    const int64_t across = g_.space[1].tiles, down = g_.space[0].tiles;
    return {tile / across / down, FirstPlace(g_.space[0], tile / across % down),
            FirstPlace(g_.space[1], tile % across)};
  }

  // run(tile, count) for strips of tiles whose places are neighbours.
  template <typename Run>
  void ForStrips(int64_t begin, int64_t end, const Run& run) const {
    const WinogradDimension& across = g_.space[1];
    for (int64_t tile = begin; tile < end;) {
      const int64_t left = std::min({end - tile, across.tiles - tile % across.tiles, kStripTiles});
      const int64_t count = across.dilation == 1 ? left : 1;
      run(tile, count);
      tile += count;
    }
  }

  // Of `count` tiles from number `index` on.
  void LoadInputs(int64_t index, int64_t count, const char* lhs, char* to) const {
    const WinogradDimension &down = g_.space[0], &across = g_.space[1];
    const TilePlace tile = TileOf(index);
    const int64_t y = tile.y - down.low;
    int64_t x = tile.x - across.low;
    lhs += tile.batch * g_.lhs_batch + y * down.lhs + x * across.lhs;
    int64_t row = down.dilation * down.lhs, column = across.dilation * across.lhs;
    if (copies_inputs_) {
      CopyInputs(y, x, count * kWinogradResults + kWinogradInputs - kWinogradResults, lhs);
      lhs = strip_;
      row = strip_row_;
      column = g_.channels * kElement;
    }
    constexpr int64_t kLast = kWinogradInputs - 1;
    const int64_t bytes = g_.channels * kElement;
    for (; count > 0; --count, to += input_row_, x += kWinogradResults, lhs += kWinogradResults * column) {
      if (y >= 0 && x >= 0 && y + kLast * down.dilation < down.inputs && x + kLast * across.dilation < across.inputs) {
        const char* rows[kWinogradInputs];
        for (int64_t i = 0; i < kWinogradInputs; ++i) rows[i] = lhs + i * row;
        kernels_.whole_inputs(rows, column, to, input_element_, bytes);
        continue;
      }
      const char* from[kWinogradElements];
      for (int64_t i = 0; i < kWinogradElements; ++i) {
        const int64_t at_y = y + i / kWinogradInputs * down.dilation, at_x = x + i % kWinogradInputs * across.dilation;
        const bool exists = at_y >= 0 && at_y < down.inputs && at_x >= 0 && at_x < across.inputs;
        from[i] = exists ? lhs + i / kWinogradInputs * row + i % kWinogradInputs * column : zeros_;
      }
      kernels_.inputs(from, to, input_element_, bytes);
    }
  }

  // The inputs of a strip that exist, [row][place][channel], from where places are neighbours.
  void CopyInputs(int64_t y, int64_t x, int64_t places, const char* lhs) const {
    const WinogradDimension &down = g_.space[0], &across = g_.space[1];
    const int64_t begin = std::max<int64_t>(-x, 0), end = std::min(places, across.inputs - x);
    if (begin >= end) return;
    const GemmPacking packing{.k_stride = kElement, .n_stride = g_.lhs_channel, .panel_columns = g_.channels};
    for (int64_t i = 0; i < kWinogradInputs; ++i) {
      const int64_t at_y = y + i * down.dilation;
      if (at_y < 0 || at_y >= down.inputs) continue;
      gemm_.pack_columns(lhs + i * down.dilation * down.lhs + begin * across.lhs,
                         strip_ + i * strip_row_ + begin * g_.channels * kElement, packing, end - begin, g_.channels);
    }
  }

  void StoreResults(int64_t index, int64_t count, const char* sums, int64_t feature, int64_t columns, const char* lhs,
                    char* out) {
    const WinogradDimension &down = g_.space[0], &across = g_.space[1];
    const TilePlace tile = TileOf(index);
    const int64_t results_row = g_.rows * kWinogradResults * sums_row_;
    for (int64_t j = 0; j < count; ++j) {
      const TilePlace at = {tile.batch, tile.y, tile.x + j * kWinogradResults};
      char* to[kWinogradResults * kWinogradResults];
      for (int64_t i = 0; i < kWinogradResults * kWinogradResults; ++i) {
        to[i] = stores_results_ ? ResultPlace(at, i, feature, out)
                                : results_ + i / kWinogradResults * results_row +
                                      (j * kWinogradResults + i % kWinogradResults) * sums_row_;
      }
      if (kernels_.results(sums + j * sums_row_, sums_element_, to, columns * kElement)) continue;
      for (int64_t i = 0; i < kWinogradResults * kWinogradResults; ++i) {
        if (to[i] != nowhere_) SumTaps(at, i, feature, columns, lhs, to[i]);
      }
    }
    if (stores_results_) return;
    // Places that are neighbours, or the two of a tile one by one.
    const bool together = across.dilation == 1;
    const int64_t places = together ? std::min(count * kWinogradResults, across.places - tile.x)
                                    : CeilDivide(across.places - tile.x, across.dilation);
    for (int64_t i = 0; i < kWinogradResults; ++i) {
      const int64_t y = tile.y + i * down.dilation;
      if (y >= down.places) break;
      char* row = out + tile.batch * g_.out_batch + y * down.out;
      char* from = results_ + i * results_row;
      if (g_.direct) {
        gemm_.store_columns(from, row + tile.x * across.out + feature * g_.out_feature, sums_row_, kElement,
                            g_.out_feature, places, columns);
      } else if (together) {
        finish_(from, row, extra_, tile.batch * down.places + y, tile.x, feature, places, columns, sums_row_);
      } else {
        for (int64_t j = 0; j < std::min<int64_t>(places, kWinogradResults); ++j) {
          finish_(from + j * sums_row_, row, extra_, tile.batch * down.places + y, tile.x + j * across.dilation,
                  feature, 1, columns, sums_row_);
        }
      }
    }
  }

  // Where result number `i` of a tile goes.
  char* ResultPlace(const TilePlace& tile, int64_t i, int64_t feature, char* out) const {
    const WinogradDimension &down = g_.space[0], &across = g_.space[1];
    const int64_t y = tile.y + i / kWinogradResults * down.dilation,
                  x = tile.x + i % kWinogradResults * across.dilation;
    if (y >= down.places || x >= across.places) return nowhere_;
    return out + tile.batch * g_.out_batch + y * down.out + x * across.out + feature * kElement;
  }

  // The same result as the sum over taps: infinite inputs have differences that are no number.
  void SumTaps(const TilePlace& tile, int64_t i, int64_t feature, int64_t columns, const char* lhs, char* to) {
    const WinogradDimension &down = g_.space[0], &across = g_.space[1];
    const int64_t y = tile.y + i / kWinogradResults * down.dilation - down.low;
    const int64_t x = tile.x + i % kWinogradResults * across.dilation - across.low;
    const WeightPanels::Panel panel = weights_.Find(rhs_, feature, columns, 0, g_.channels);
    int64_t lhs_runs[kTaps * kTaps], rhs_runs[kTaps * kTaps], runs = 0;
    for (int64_t tap = 0; tap < kTaps * kTaps; ++tap) {
      const int64_t at_y = y + tap / kTaps * down.dilation, at_x = x + tap % kTaps * across.dilation;
      if (at_y < 0 || at_y >= down.inputs || at_x < 0 || at_x >= across.inputs) continue;
      lhs_runs[runs] = at_y * down.lhs + at_x * across.lhs;
      rhs_runs[runs++] = tap / kTaps * panel.row + tap % kTaps * panel.column;
    }
    const GemmTileStrides strides{0, g_.lhs_channel, panel.channel, 0};
    gemm_.tiles[columns / gemm_.lanes - 1][0](lhs + tile.batch * g_.lhs_batch, panel.from, to, strides, lhs_runs,
                                              rhs_runs, runs, g_.channels, columns, /*resume=*/false);
  }

  const WinogradProduct& g_;
  const GemmKernels& gemm_;
  const WinogradKernels& kernels_;
  const char* const rhs_;
  void* const* const extra_;
  GemmFinish* const finish_;
  WeightPanels weights_;
  const int64_t input_row_, input_element_, sums_row_, sums_element_, strip_row_;
  const bool copies_inputs_, stores_results_;
  char *inputs_, *sums_, *results_, *strip_, *nowhere_, *zeros_;
};

}  // namespace

const WinogradKernels* FindWinogradKernels() {
  const int bytes = Host().compiled_vector_bytes;
  return bytes == 64 ? WinogradKernels512() : bytes == 32 ? WinogradKernels256() : WinogradKernels128();
}

void TransformWinogradWeights(const WinogradProduct* product, const char* rhs, char* scratch, int64_t begin,
                              int64_t end) {
  const FlushedFloatEnvironment environment;
  const WinogradProduct& g = *product;
  const WinogradKernels& kernels = *FindWinogradKernels();
  WeightPanels weights(g);
  const int64_t channel_bytes = g.columns * kElement;
  for (int64_t task = begin; task < end; ++task) {
    const int64_t round = task / g.weight_tasks(), panel = task % g.weight_tasks() / g.weight_blocks;
    const int64_t feature = (round * g.round_panels + panel) * g.columns;
    if (feature >= g.features) continue;
    const int64_t columns = std::min(g.columns, g.features - feature);
    const int64_t first = task % g.weight_blocks * g.weight_channels;
    const int64_t channels = std::min(g.weight_channels, g.channels - first);
    const WeightPanels::Panel from = weights.Find(rhs, feature, columns, first, channels);
    kernels.weights(from.from, scratch + panel * g.panel_bytes() + first * channel_bytes,
                    {from.row, from.column, from.channel, g.channels * channel_bytes, channel_bytes}, channels,
                    columns);
  }
}

void RunWinograd(const WinogradProduct* product, const char* lhs, const char* rhs, char* out, const char* scratch,
                 void* const* extra, int64_t begin, int64_t end, GemmFinish* finish) {
  const FlushedFloatEnvironment environment;
  WinogradRunner runner(*product, rhs, extra, finish);
  for (int64_t task = begin; task < end; ++task) {
    runner.RunTask(task % product->tasks(), task / product->tasks() * product->round_panels, scratch, lhs, out);
  }
}

}  // namespace kiln::cpu
