// Chooses the schedule of a matrix product from its sizes, strides and types.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/base/status.h"
#include "src/cpu/gemm.h"
#include "src/cpu/gemm_blocks.h"
#include "src/cpu/gemm_layout.h"
#include "src/cpu/gemm_types.h"
#include "src/cpu/group_product.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/row_product.h"
#include "src/cpu/winograd.h"

namespace kiln::cpu {
namespace {

using Kind = GemmSchedule::Kind;

constexpr int64_t kMaxBytes = int64_t{1} << 47;

int64_t PowerOfTwoAtLeast(int64_t value) {
  int64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

absl::Status CheckSpec(const GemmSpec& spec) {
  // Products of sizes must stay far from overflow everywhere later on.
  bool negative = spec.m < 0 || spec.n < 0 || spec.k < 0 || spec.lhs_offset < 0 || spec.rhs_offset < 0 ||
                  spec.out_offset < 0 || spec.column_group < 0 || spec.column_group_stride < 0;
  double batches = 1, padded = 1, elements = 0;
  const auto reach = [&](int64_t size, int64_t stride) {
    negative |= stride < 0;
    return static_cast<double>(size) * static_cast<double>(std::max<int64_t>(stride, 1));
  };
  for (const auto* dimensions : {&spec.batch, &spec.outer_rows, &spec.outer_steps}) {
    for (const GemmBatchDimension& d : *dimensions) {
      negative |= d.size < (dimensions == &spec.batch ? 0 : 1);
      batches *= static_cast<double>(d.size);
      for (int64_t stride : {d.lhs_stride, d.rhs_stride, d.out_stride}) {
        elements = std::max(elements, reach(d.size, stride));
      }
    }
  }
  for (const GemmPadding& d : spec.padding) {
    negative |= d.size < 1 || d.dilation < 1 || d.padded < 1;
    padded *= static_cast<double>(d.padded);
  }
  const double m = spec.m, n = spec.n, k = spec.k;
  elements = std::max({elements, padded, batches * (m + 64) * (k + 64), batches * (k + 64) * (n + 1024),
                       batches * m * n, reach(spec.m, spec.lhs.row_stride) + reach(spec.k, spec.lhs.column_stride),
                       reach(spec.k, spec.rhs.row_stride) + reach(spec.n, spec.rhs.column_stride),
                       reach(spec.m, spec.out.row_stride) + reach(spec.n, spec.out.column_stride)});
  if (negative) return InvalidArgument("A matrix product has a size, stride or offset that is out of range.");
  if (16 * elements > static_cast<double>(kMaxBytes)) {
    return InvalidArgument("A matrix product of ", batches, " x [", spec.m, ",", spec.k, "] x [", spec.k, ",", spec.n,
                           "] is too large to address.");
  }
  return absl::OkStatus();
}

bool HasOffset(const GemmSpec& spec) { return spec.lhs_offset > 0 || spec.rhs_offset > 0 || spec.out_offset > 0; }

// Whether each operand is a matrix per batch.
bool IsPlain(const GemmSpec& spec) {
  return spec.outer_rows.empty() && spec.outer_steps.empty() && spec.padding.empty() && !HasOffset(spec) &&
         spec.column_group == 0;
}

// Whether lanes should run along m. Stores along a contiguous side come first, then full vectors.
bool ShouldSwap(const GemmSpec& spec, int lanes, int parts) {
  const bool n_contiguous = spec.out.column_stride == 1 || spec.n == 1;
  const bool m_contiguous = spec.out.row_stride == 1 || spec.m == 1;
  if (!spec.outer_rows.empty() || !spec.padding.empty() || HasOffset(spec) || spec.column_group > 0) return false;
  if (spec.n == 1 && spec.m > 1) return true;
  if (spec.m == 1) return false;
  if (!n_contiguous && m_contiguous) return true;
  // So that an lhs along m is read in vectors: 1024 by 1024 times 12 columns take 0.3 of the time, 24 columns 0.7.
  const bool lies_along_m = spec.lhs.row_stride == 1 && spec.lhs.column_stride != 1;
  if (lies_along_m && 2 * spec.n <= 3 * lanes && spec.m >= 8 * spec.n && spec.k >= 16) return true;
  // Complex rows would be packed: there are no kernels that multiply them as they lie.
  if (parts == 2 && spec.lhs.column_stride == 1) return false;
  // Few columns leave most lanes idle; storing one lane at a time costs less than that once the sum is long enough.
  return 2 * spec.n <= lanes && spec.m >= 4 * spec.n && spec.k >= 16;
}

// Cycles per step of k for one micro-tile.
double TileCycles(int64_t rows, int64_t vectors, int parts, bool own_elements, bool only_vector) {
  const ProductTuning& costs = Tuning().products;
  const double accumulators = static_cast<double>(rows * vectors * parts);
  const double arithmetic = accumulators * parts / costs.products_per_cycle;
  const double loads =
      static_cast<double>(((own_elements ? rows * vectors : rows) + vectors) * parts) / costs.loads_per_cycle;
  // Of one vector each row takes a broadcast, however many there are.
  const double broadcasts =
      own_elements || only_vector ? 0.0 : static_cast<double>(rows * parts) / costs.broadcasts_per_cycle;
  return std::max({arithmetic, loads, broadcasts, costs.latency_cycles * parts}) + 0.05 * loads;
}

// How many steps of k one instruction can take together in a tile kernel over `spec`.
int ChooseDepth(const GemmSpec& spec, const GemmArithmetic& arithmetic, bool swapped, bool plain) {
  const ProductTuning& costs = Tuning().products;
  const int depth = arithmetic.MaxDepth(spec.lhs.type, spec.rhs.type);
  const int64_t m = swapped ? spec.n : spec.m, n = swapped ? spec.m : spec.n;
  if (depth == 1 || m < 3 || n < 3 || spec.k < 2 * depth || spec.column_group > 0) return 1;
  if (!plain && (swapped || spec.lhs.column_stride != 1 || spec.k % depth != 0)) return 1;
  // Where pairs are slow, elements are widened as rhs is packed. Some rows times an rhs from memory wait for that
  // instead: 32 times 4096 by 4096 takes 1.4 times as long widened (Emerald Rapids), 16 or 64 no longer, and 8 by 1024
  // by 4096 half as long.
  constexpr int64_t kFewestThatWait = 17;
  int64_t rows = m;
  for (const GemmBatchDimension& d : spec.outer_rows) rows *= d.size;
  const bool is_made = spec.lhs_work > 0 || spec.rhs_work > 0;
  const bool is_far = n * spec.k * GemmArithmetic::StoredBytes(spec.rhs.type) >= costs.far_bytes;
  const bool waits = !is_made && is_far && rows >= kFewestThatWait && rows <= costs.few_rows;
  const bool widens =
      depth == 2 && !costs.multiplies_brain_pairs && !waits && !MultipliesWithAmx(GemmKernelKind::kAmxBrain);
  if (widens && FindGemmKernels(GemmKernelKind::kF32) != nullptr) return 1;
  return depth;
}

// The micro-tile with the least estimated time over the whole [m, n]; `is_compiled`, of kernels compiled with Kiln.
void ChooseTile(const GemmProblem& problem, const GemmArithmetic& arithmetic, int lanes, int64_t most_rows,
                int64_t most_vectors, bool is_compiled, GemmSchedule& schedule) {
  const int parts = arithmetic.parts();
  const int registers = Host().vector_registers;
  // A vector of rhs that comes from further away than the first-level cache takes part of a cycle more.
  const int64_t rhs_bytes = problem.n * problem.k_total() * arithmetic.element_bytes();
  const double distance = rhs_bytes > Host().l2_bytes       ? Tuning().products.l3_load_cycles
                          : rhs_bytes > Host().l1_bytes / 2 ? Tuning().products.l2_load_cycles
                                                            : 0.0;
  // Rows that lie a multiple of 4096 bytes apart share a set of the first-level cache, which holds some ten of them.
  const int64_t lhs_row_bytes = problem.lhs_m * GemmArithmetic::StoredBytes(problem.lhs_type) * parts;
  const int64_t max_rows =
      std::min<int64_t>(problem.lhs_k == problem.depth && lhs_row_bytes % 4096 == 0 ? 10 : 28, most_rows);
  double best = std::numeric_limits<double>::infinity();
  // Signed bytes take sums of their own (GemmEmitter::AddsOffset) where nobody flips their signs first.
  const int offset_sums =
      !is_compiled && GemmArithmetic::AddsOffset(problem.lhs_type, problem.rhs_type, problem.depth) ? 1 : 0;
  const int copies = GemmArithmetic::MultipliesWords(problem.depth) ? 2 : 1;
  const int64_t all_vectors = CeilDivide(problem.n, lanes);
  for (int vectors = 1; vectors <= most_vectors && vectors <= all_vectors; ++vectors) {
    for (int rows = 1; rows <= max_rows && rows <= problem.m; ++rows) {
      // With one row, products take the rhs vectors straight from memory.
      const int operands = copies * ((rows == 1 ? 1 : vectors * parts) + parts) + offset_sums * (vectors + 2) +
                           (is_compiled ? copies - 1 : 0);
      if (rows * vectors * parts + operands > registers) break;
      const int64_t columns = int64_t{vectors} * lanes;
      const int64_t row_tail = problem.m % rows;
      const int64_t vector_tail = CeilDivide(problem.n % columns, lanes);
      const auto tile = [&](int64_t r, int64_t v) {
        return TileCycles(r, v, parts, problem.column_group > 0, all_vectors == 1) +
               distance * static_cast<double>(v * parts);
      };
      const auto band = [&](int64_t v) {
        return static_cast<double>(problem.m / rows) * tile(rows, v) + (row_tail > 0 ? tile(row_tail, v) : 0.0);
      };
      double cycles =
          static_cast<double>(problem.n / columns) * band(vectors) + (vector_tail > 0 ? band(vector_tail) : 0.0);
      // Every size of tile is a kernel to compile, which weighs more the shorter the product runs.
      const double work = cycles * static_cast<double>(problem.k_total() * problem.m_outer * problem.batches);
      const double penalty = 1.01 + 2e3 / (work + 2e4);
      if (row_tail > 0 && problem.m > rows) cycles *= penalty;
      if (problem.n % columns > 0 && problem.n > columns) cycles *= penalty;
      if (cycles < best * 0.999) {
        best = cycles;
        schedule.rows = rows;
        schedule.vectors = vectors;
      }
    }
  }
}

// Makes it a schedule of kernels compiled with Kiln, where there are some for the product and it is large enough.
bool ChooseCompiled(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic, int threads,
                    GemmSchedule& schedule, bool any_size = false) {
  any_size |= spec.lhs_work > 0 || spec.rhs_work > 0;
  if (!SupportsGemmBlocks(spec, problem, schedule, arithmetic) ||
      (!any_size && !IsWorthGemmBlocks(spec, problem, schedule))) {
    return false;
  }
  if (!ChooseAmxTile(spec, problem, arithmetic, schedule)) {
    // Columns that are no neighbours are streams, which often share a set of the first-level cache; but tiles of one
    // vector read lhs twice as often.
    constexpr int kMostStreams = 16, kLeastVectors = 2;
    const int streams = std::clamp(kMostStreams / schedule.lanes, kLeastVectors, kMaxTileVectors);
    ChooseTile(problem, arithmetic, schedule.lanes, kMaxVectorTileRows, problem.out_n == 1 ? kMaxTileVectors : streams,
               /*is_compiled=*/true, schedule);
    if (!SupportsGemmBlocks(spec, problem, schedule, arithmetic)) return false;
  }
  schedule.kind = Kind::kBlocks;
  // Few rounds: each ends with threads that wait for the last one.
  schedule.padded_bytes = 2 * Tuning().products.packed_bytes;
  ChooseGemmBlocks(spec, problem, arithmetic, threads, schedule);
  return true;
}

// Steps from which on few rows repay sums across lanes, of which each result takes about one vector's products; with
// fewer, packing what they are multiplied with takes less. On Zen 3 eight rows times 1500 by 32 take 0.62 of the time
// packed, by 64 0.92, by 128 1.24; four by 32 0.74, by 64 1.16; two by 16 0.97, by 32 1.49.
int64_t FewestSummedSteps(int64_t few, int64_t lanes) {
  constexpr int64_t kOneTile = 3, kMost = 128;
  return std::min(lanes * (few <= kOneTile ? std::min<int64_t>(few, 2) : few + 1), kMost);
}

// Makes it a schedule of few rows with many, of either side, where these lie along k.
bool ChooseRows(const GemmSpec& spec, const GemmArithmetic& arithmetic, int threads, GemmSchedule& schedule) {
  const int64_t few = std::min(spec.m, spec.n);
  if (!IsPlain(spec) || few > Tuning().products.few_rows) return false;
  if (arithmetic.MaxDepth(spec.lhs.type, spec.rhs.type) == 1) {
    // bf16 is widened again for each few of the rows: eight times 1500 by 128 take 0.85 of the time packed.
    const int64_t widened = spec.lhs.type == hlo::PrimitiveType::kBF16 && few > 4 ? 2 : 1;
    if (spec.k < widened * FewestSummedSteps(few, Host().vector_bytes / arithmetic.part_bytes())) return false;
  }
  for (const bool swapped : {spec.n < spec.m, spec.n >= spec.m}) {
    const GemmProblem problem = MakeGemmProblem(spec, swapped, 1);
    if (problem.m > Tuning().products.few_rows || !ChooseRowProduct(spec, problem, arithmetic, threads, schedule)) {
      continue;
    }
    schedule.swapped = swapped;
    return true;
  }
  return false;
}

// Whether few rows times an rhs that lies along k are summed across lanes, which costs each result about as much as
// gathering a step of k costs a vector of results; packing rhs would cost more than either.
bool IsWorthDot(const GemmProblem& problem, const GemmArithmetic& arithmetic, int full_lanes) {
  constexpr int64_t kGathered = 256;  // elements of rhs, which is packed where there are more
  const int64_t m = problem.m, k = problem.k;
  if (m < 1 || m > 8 || problem.rhs_k != 1 || problem.rhs_n == 1) return false;
  if (k * problem.n > kGathered) return k >= FewestSummedSteps(m, full_lanes);
  if (m > 4 || problem.n < 2) return false;
  return k >= (!arithmetic.IsNative(problem.rhs_type) ? 8 : m > 2 ? 4 : 2);
}

// Whether lhs is too long to stay in the first-level cache next to the columns of a dot kernel.
bool IsLongForDot(const GemmProblem& problem, const GemmArithmetic& arithmetic) {
  return problem.m * problem.k * arithmetic.element_bytes() > Host().l1_bytes * 3 / 4;
}

void ChooseBlocks(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic, int threads,
                  GemmSchedule& schedule) {
  const int64_t element = arithmetic.element_bytes();
  const bool dot = schedule.kind == Kind::kDot;
  const int64_t rows = schedule.rows;
  const int64_t columns = dot ? schedule.vectors : int64_t{schedule.vectors} * schedule.lanes;
  int64_t row_panels = std::max<int64_t>(CeilDivide(problem.m, rows) * problem.m_outer, 1);
  int64_t column_panels = std::max<int64_t>(CeilDivide(problem.n, columns), 1);
  int64_t batches = problem.batches;
  const int64_t all_steps = problem.k_total();

  const ProductTuning& costs = Tuning().products;
  // Rounds: even shares of what does not fit. A chunk of lhs has enough rows to repay packing rhs again for each.
  const auto share = [](int64_t panels, int64_t most) { return CeilDivide(panels, CeilDivide(panels, most)); };
  const int64_t lhs_panel = schedule.pack_lhs ? std::max<int64_t>(rows * problem.k * element, 1) : 0;
  const int64_t rhs_panel = schedule.pack_rhs ? std::max<int64_t>(columns * all_steps * element, 1) : 0;
  const bool split_m = row_panels * lhs_panel > costs.packed_bytes,
             split_n = column_panels * rhs_panel > costs.packed_bytes;
  if (split_m) row_panels = share(row_panels, std::max<int64_t>(costs.packed_bytes / lhs_panel, 24));
  if (split_n) column_panels = share(column_panels, std::max<int64_t>(costs.packed_bytes / rhs_panel, 4));
  const int64_t padded_element = PaddedElementBytes(problem, arithmetic);
  const PaddedRound padded = CutPadding(problem, spec, padded_element, costs.packed_bytes, rows);
  if (padded.units > 0) row_panels = padded.row_panels;
  const int64_t batch_bytes =
      (problem.LhsRepeats() ? 0 : row_panels * lhs_panel) + (problem.RhsRepeats() ? 0 : column_panels * rhs_panel);
  if (batches > 1 && batches * batch_bytes > costs.packed_bytes) {
    batches = share(batches, std::max<int64_t>(costs.packed_bytes / batch_bytes, 1));
    schedule.batch_chunk = batches;
  }

  schedule.k_block = all_steps;
  if (problem.k_outer > 1) {
    // Both operands of a long sum should stay in the second-level cache while the block's tiles pass over them.
    const int64_t step_bytes =
        (std::min<int64_t>(row_panels, 4) * rows + columns * std::min<int64_t>(column_panels, 4)) * element;
    const int64_t limit = Host().l2_bytes / 2;
    if (all_steps * step_bytes > limit && row_panels * column_panels > 1) {
      schedule.k_block = std::max<int64_t>(limit / (step_bytes * problem.k), 1) * problem.k;
    }
  } else if (dot && IsLongForDot(problem, arithmetic) && schedule.unroll == 1) {
    // Every group of columns reads all of lhs: a stretch of it at a time, from the first-level cache.
    const int64_t steps = Host().l1_bytes * 2 / 3 / (problem.m * element);
    schedule.k_block = std::max<int64_t>(steps / schedule.lanes, 1) * schedule.lanes;
  } else if (!dot) {
    const int64_t panel_bytes = std::max<int64_t>(columns * element, 1) * problem.k;
    const int64_t limit = Host().l2_bytes / 4;
    if (schedule.pack_rhs) {
      if (panel_bytes > limit) schedule.k_block = RoundUp(CeilDivide(problem.k, CeilDivide(panel_bytes, limit)), 16);
    } else if (problem.column_group == 0 && problem.rhs_k * element >= 1024 && column_panels > 1) {
      // Rows of rhs lie on pages of their own: few at a time, each read far along.
      schedule.k_block = std::min<int64_t>(problem.k, row_panels == 1 ? 16 : 64);
    }
  }
  schedule.k_block = std::min(schedule.k_block, all_steps);

  // A block of lhs stays in the second-level cache while the rhs micro-tiles pass by.
  const int64_t lhs_panel_bytes = std::max<int64_t>(rows * schedule.k_block * element, 1);
  int64_t m_panels = std::clamp<int64_t>(Host().l2_bytes / 2 / lhs_panel_bytes, 1, row_panels);
  int64_t n_panels = column_panels;
  if (schedule.k_block < all_steps) {
    const int64_t tile_bytes = rows * columns * element * (dot ? schedule.lanes : 1);
    const int64_t tiles = std::max<int64_t>(costs.partial_sum_bytes / tile_bytes, 1);
    if (schedule.pack_rhs) {
      n_panels = std::clamp<int64_t>(static_cast<int64_t>(std::sqrt(static_cast<double>(tiles))), 1, n_panels);
      m_panels = std::clamp<int64_t>(tiles / n_panels, 1, m_panels);
    } else {
      m_panels = std::clamp<int64_t>(tiles, 1, std::min<int64_t>(m_panels, row_panels));
      n_panels = std::clamp<int64_t>(tiles / m_panels, 1, n_panels);
    }
  }
  // Where all of rhs is at hand in the first-level cache anyway, a large result is stored along its rows.
  const int64_t out_bytes = problem.m * problem.m_outer * problem.n * hlo::ByteWidth(problem.out_type);
  schedule.rows_first = schedule.kind == Kind::kTile && problem.outer_rows.empty() && problem.out_n == 1 &&
                        schedule.k_block == all_steps && out_bytes > Host().l2_bytes &&
                        problem.n * all_steps * element <= Host().l1_bytes / 2;
  const double panel_work = static_cast<double>(rows * columns) * static_cast<double>(all_steps);
  const auto tasks = [&] { return batches * CeilDivide(row_panels, m_panels) * CeilDivide(column_panels, n_panels); };
  // What comes from memory, and is read once, comes in stretches of a page.
  const bool from_memory = row_panels == 1 && !schedule.pack_rhs && problem.n * all_steps * element >= costs.far_bytes;
  const int64_t least_columns = from_memory ? 4096 / element : 0;
  while (threads > 1 && tasks() < 6 * int64_t{threads} && (m_panels > 1 || n_panels > 1) &&
         n_panels * columns > least_columns &&
         panel_work * static_cast<double>(m_panels * n_panels) > 2 * costs.task_work) {
    const bool along_n = n_panels * columns >= m_panels * rows && !schedule.rows_first;
    if (n_panels > 1 && (along_n || m_panels == 1)) {
      n_panels = CeilDivide(n_panels, 2);
    } else {
      m_panels = CeilDivide(m_panels, 2);
    }
  }
  // Even shares: the last block is not a sliver.
  m_panels = share(row_panels, m_panels);
  n_panels = share(column_panels, n_panels);
  schedule.m_block = std::max<int64_t>(m_panels * rows, 1);
  schedule.n_block = std::max<int64_t>(n_panels * columns, 1);
  if (split_m) schedule.m_chunk = RoundUp(row_panels, m_panels) * rows;
  if (padded.units > 0) {
    while (row_panels % m_panels != 0) --m_panels;
    schedule.m_block = m_panels * rows;
    schedule.m_chunk = row_panels * rows;
    schedule.padded_bytes = costs.packed_bytes;
  }
  if (split_n) schedule.n_chunk = RoundUp(column_panels, n_panels) * columns;
}

}  // namespace

hlo::PrimitiveType MadeType(const GemmSpec& spec, hlo::PrimitiveType type) {
  if (type != hlo::PrimitiveType::kBF16) return type;
  const auto arithmetic = GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type);
  const bool in_pairs = arithmetic.ok() && ChooseDepth(spec, *arithmetic, /*swapped=*/false, IsPlain(spec)) > 1;
  return in_pairs ? type : hlo::PrimitiveType::kF32;
}

absl::StatusOr<GemmPlan> PlanGemm(const GemmSpec& spec, absl::string_view name, int threads) {
  KILN_RETURN_IF_ERROR(CheckSpec(spec));
  KILN_ASSIGN_OR_RETURN(const GemmArithmetic arithmetic,
                        GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type));
  if (!spec.epilogue && spec.out.type != spec.result_type) {
    return InvalidArgument("A matrix product without epilogue stores its result type ",
                           PrimitiveTypeName(spec.result_type), ", not ", PrimitiveTypeName(spec.out.type), ".");
  }
  const int parts = arithmetic.parts();
  const int full_lanes = std::max(Host().vector_bytes / arithmetic.part_bytes(), 1);
  GemmPlan plan;
  GemmSchedule& schedule = plan.schedule;
  if (!spec.windows.empty()) {
    if (spec.column_group > 0) {
      ChooseGroupBlocks(MakeGemmProblem(spec, /*swapped=*/false, 1), threads, schedule);
    } else {
      schedule.lanes = full_lanes;
      ChooseTile(WinogradTileProblem(spec), arithmetic, full_lanes, kMaxVectorTileRows, kMaxTileVectors,
                 /*is_compiled=*/true, schedule);
      ChooseWinogradBlocks(spec, threads, schedule);
    }
    KILN_RETURN_IF_ERROR(FinishGemmPlan(spec, name, plan));
    return plan;
  }
  const bool is_made = spec.lhs_work > 0 || spec.rhs_work > 0;
  if (!is_made && ChooseRows(spec, arithmetic, threads, schedule)) {
    KILN_RETURN_IF_ERROR(FinishGemmPlan(spec, name, plan));
    return plan;
  }
  if (!is_made && !IsPlain(spec) && ChooseColumnProduct(spec, MakeGemmProblem(spec, false, 1), arithmetic, schedule)) {
    KILN_RETURN_IF_ERROR(FinishGemmPlan(spec, name, plan));
    return plan;
  }
  schedule.swapped = !is_made && ShouldSwap(spec, full_lanes, parts);
  const bool plain = IsPlain(spec);
  GemmProblem problem = MakeGemmProblem(spec, schedule.swapped, 1);
  const int64_t m = problem.m, n = problem.n;
  int64_t k = problem.k_total();
  schedule.lanes = static_cast<int>(std::min<int64_t>(full_lanes, PowerOfTwoAtLeast(std::max<int64_t>(n, 1))));

