// Which products are made of kernels compiled with Kiln, in which blocks, and their description for RunGemmBlocks.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/cpu/gemm_blocks.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

using hlo::PrimitiveType;

// Panels of rhs hold whole runs.
constexpr int64_t kMaxRunSteps = 8192;
// Pieces of operands that are made begin at multiples of so many steps, whole vectors of any type.
constexpr int64_t kMadeSteps = 64;

// How elements that lie in memory as `type` become the sum's f32; nothing where they are that, or cannot.
GemmWidening WideningOf(PrimitiveType type, const GemmArithmetic& arithmetic) {
  if (arithmetic.native_type() != PrimitiveType::kF32 || arithmetic.parts() != 1) return GemmWidening::kNone;
  if (type == PrimitiveType::kBF16) return GemmWidening::kBrain;
  return type == PrimitiveType::kF16 && Host().half_conversions ? GemmWidening::kHalf : GemmWidening::kNone;
}

// The padded copy of lhs is in the sum's type, and groups are of elements as they are.
GemmWidening LhsWidening(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic) {
  return problem.depth > 1 || !spec.padding.empty() ? GemmWidening::kNone : WideningOf(problem.lhs_type, arithmetic);
}

GemmWidening RhsWidening(const GemmProblem& problem, const GemmArithmetic& arithmetic) {
  return problem.depth > 1 ? GemmWidening::kNone : WideningOf(problem.rhs_type, arithmetic);
}

std::optional<GemmKernelKind> VectorKindOf(const GemmSpec& spec, const GemmProblem& problem,
                                           const GemmArithmetic& arithmetic) {
  if (arithmetic.parts() != 1) return std::nullopt;
  if (problem.depth == 2) return GemmKernelKind::kBrain;
  if (problem.depth == 4) {
    if (problem.rhs_type != PrimitiveType::kS8) return GemmKernelKind::kSignedUnsigned;
    return problem.lhs_type == PrimitiveType::kS8 ? GemmKernelKind::kSignedBytes : GemmKernelKind::kUnsignedSigned;
  }
  const bool native_rhs = arithmetic.IsNative(problem.rhs_type);
  const bool native_lhs = arithmetic.IsNative(problem.lhs_type) || !spec.padding.empty();
  if (!native_rhs && RhsWidening(problem, arithmetic) == GemmWidening::kNone) return std::nullopt;
  if (!native_lhs && LhsWidening(spec, problem, arithmetic) == GemmWidening::kNone) return std::nullopt;
  // Operands that are made are in the sum's type, and others are widened a row or column at a time.
  if ((spec.lhs_work > 0 && !native_lhs) || (spec.rhs_work > 0 && !native_rhs)) return std::nullopt;
  if (!native_lhs && problem.lhs_k != 1 && (problem.lhs_m != 1 || problem.k_outer > 1)) return std::nullopt;
  if (arithmetic.native_type() == PrimitiveType::kF32) return GemmKernelKind::kF32;
  if (arithmetic.native_type() == PrimitiveType::kF64) return GemmKernelKind::kF64;
  return std::nullopt;
}

std::optional<GemmKernelKind> KindOf(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic,
                                     const GemmSchedule& schedule) {
  const std::optional<GemmKernelKind> kind = VectorKindOf(spec, problem, arithmetic);
  if (!kind.has_value() || !schedule.amx) return kind;
  return problem.depth > 1 ? std::optional(AmxKindOf(*kind)) : std::nullopt;
}

int64_t CountOf(const std::vector<GemmBatchDimension>& dimensions) {
  return std::count_if(dimensions.begin(), dimensions.end(), [](const GemmBatchDimension& d) { return d.size != 1; });
}

bool MustPackAll(const GemmProblem& problem) {
  const bool is_narrow = problem.rhs_type == PrimitiveType::kBF16 || problem.rhs_type == PrimitiveType::kF16;
  return problem.rhs_n != 1 || problem.depth > 1 || is_narrow;
}

