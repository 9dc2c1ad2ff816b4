// Which convolutions are computed in Winograd's form, in which blocks, and their description for RunWinograd.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/winograd.h"

namespace kiln::cpu {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);

int64_t TilesAlong(const GemmWindow& w) {
  int64_t count = 0;
  for (int64_t first = 0; first < std::min(w.dilation, w.places); ++first) {
    count += CeilDivide(CeilDivide(w.places - first, w.dilation), kWinogradResults);
  }
  return count;
}

}  // namespace

int64_t CountWinogradTiles(const std::vector<GemmWindow>& windows) {
  int64_t count = 1;
  for (const GemmWindow& w : windows) count *= TilesAlong(w);
  return count;
}

bool IsWorthWinograd(int64_t batches, const std::vector<GemmWindow>& windows, int64_t channels, int64_t features) {
  const ProductTuning& costs = Tuning().products;
  const double lanes = static_cast<double>(FindWinogradKernels()->lanes);
  const double c = static_cast<double>(channels) / lanes, f = static_cast<double>(features) / lanes;
  double places = static_cast<double>(batches);
  for (const GemmWindow& w : windows) places *= static_cast<double>(w.places);
  const auto tiles = static_cast<double>(batches * CountWinogradTiles(windows));
  const double products = 9 * places * c * f * lanes;
  const double cycles = tiles * (kWinogradElements * c * f * lanes + costs.window_transform_cycles * (c + f)) +
                        costs.weight_transform_cycles * c * f * lanes;
  return channels >= costs.window_channels && products * costs.window_gain > cycles;
}

GemmProblem WinogradTileProblem(const GemmSpec& spec) {
  GemmProblem problem = MakeGemmProblem(spec, /*swapped=*/false, 1);
  problem.m = problem.outer_rows.front().size * CountWinogradTiles(spec.windows);
  problem.m_outer = kWinogradElements;
  problem.lhs_m = spec.k + 1;  // not a power of two
  problem.k_outer = 1;
  problem.outer_rows.clear();
  problem.outer_steps.clear();
  return problem;
}

void ChooseWinogradBlocks(const GemmSpec& spec, int threads, GemmSchedule& schedule) {
  const ProductTuning& costs = Tuning().products;
  schedule.kind = GemmSchedule::Kind::kWinograd;
  schedule.k_block = spec.k;
  const WinogradProduct all = MakeWinogradProduct(spec, schedule, /*direct=*/true);
  const int64_t row_tiles = CeilDivide(all.tiles, all.rows);
  // Weights of a round in the workspace, inputs of a task in the second-level cache.
  const int64_t round = std::clamp<int64_t>(costs.window_weight_bytes / all.panel_bytes(), 1, all.panels);
  const int64_t round_panels = CeilDivide(all.panels, CeilDivide(all.panels, round));
  const int64_t most =
      std::max<int64_t>(Host().l2_bytes / 2 / (kWinogradElements * spec.k * kFloatBytes * all.rows), 1);
  double best = std::numeric_limits<double>::infinity();
  for (int64_t parts = 1; parts <= std::min<int64_t>(round_panels, 2 * threads); ++parts) {
    const int64_t panels = CeilDivide(round_panels, parts);
    for (int64_t block = 1; block <= std::min(most, row_tiles); ++block) {
      const auto tasks = static_cast<double>(CeilDivide(row_tiles, block) * CeilDivide(round_panels, panels));
      const auto tiles = static_cast<double>(block * all.rows), lanes = static_cast<double>(schedule.lanes);
      const double c = static_cast<double>(spec.k), f = static_cast<double>(panels * all.columns);
      const double task = tiles * (c * f + costs.window_transform_cycles * (c + f) / lanes) + c * f;
      const double cost = (std::ceil(tasks / threads) + (threads > 1 ? 0.1 : 0.0)) * task;
      if (cost < best) {
        best = cost;
        schedule.m_block = block * all.rows;
        schedule.n_block = panels * all.columns;
      }
    }
  }
  schedule.n_chunk = round_panels * all.columns;
}

WinogradProduct MakeWinogradProduct(const GemmSpec& spec, const GemmSchedule& schedule, bool direct) {
  const GemmBatchDimension& batch = spec.outer_rows.front();
  const int64_t out = hlo::ByteWidth(spec.out.type);
  WinogradProduct g;
  g.batches = batch.size;
  g.channels = spec.k;
  g.features = spec.n;
  g.lhs_batch = batch.lhs_stride * kFloatBytes;
  g.out_batch = batch.out_stride * out;
  g.lhs_channel = spec.lhs.column_stride * kFloatBytes;
  g.rhs_channel = spec.rhs.row_stride * kFloatBytes;
  g.rhs_feature = spec.rhs.column_stride * kFloatBytes;
  g.out_feature = spec.out.column_stride * out;
  g.rows = schedule.rows;
  g.columns = int64_t{schedule.vectors} * schedule.lanes;
  g.tiles = g.batches * CountWinogradTiles(spec.windows);
  g.panels = CeilDivide(g.features, g.columns);
  g.round_panels = schedule.n_chunk > 0 ? schedule.n_chunk / g.columns : g.panels;
  g.tile_block = std::max(schedule.m_block, g.rows);
  g.panel_block = std::max(schedule.n_block / g.columns, int64_t{1});
  g.tile_blocks = CeilDivide(g.tiles, g.tile_block);
  g.panel_blocks = CeilDivide(g.round_panels, g.panel_block);
  constexpr int64_t kWeightChannels = 32;
  g.weight_channels = std::min(g.channels, kWeightChannels);
  g.weight_blocks = CeilDivide(g.channels, g.weight_channels);
  g.direct = direct ? 1 : 0;
  for (int i = 0; i < 2; ++i) {
    const GemmWindow& w = spec.windows[i];
    g.space[i] = {w.places,   w.inputs, w.dilation, w.low, TilesAlong(w), w.lhs * kFloatBytes, w.rhs * kFloatBytes,
                  w.out * out};
  }
  return g;
}

std::vector<int64_t> DescribeWinograd(const WinogradProduct& product) {
  static_assert(sizeof(WinogradProduct) % sizeof(int64_t) == 0);
  std::vector<int64_t> words(sizeof(WinogradProduct) / sizeof(int64_t));
  std::memcpy(words.data(), &product, sizeof(WinogradProduct));
  return words;
}

}  // namespace kiln::cpu