  if (!is_made && plain && parts == 1 && IsWorthDot(problem, arithmetic, full_lanes)) {
    schedule.kind = Kind::kDot;
    schedule.lanes = static_cast<int>(std::min<int64_t>(full_lanes, PowerOfTwoAtLeast(k)));
    // Two bands of rows are better than one of eight once lhs and a few columns exceed the first-level cache.
    const bool bands = m > 4 && IsLongForDot(problem, arithmetic);
    schedule.rows = static_cast<int>(bands ? (m + 1) / 2 : m);
    int64_t columns = schedule.rows <= 4 ? 4 : 2;
    // Behind short sums the epilogue is what takes time, and it has as many lanes as there are columns.
    if (spec.epilogue && k <= Tuning().products.short_dot_vectors * full_lanes) {
      columns = std::max(columns, schedule.lanes / PowerOfTwoAtLeast(schedule.rows));
    }
    schedule.vectors = static_cast<int>(std::min<int64_t>({columns, PowerOfTwoAtLeast(n), schedule.lanes}));
    const bool convert = !arithmetic.IsNative(problem.lhs_type);
    schedule.pack_lhs = problem.lhs_k != 1 || (convert && n >= 4 * columns);
    schedule.unroll = std::clamp(8 / (schedule.rows * schedule.vectors), 1, 8);
  } else {
    schedule.depth = ChooseDepth(spec, arithmetic, schedule.swapped, plain);
    if (schedule.depth > 1) {
      problem = MakeGemmProblem(spec, schedule.swapped, schedule.depth);
      k = problem.k_total();
      schedule.lanes = std::max(schedule.lanes, 4);
    }
    if (ChooseCompiled(spec, problem, arithmetic, threads, schedule)) {
      KILN_RETURN_IF_ERROR(FinishGemmPlan(spec, name, plan));
      return plan;
    }
    if (is_made) return Unimplemented("an operand that is made, of a product without compiled kernels");
    // A padded copy is made of as many rows as a tile has: where those are whole images, of few.
    int64_t max_rows = 28;
    if (!spec.padding.empty() && problem.outer_rows.empty() && problem.column_group > 0) {
      const int64_t row_bytes = std::max<int64_t>(problem.lhs_m * PaddedElementBytes(problem, arithmetic), 1);
      max_rows = std::clamp<int64_t>(Tuning().products.packed_bytes / row_bytes, 1, max_rows);
    }
    ChooseTile(problem, arithmetic, schedule.lanes, max_rows, 8, /*is_compiled=*/false, schedule);
    const int64_t columns = int64_t{schedule.vectors} * schedule.lanes;
    const int64_t row_panels = CeilDivide(m, schedule.rows) * problem.m_outer;
    const int64_t column_panels = CeilDivide(n, columns);
    const bool convert_rhs = !arithmetic.IsNative(problem.rhs_type);
    if (schedule.depth > 1) {
      schedule.pack_rhs = true;
    } else if (problem.rhs_n == 0) {
      schedule.pack_rhs = false;
    } else if (problem.rhs_n != 1 && n > 1) {
      schedule.pack_rhs = k * n > 256;
    } else if (convert_rhs || parts == 2) {
      schedule.pack_rhs = row_panels >= 3;
    } else {
      schedule.pack_rhs = row_panels >= Tuning().products.packed_row_panels && column_panels >= 2 &&
                          n * k * arithmetic.element_bytes() > Host().l1_bytes / 2;
    }
    const bool convert_lhs = !arithmetic.IsNative(problem.lhs_type);
    if (schedule.depth > 1) {
      schedule.pack_lhs = problem.lhs_k != schedule.depth || problem.k_left != 0;
    } else if (!plain) {
      schedule.pack_lhs = false;
    } else if (convert_lhs) {
      schedule.pack_lhs = column_panels >= 2;
    } else if (problem.lhs_k == 1) {
      schedule.pack_lhs = false;
    } else if (problem.lhs_m == 1) {
      schedule.pack_lhs = column_panels >= 3 && k >= 32 && m > schedule.rows;
    } else {
      schedule.pack_lhs = column_panels >= 3 && k >= 16;
    }
    const int64_t accumulators = int64_t{schedule.rows} * schedule.vectors * parts;
    schedule.unroll = accumulators >= 20 ? 1 : accumulators >= 8 ? 2 : 8;
    // Short sums do not repay the code that finishes what unrolling leaves over.
    while (problem.k < 64 && schedule.unroll > 1 && problem.k % schedule.unroll != 0) schedule.unroll /= 2;
  }
  if (k == 0) schedule.pack_lhs = schedule.pack_rhs = false;
  ChooseBlocks(spec, problem, arithmetic, threads, schedule);
  KILN_RETURN_IF_ERROR(FinishGemmPlan(spec, name, plan));
  return plan;
}