// All or the last columns.
bool MustPack(const GemmProblem& problem, const GemmSchedule& schedule) {
  return MustPackAll(problem) || problem.n % schedule.lanes != 0;
}

// Whether few rows are multiplied with an rhs whose rows are wide.
bool IsFewTimesWide(const GemmSpec& spec, const GemmProblem& problem) {
  const ProductTuning& costs = Tuning().products;
  return spec.lhs_work + spec.rhs_work == 0 && spec.padding.empty() && problem.rhs_n == 1 && problem.k_outer == 1 &&
         problem.m * problem.m_outer <= std::min(costs.few_rows, costs.placed_rows - 1) &&
         problem.rhs_k * GemmArithmetic::StoredBytes(problem.rhs_type) >= costs.wide_row_bytes;
}

// No tile of so few rows repays packing an rhs that can be read where it lies.
bool HasFewRows(const GemmSpec& spec, const GemmProblem& problem, const GemmSchedule& schedule) {
  return IsFewTimesWide(spec, problem) && !MustPack(problem, schedule);
}

// Whether such an rhs, or one that is packed in groups, comes from memory: it is read row by row, some rows at a time,
// each far along, while the next ones are asked for.
bool StreamsRhs(const GemmSpec& spec, const GemmProblem& problem, const GemmSchedule& schedule) {
  return IsFewTimesWide(spec, problem) && (problem.depth > 1 || !MustPack(problem, schedule)) &&
         problem.k * problem.rhs_k * GemmArithmetic::StoredBytes(problem.rhs_type) >= Tuning().products.far_bytes;
}

// Whether kernels may store sums where the result is.
bool IsStoredDirectly(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic) {
  return IsDirectResult(spec, arithmetic) && problem.out_n == 1;
}

}  // namespace

bool IsDirectResult(const GemmSpec& spec, const GemmArithmetic& arithmetic) {
  return !spec.epilogue && arithmetic.IsNative(spec.out.type) && spec.out.type == spec.result_type;
}

GemmWidening ResultNarrowing(const GemmSpec& spec, const GemmArithmetic& arithmetic, const GemmSchedule& schedule) {
  const bool narrows = schedule.kind == GemmSchedule::Kind::kBlocks || schedule.kind == GemmSchedule::Kind::kRows;
  if (!narrows || spec.epilogue || spec.out.type != spec.result_type) return GemmWidening::kNone;
  if (FindGemmKernels(GemmKernelKind::kF32) == nullptr) return GemmWidening::kNone;
  return WideningOf(spec.out.type, arithmetic);
}

bool SupportsGemmBlocks(const GemmSpec& spec, const GemmProblem& problem, const GemmSchedule& schedule,
                        const GemmArithmetic& arithmetic) {
  const std::optional<GemmKernelKind> kind = KindOf(spec, problem, arithmetic, schedule);
  const GemmKernels* kernels = kind.has_value() ? FindGemmKernels(*kind) : nullptr;
  if (kernels == nullptr || schedule.lanes != kernels->lanes || schedule.rows > kMaxTileRows ||
      schedule.vectors > kMaxTileVectors || kernels->tiles[schedule.vectors - 1][schedule.rows - 1] == nullptr ||
      (spec.lhs_work > 0 && kernels->lhs_bytes != kernels->sum_bytes) || problem.column_group > 0 ||
      problem.k_total() == 0 || (problem.k_outer > 1 && problem.k > kMaxRunSteps)) {
    return false;
  }
  const bool along_n = problem.rhs_n == 1, along_k = problem.rhs_k == problem.depth && problem.rhs_n > 0;
  const bool packs = along_n || along_k || (problem.depth == 1 && spec.rhs_work == 0 && problem.rhs_n > 0);
  const int64_t out_bytes = hlo::ByteWidth(problem.out_type);
  const bool stores = problem.out_n == 1 || (kernels->store_columns != nullptr && out_bytes == kernels->sum_bytes) ||
                      (out_bytes == 2 && kernels->sum_bytes == 4);
  const bool whole_lhs = problem.depth == 1 || (problem.lhs_k == problem.depth && problem.k_left == 0);
  return packs && stores && whole_lhs && problem.k_outer <= kMaxGemmRuns &&
         CountOf(problem.batch) <= GemmBlocks::kMaxDimensions &&
         CountOf(problem.outer_rows) <= GemmBlocks::kMaxDimensions;
}

