// Convolutions of three by three taps in Winograd's form F(2x2, 3x3): four by four transformed inputs times as many
// transformed weights give two by two results, in 16 multiplications instead of 36. Compiled with Kiln, as the loops of
// other products are (gemm_blocks.h). Sums are as accurate as direct ones or more so, since they have a ninth of the
// terms; results that are not finite are computed again, tap by tap.
#ifndef KILN_CPU_WINOGRAD_H_
#define KILN_CPU_WINOGRAD_H_

#include <cstdint>
#include <vector>

#include "src/cpu/gemm_blocks.h"
#include "src/cpu/gemm_layout.h"
#include "src/cpu/winograd_kernels.h"

namespace kiln::cpu {

// All 64-bit integers, so that a module holds it as an array of them; strides in bytes. A product in rounds: each
// transforms some features' weights into [panel][element][channel][columns], then passes over all tiles.
struct WinogradProduct {
  struct Dimension {
    int64_t places = 1, inputs = 1, dilation = 1, low = 0;
    int64_t tiles = 1;
    int64_t lhs = 0, rhs = 0, out = 0;
  };
  int64_t batches = 1, channels = 0, features = 0;
  int64_t lhs_batch = 0, out_batch = 0;
  int64_t lhs_channel = 0, rhs_channel = 0, rhs_feature = 0, out_feature = 0;
  int64_t rows = 0, columns = 0;            // of a micro-tile: tiles and features
  int64_t tiles = 0, panels = 0;            // all, the latter of `columns`
  int64_t round_panels = 0;                 // of a round,
  int64_t tile_block = 0, panel_block = 0;  // and of a task
  int64_t tile_blocks = 0, panel_blocks = 0;
  int64_t weight_channels = 0, weight_blocks = 0;  // of a task that transforms weights, and such tasks of a panel
  int64_t direct = 0;                              // sums are the result as it is stored, but for its layout
  Dimension space[2];

  int64_t tasks() const { return tile_blocks * panel_blocks; }
  int64_t weight_tasks() const { return round_panels * weight_blocks; }
  int64_t panel_bytes() const { return kWinogradElements * channels * columns * static_cast<int64_t>(sizeof(float)); }
};

// Symbol "kiln_winograd_weights": transforms what tasks [begin, end) are about. Tasks count on from round to round.
void TransformWinogradWeights(const WinogradProduct* product, const char* rhs, char* scratch, int64_t begin,
                              int64_t end);
inline constexpr char kWinogradWeightsName[] = "kiln_winograd_weights";

// Symbol "kiln_winograd": runs tasks [begin, end). `finish` as for RunGemmBlocks.
void RunWinograd(const WinogradProduct* product, const char* lhs, const char* rhs, char* out, const char* scratch,
                 void* const* extra, int64_t begin, int64_t end, GemmFinish* finish);
inline constexpr char kWinogradName[] = "kiln_winograd";

// The tiles that windows of these dimensions take.
int64_t CountWinogradTiles(const std::vector<GemmWindow>& windows);
// Whether fewer multiplications repay the transforms. `batches` of windows, with so many channels and features.
bool IsWorthWinograd(int64_t batches, const std::vector<GemmWindow>& windows, int64_t channels, int64_t features);
// The product that micro-tiles are chosen for: a row for each tile.
GemmProblem WinogradTileProblem(const GemmSpec& spec);
// The blocks and rounds of a schedule whose micro-tile is chosen.
void ChooseWinogradBlocks(const GemmSpec& spec, int threads, GemmSchedule& schedule);
WinogradProduct MakeWinogradProduct(const GemmSpec& spec, const GemmSchedule& schedule, bool direct);
// It as it stands in memory.
std::vector<int64_t> DescribeWinograd(const WinogradProduct& product);

}  // namespace kiln::cpu

#endif  // KILN_CPU_WINOGRAD_H_