std::optional<GemmPlan> PlanGemmBlocks(const GemmSpec& spec, absl::string_view name, int threads, bool any_size) {
  const absl::StatusOr<GemmArithmetic> arithmetic =
      GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type);
  if (!CheckSpec(spec).ok() || !arithmetic.ok()) return std::nullopt;
  GemmPlan plan;
  plan.schedule.lanes = std::max(Host().vector_bytes / arithmetic->part_bytes(), 1);
  plan.schedule.depth = ChooseDepth(spec, *arithmetic, /*swapped=*/false, /*plain=*/true);
  const GemmProblem problem = MakeGemmProblem(spec, /*swapped=*/false, plan.schedule.depth);
  if ((!any_size && problem.n < plan.schedule.lanes) || problem.out_n != 1 ||
      !ChooseCompiled(spec, problem, *arithmetic, threads, plan.schedule, any_size) ||
      !FinishGemmPlan(spec, name, plan).ok()) {
    return std::nullopt;
  }
  return plan;
}

bool MayOverwriteOperand(const GemmSpec& spec, const GemmPlan& plan) {
  const GemmSchedule& schedule = plan.schedule;
  return !spec.epilogue && IsPlain(spec) && spec.lhs_work + spec.rhs_work == 0 && plan.rounds == 1 &&
         plan.phases.size() == 1 && plan.phases.front().tasks == 1 &&
         IsSingleTile(MakeGemmProblem(spec, schedule.swapped, schedule.depth), schedule);
}