bool ChooseAmxTile(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic,
                   GemmSchedule& schedule) {
  GemmSchedule chosen = schedule;
  chosen.amx = true;
  const std::optional<GemmKernelKind> kind = KindOf(spec, problem, arithmetic, chosen);
  if (!kind.has_value() || !MultipliesWithAmx(*kind)) return false;
  const ProductTuning& costs = Tuning().products;
  if (problem.m < costs.amx_rows || std::min(problem.n, problem.k) < costs.amx_extent) return false;
  const GemmKernels& kernels = *FindGemmKernels(*kind);
  chosen.lanes = static_cast<int>(kernels.lanes);
  chosen.rows = static_cast<int>(std::min<int64_t>(problem.m, kMaxTileRows));
  chosen.vectors = static_cast<int>(std::min<int64_t>(CeilDivide(problem.n, kernels.lanes), kMaxAmxVectors));
  if (!SupportsGemmBlocks(spec, problem, chosen, arithmetic)) return false;
  schedule = chosen;
  return true;
}

bool IsWorthGemmBlocks(const GemmSpec& spec, const GemmProblem& problem, const GemmSchedule& schedule) {
  const ProductTuning& costs = Tuning().products;
  const double work = static_cast<double>(problem.m * problem.m_outer) * static_cast<double>(problem.n) *
                      static_cast<double>(problem.k_total());
  if (StreamsRhs(spec, problem, schedule)) return true;
  // Making words of bytes is much beside few steps: 1500 by 128 by 64 take 1.04 of the time of generated kernels, by 32
  // 1.2, by 8 1.9 (Zen 3).
  constexpr int64_t kFewestWordSteps = 16;
  if (GemmArithmetic::MultipliesWords(problem.depth) && problem.k_total() < kFewestWordSteps) return false;
  // Generated kernels pack groups of k as well.
  const int64_t least_rows = problem.depth > 1             ? costs.group_rows
                             : MustPack(problem, schedule) ? costs.packed_rows
                                                           : costs.block_rows;
  return problem.m * problem.m_outer >= least_rows && work >= costs.block_work;
}