absl::Status FinishGemmPlan(const GemmSpec& spec, absl::string_view name, GemmPlan& plan) {
  KILN_ASSIGN_OR_RETURN(const GemmArithmetic arithmetic,
                        GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type));
  const GemmSchedule& schedule = plan.schedule;
  const GemmProblem problem = MakeGemmProblem(spec, schedule.swapped, schedule.depth);
  const GemmLayout layout = MakeGemmLayout(problem, schedule, arithmetic, spec);
  plan.scratch_bytes = layout.scratch_bytes;
  plan.rounds = std::max<int64_t>(layout.rounds(), 1);
  const double rows = static_cast<double>(problem.m * problem.m_outer), steps = static_cast<double>(problem.k_total());
  plan.multiply_adds = static_cast<double>(problem.batches) * rows * static_cast<double>(problem.n) * steps;
  // Full vectors at full rate, and memory read once, or the second-level cache: taken for what comes from memory,
  // products of two microseconds were shared, and a hundred steps of a loop took 870 microseconds instead of 567.
  const ProductTuning& costs = Tuning().products;
  const double lanes = std::max(Host().vector_bytes / arithmetic.part_bytes(), 1);
  const double columns = static_cast<double>(problem.n);
  // Groups read about as many places as they have results, which for one thread lie in its own caches.
  const bool groups = schedule.kind == Kind::kGroups;
  const double bytes = static_cast<double>(problem.batches) *
                       ((groups ? rows * columns : rows * steps) + steps * columns + rows * columns) *
                       arithmetic.element_bytes();
  const double used = std::min<double>(1.0, static_cast<double>(std::max<int64_t>(problem.n, 1)) / lanes);
  const double parts = arithmetic.parts();
  const double multiplied = schedule.kind == Kind::kWinograd ? plan.multiply_adds * costs.window_gain / 2
                            : schedule.amx                   ? plan.multiply_adds / costs.amx_gain
                                                             : plan.multiply_adds;
  plan.estimated_nanoseconds = static_cast<int64_t>(
      20 +
      multiplied * parts * parts /
          (costs.lane_products_per_nanosecond * lanes *
           (schedule.kind == Kind::kDot || schedule.kind == Kind::kRows ? 1.0 : used)) +
      bytes / (groups                                              ? Tuning().kernels.bytes_per_nanosecond
               : bytes <= static_cast<double>(Host().l2_bytes) / 4 ? Tuning().fusion.cached_bytes_per_nanosecond
                                                                   : costs.bytes_per_nanosecond));

  plan.phases.clear();
  const auto grain = [&](double work, int64_t tasks) {
    if (tasks == 0) return int64_t{1};
    return std::clamp<int64_t>(
        static_cast<int64_t>(costs.range_work * static_cast<double>(tasks) / std::max(work, 1.0)), 1, tasks);
  };
  const int64_t pack_tasks = layout.lhs.tasks + layout.rhs.tasks;
  if (pack_tasks > 0) {
    const double moved = costs.move_work * static_cast<double>(layout.scratch_bytes) / arithmetic.element_bytes();
    plan.phases.push_back({absl::StrCat(name, ".pack"), pack_tasks, grain(moved, pack_tasks)});
  }
  const int64_t tasks = layout.batches * layout.m_blocks * layout.n_blocks;
  const double stored = costs.store_work * static_cast<double>(problem.batches) * rows * static_cast<double>(problem.n);
  const double round_work = (multiplied + stored) / static_cast<double>(plan.rounds);
  plan.phases.push_back({std::string(name), tasks, grain(round_work, tasks)});
  return absl::OkStatus();
}

}  // namespace kiln::cpu