void ChooseGemmBlocks(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic, int threads,
                      GemmSchedule& schedule) {
  const ProductTuning& costs = Tuning().products;
  const int64_t element = arithmetic.element_bytes();
  const int64_t rows = schedule.rows, columns = int64_t{schedule.vectors} * schedule.lanes;
  const int64_t all_steps = problem.k_total();
  const int64_t column_panels = CeilDivide(problem.n, columns);
  int64_t row_panels = CeilDivide(problem.m, rows) * problem.m_outer;
  const bool direct = IsStoredDirectly(spec, problem, arithmetic);
  const PaddedRound padded =
      CutPadding(problem, spec, PaddedElementBytes(problem, arithmetic), schedule.padded_bytes, rows);
  if (padded.units > 0) row_panels = padded.row_panels;

  // Rows of rhs that lie close together are as good as packed.
  const bool wide_rows = costs.HasWideRows(problem.rhs_k * element);
  const bool widens_lhs = LhsWidening(spec, problem, arithmetic) != GemmWidening::kNone;
  // Runs of an lhs that is widened become one.
  schedule.pack_rhs = MustPackAll(problem) || column_panels == 1 || spec.rhs_work > 0 ||
                      (widens_lhs && problem.k_outer > 1) ||
                      (wide_rows && problem.m * problem.m_outer >= costs.placed_rows) ||
                      costs.PacksCloseRows(problem.m * problem.m_outer, problem.rhs_k * element, all_steps);
  const int64_t lhs_step_bytes = problem.lhs_k * element;
  schedule.pack_lhs = widens_lhs ? problem.lhs_k != 1
                                 : problem.n >= costs.packed_lhs_columns &&
                                       problem.n * lhs_step_bytes >= costs.packed_lhs_reach && spec.lhs_work == 0 &&
                                       problem.lhs_m == 1 && problem.k_outer == 1 && lhs_step_bytes >= 256;

  // All of k in one go while a packed panel of rhs takes little of the second-level cache, the more so where sums would
  // have to be kept aside; else stretches.
  const int64_t step_bytes = columns * element;
  // Neighbouring tiles of a transposed lhs share lines: those of a tile stay in the first-level cache beside the panel,
  // or all in the second. `gemm_bench f32 1500 128 K tn` takes as long in two stretches for a K of 256 (Zen 3), 0.9 of
  // the time for 320, 0.7 for 384 to 512.
  constexpr int64_t kLine = 64;
  const bool keeps_lines = problem.lhs_m != 1 || all_steps * kLine <= Host().l1_bytes / 2 ||
                           problem.m * all_steps * element <= Host().l2_bytes;
  const double placed_bytes =
      schedule.pack_rhs ? 0.0 : static_cast<double>(all_steps) * static_cast<double>(problem.rhs_k * element);
  const double most_placed = costs.placed_part * static_cast<double>(Host().l2_bytes);
  const bool whole = (schedule.pack_rhs || !wide_rows) && !schedule.pack_lhs && keeps_lines &&
                     all_steps * step_bytes <= Host().l2_bytes / (direct ? 8 : 4) && placed_bytes <= most_placed;
  // What tiles of a transposed lhs share stays in the first-level cache.
  const double panel_part = schedule.pack_lhs    ? std::min(costs.panel_part, 0.5)
                            : problem.lhs_m == 1 ? costs.lying_panel_part
                                                 : costs.panel_part;
  const bool cuts_placed = placed_bytes > most_placed && !wide_rows && !schedule.pack_lhs && keeps_lines;
  const double stretch = cuts_placed
                             ? most_placed / static_cast<double>(problem.rhs_k * element)
                             : panel_part * static_cast<double>(Host().l1_bytes) / static_cast<double>(step_bytes);
  const auto parts = std::max<int64_t>(std::llround(static_cast<double>(all_steps) / stretch), 1);
  const int64_t unit = problem.k_outer > 1 ? problem.k : spec.lhs_work + spec.rhs_work > 0 ? kMadeSteps : 8;
  schedule.k_block = whole ? all_steps : std::min(CeilDivide(CeilDivide(all_steps, parts), unit) * unit, all_steps);
  const bool few = HasFewRows(spec, problem, schedule), streams = StreamsRhs(spec, problem, schedule);
  if (few) schedule.k_block = problem.k;
  constexpr int64_t kStreamRows = 32, kFewStreamRows = 16;
  if (streams) schedule.k_block = std::min(problem.k, problem.m * problem.m_outer <= 4 ? kFewStreamRows : kStreamRows);
  // Rows a multiple of a power of two apart share few sets of the second-level cache, which keeps no more of them.
  const int64_t row_bytes = problem.rhs_k * element;
  schedule.pack_rhs |= !few && wide_rows && problem.m * problem.m_outer >= costs.sharing_rows &&
                       schedule.k_block * (row_bytes & -row_bytes) > Host().l2_bytes / 2;
  const bool in_parts = schedule.k_block < all_steps;

  const double block_bytes = (schedule.pack_rhs ? costs.block_caches : 0.25) * static_cast<double>(Host().l2_bytes);
  const auto max_columns = std::max<int64_t>(static_cast<int64_t>(block_bytes) / (schedule.k_block * step_bytes), 1);
  const int64_t max_sums = Host().l2_bytes / 2 / (rows * step_bytes);  // tiles
  const double rhs_element = spec.rhs_work + (schedule.pack_rhs ? costs.block_pack_work : costs.block_rhs_work);
  const double rhs_row = wide_rows ? costs.block_row_work : 0.0;
  const double lhs_element = spec.lhs_work + (schedule.pack_lhs || widens_lhs ? costs.block_lhs_pack_work
                                              : problem.lhs_m == 1            ? costs.block_lying_lhs_work
                                                                              : costs.block_lhs_work);
  const double gain = schedule.amx ? costs.amx_gain : 1.0;
  // More threads than its time repays will not share it (FinishGemmPlan), and operands are packed for each task.
  const double alone = static_cast<double>(problem.batches * problem.m * problem.m_outer * problem.n) *
                       static_cast<double>(all_steps) / (gain * costs.lane_products_per_nanosecond * schedule.lanes);
  threads = static_cast<int>(std::clamp<double>(std::ceil(alone / Tuning().threads.range_nanoseconds), 1, threads));
  double best = std::numeric_limits<double>::infinity();
  const int64_t least_parts = CeilDivide(column_panels, max_columns);
  for (int64_t n_parts = least_parts; n_parts <= std::min(column_panels, least_parts + 4 * threads); ++n_parts) {
    const int64_t n_panels = CeilDivide(column_panels, n_parts);
    const int64_t most = !direct && in_parts ? std::max<int64_t>(max_sums / n_panels, 1) : row_panels;
    const int64_t least = CeilDivide(row_panels, most);
    for (int64_t m_parts = least; m_parts <= std::min(row_panels, least + 4 * threads); ++m_parts) {
      int64_t m_panels = CeilDivide(row_panels, m_parts);
      // Rounds are made of whole blocks.
      if (padded.units > 0 && row_panels % m_panels != 0) continue;
      const double tasks = static_cast<double>(problem.batches) *
                           static_cast<double>(CeilDivide(column_panels, n_panels) * CeilDivide(row_panels, m_panels));
      const double m = static_cast<double>(m_panels * rows), n = static_cast<double>(n_panels * columns);
      const double steps = static_cast<double>(all_steps);
      const double task = m * n * steps / gain + steps * (rhs_element * n + rhs_row + lhs_element * m) +
                          costs.block_store_work * m * n + costs.block_task_work;
      // The last tasks to end leave other threads idle, the more so the larger they are.
      const double cost = (std::ceil(tasks / threads) + (threads > 1 ? 0.1 : 0.0)) * task;
      if (cost < best) {
        best = cost;
        schedule.m_block = m_panels * rows;
        schedule.n_block = n_panels * columns;
      }
    }
  }
  schedule.m_chunk = padded.units > 0 ? row_panels * rows : 0;
}

GemmOperandPlace PlaceOfOperand(const GemmProblem& problem, const GemmSchedule& schedule, bool is_lhs) {
  const int64_t steps = std::min(schedule.k_block, problem.k_total()), elements = steps * problem.depth;
  const int64_t columns = int64_t{schedule.vectors} * schedule.lanes;
  if (is_lhs && problem.lhs_m == 1) return {.pitch = schedule.rows};
  if (is_lhs || problem.rhs_n != 1) return {.pitch = elements, .run = kMadeSteps};
  if (problem.depth > 1) return {.pitch = columns, .run = columns};
  // Of one element per step, panels are made as they are packed.
  return {columns, columns, steps * columns, columns};
}

GemmOperandPlace PlaceOfOperand(const GemmSpec& spec, const GemmPlan& plan, bool is_lhs) {
  return PlaceOfOperand(MakeGemmProblem(spec, plan.schedule.swapped, plan.schedule.depth), plan.schedule, is_lhs);
}

void AppendRunOffsets(const GemmProblem& problem, bool is_lhs, int64_t element_bytes, std::vector<int64_t>* words) {
  for (int64_t run = 0; run < problem.k_outer; ++run) {
    int64_t offset = 0, rest = run;
    for (size_t i = problem.outer_steps.size(); i-- > 0;) {
      const GemmBatchDimension& d = problem.outer_steps[i];
      offset += rest % d.size * (is_lhs ? d.lhs_stride : d.rhs_stride) * element_bytes;
      rest /= d.size;
    }
    words->push_back(offset);
  }
}

std::vector<int64_t> DescribeGemmBlocks(const GemmSpec& spec, const GemmProblem& problem, const GemmSchedule& schedule,
                                        const GemmLayout& layout) {
  const auto stored = [](PrimitiveType type) { return int64_t{GemmArithmetic::StoredBytes(type)}; };
  const int64_t lhs = layout.lhs.element_bytes, rhs = stored(problem.rhs_type), out = hlo::ByteWidth(problem.out_type);
  const absl::StatusOr<GemmArithmetic> arithmetic =
      GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type);
  GemmBlocks g;
  g.kind = *KindOf(spec, problem, *arithmetic, schedule);
  g.m = problem.m;
  g.n = problem.n;
  g.rows = schedule.rows;
  g.columns = int64_t{schedule.vectors} * schedule.lanes;
  g.row_tiles = CeilDivide(problem.m, g.rows);
  g.runs = problem.k_outer;
  g.steps = problem.k;
  g.k_elements = problem.k * problem.depth;
  g.lhs_row = problem.lhs_m * lhs;
  g.lhs_step = problem.lhs_k * lhs;
  g.rhs_k = problem.rhs_k / problem.depth * rhs;
  g.rhs_n = problem.rhs_n * rhs;
  g.out_row = problem.out_m * out;
  g.out_column = problem.out_n * out;
  g.pack_lhs = schedule.pack_lhs ? 1 : 0;
  g.pack_rhs = schedule.pack_rhs ? 1 : 0;
  g.pack_tail = !schedule.pack_rhs && MustPack(problem, schedule) ? 1 : 0;
  g.widen_lhs = LhsWidening(spec, problem, *arithmetic);
  g.widen_rhs = RhsWidening(problem, *arithmetic);
  if (spec.lhs_work > 0) g.lhs_pitch = PlaceOfOperand(problem, schedule, /*is_lhs=*/true).pitch * lhs;
  if (spec.rhs_work > 0) {
    const GemmOperandPlace place = PlaceOfOperand(problem, schedule, /*is_lhs=*/false);
    g.rhs_pitch = place.panel > 0 ? 0 : place.pitch * rhs;
  }
  g.direct = IsStoredDirectly(spec, problem, *arithmetic) ? 1 : 0;
  g.narrow_out = ResultNarrowing(spec, *arithmetic, schedule);
  g.transposed = problem.out_n != 1 ? out : 0;
  g.streams = StreamsRhs(spec, problem, schedule) ? 1 : 0;
  g.run_block = std::max<int64_t>(schedule.k_block / problem.k, 1);
  g.step_block = schedule.k_block;
  g.tile_block = schedule.m_block / g.rows;
  g.column_block = schedule.n_block;
  g.tile_blocks = layout.m_blocks;
  g.column_blocks = layout.n_blocks;
  g.tasks = layout.batches * layout.m_blocks * layout.n_blocks;
  g.round_tiles = layout.m_chunk / g.rows;
  g.round_lhs = layout.lhs.round_stride * lhs;
  const auto copy = [&](const std::vector<GemmBatchDimension>& from, GemmBlockDimension* to, int64_t* count) {
    for (const GemmBatchDimension& d : from) {
      if (d.size != 1) to[(*count)++] = {d.size, d.lhs_stride * lhs, d.rhs_stride * rhs, d.out_stride * out};
    }
  };
  copy(problem.outer_rows, g.outer, &g.outer_count);
  copy(problem.batch, g.batch, &g.batch_count);
  static_assert(sizeof(GemmBlocks) % sizeof(int64_t) == 0);
  std::vector<int64_t> words(sizeof(GemmBlocks) / sizeof(int64_t));
  std::memcpy(words.data(), &g, sizeof(GemmBlocks));
  AppendRunOffsets(problem, /*is_lhs=*/true, lhs, &words);
  AppendRunOffsets(problem, /*is_lhs=*/false, rhs, &words);
  return words;
}

}  // namespace kiln::cpu
