#include "src/cpu/row_product.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "src/base/cpu_tuning.h"
#include "src/base/float_environment.h"
#include "src/base/rounding.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

using hlo::PrimitiveType;

// Many rows that are finished at a time where columns are few.
constexpr int64_t kColumnRows = 128;

// In front of packed rows, which tails reach back over.
constexpr int64_t kLeadBytes = 64;

std::optional<GemmKernelKind> KindOf(const GemmProblem& problem, const GemmArithmetic& arithmetic) {
  if (problem.lhs_type != problem.rhs_type) return std::nullopt;
  const PrimitiveType sum = arithmetic.native_type();
  switch (problem.lhs_type) {
    case PrimitiveType::kF32:
      return sum == PrimitiveType::kF32 ? std::optional(GemmKernelKind::kF32) : std::nullopt;
    case PrimitiveType::kF64:
      return GemmKernelKind::kF64;
    case PrimitiveType::kF16:
      return sum == PrimitiveType::kF32 ? std::optional(GemmKernelKind::kHalf) : std::nullopt;
    case PrimitiveType::kBF16:
      return sum == PrimitiveType::kF32 ? std::optional(GemmKernelKind::kBrain) : std::nullopt;
    case PrimitiveType::kS8:
      return sum == PrimitiveType::kS32 ? std::optional(GemmKernelKind::kSignedBytes) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Many rows that come from memory, in a stream each; asking ahead for what a cache holds takes longer.
bool IsFar(int64_t n, int64_t stride) { return n * stride >= Tuning().products.far_bytes; }

// The largest tile of `few` rows by up to `limit` of `n` that lie `stride` apart. In a cache, those that share a set of
// the first level, which holds some eight lines, are few as well: 0.92 of the time.
int64_t MostMany(const RowKernels& kernels, int64_t few, int64_t limit, int64_t n, int64_t stride) {
  const bool share_set = stride % 4096 == 0 && few <= 2 && !IsFar(n, stride);
  int64_t many = std::min<int64_t>(limit, share_set ? 4 : RowKernels::kMaxMany);
  while (kernels.tiles[few - 1][many - 1] == nullptr) --many;
  return many;
}

class RowRunner {
 public:
  RowRunner(const RowProduct& product, void* const* extra, GemmFinish* finish)
      : g_(product),
        kernels_(*FindRowKernels(product.kind)),
        extra_(extra),
        finish_(finish),
        groups_(CeilDivide(g_.m, kernels_.most_few)),
        group_(CeilDivide(g_.m, groups_)),
        many_(MostMany(kernels_, group_, RowKernels::kMaxMany, g_.n, g_.rhs_column)),
        ahead_(CeilDivide(many_, groups_)) {
    asks_ahead_ = !g_.few_columns && g_.m >= Tuning().products.asking_rows && IsFar(g_.n, g_.rhs_column);
    // Whole lines, an odd number of them apart: rows of a power of two would share a few cache sets.
    packed_row_ = RoundUp(g_.runs * std::min(g_.k_block, g_.k) * kernels_.element_bytes, 128) + 64;
    packed_bytes_ = g_.pack_lhs ? kLeadBytes + g_.m * packed_row_ : 0;
    const int64_t kept = g_.k_block < g_.k ? RoundUp(std::min(g_.column_block, g_.n), g_.columns) : g_.columns;
    sums_bytes_ = g_.direct ? 0 : (g_.few_columns ? ColumnPitch() : g_.m) * kept * kernels_.sum_bytes;
  }

  int64_t bytes() const { return packed_bytes_ + sums_bytes_; }
  void UseMemory(char* memory) {
    sums_ = memory;
    packed_ = memory + sums_bytes_ + kLeadBytes;
  }

  void RunTask(int64_t task, const char* lhs, const char* rhs, char* out) {
    if (g_.few_columns) return RunColumns(task, lhs, rhs, out);
    const int64_t n_begin = task % g_.column_blocks * g_.column_block;
    const int64_t n_end = std::min(n_begin + g_.column_block, g_.n);
    const int64_t batch = task / g_.column_blocks;
    const GemmBlockDimension offset = OffsetOf(batch);
    lhs += offset.lhs;
    rhs += offset.rhs;
    out += offset.out;
    for (int64_t k = 0; k < g_.k; k += g_.k_block) {
      const int64_t elements = std::min(g_.k_block, g_.k - k);
      const char* few = lhs + k * g_.lhs_step;
      if (g_.pack_lhs) {
        if (packed_from_ != few) {
          kernels_.pack(few, packed_, g_.lhs_step, g_.lhs_row, packed_row_, elements, g_.m);
        }
        packed_from_ = few;
        few = packed_;
      }
      char* sums = sums_;
      for (int64_t n = n_begin; n < n_end; n += g_.columns) {
        const int64_t end = std::min(n + g_.columns, n_end);
        MultiplyColumns(few, rhs + k * kernels_.element_bytes, g_.direct ? out : sums, n, end, n_end,
                        elements * kernels_.element_bytes, k > 0);
        if (g_.direct) continue;
        if (k + elements == g_.k) Finish(sums, out, batch, n, end - n);
        if (g_.k_block < g_.k) sums += g_.m * g_.columns * kernels_.sum_bytes;
      }
    }
  }

  // As many rows of a part of a batch's as a task has.
  void RunColumns(int64_t task, const char* lhs, const char* rhs, char* out) {
    const int64_t round = task / g_.round_tasks, in_round = task % g_.round_tasks;
    const int64_t block = round * g_.round_blocks + in_round % g_.round_blocks;
    const int64_t outer = block * g_.column_block / g_.outer_columns,
                  first = block * g_.column_block % g_.outer_columns;
    const int64_t end = std::min(first + g_.column_block, g_.n);
    if (outer >= g_.outer || first >= end) return;  // behind the last one's end
    const int64_t batch = in_round / g_.round_blocks * g_.outer + outer;
    const GemmBlockDimension offset = OffsetOf(batch);
    lhs += offset.lhs;
    rhs += offset.rhs - round * g_.round_rhs;
    out += offset.out;
    const auto* few_offsets = reinterpret_cast<const int64_t*>(&g_ + 1);
    const int64_t* many_offsets = few_offsets + g_.runs;
    const int64_t bytes = g_.k * kernels_.element_bytes;
    if (packed_from_ != lhs) {
      for (int64_t run = 0; run < g_.runs; ++run) {
        kernels_.pack(lhs + few_offsets[run], packed_ + run * bytes, g_.lhs_step, g_.lhs_row, packed_row_, g_.k, g_.m);
      }
      packed_from_ = lhs;
    }
    for (int64_t n = first; n < end; n += g_.columns) {
      const int64_t limit = std::min(n + g_.columns, end);
      for (int64_t run = 0; run < g_.runs; ++run) {
        MultiplyColumns(packed_ + run * bytes, rhs + many_offsets[run], g_.direct ? out : sums_, n, limit, end, bytes,
                        run > 0);
      }
      if (!g_.direct) Finish(sums_, out, batch, n, limit - n);
    }
  }

 private:
  // Of few columns' sums, from row to row: as many as the schedule has lanes.
  int64_t ColumnPitch() const { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(g_.m))); }

  GemmBlockDimension OffsetOf(int64_t batch) const {
    GemmBlockDimension offset;
    for (int64_t i = g_.batch_count; i-- > 0; batch /= g_.batch[i].size) {
      const int64_t position = batch % g_.batch[i].size;
      offset.lhs += position * g_.batch[i].lhs;
      offset.rhs += position * g_.batch[i].rhs;
      offset.out += position * g_.batch[i].out;
    }
    return offset;
  }

  void Finish(char* sums, char* out, int64_t batch, int64_t n, int64_t columns) {
    if (finish_ != nullptr && g_.few_columns) {
      return finish_(sums, out, extra_, batch, n, 0, columns, g_.m, ColumnPitch() * kernels_.sum_bytes);
    }
    if (finish_ != nullptr) {
      return finish_(sums, out, extra_, batch, 0, n, g_.m, columns, g_.columns * kernels_.sum_bytes);
    }
    GemmStore* narrow = FindGemmKernels(GemmKernelKind::kF32)->narrow[static_cast<int64_t>(g_.narrow_out)];
    narrow(sums, out + n * g_.out_column, g_.columns * kernels_.sum_bytes, g_.out_row, g_.out_column, g_.m, columns);
  }

  // Columns [n, end) of a task that ends with `n_end`.
  void MultiplyColumns(const char* few, const char* rhs, char* sums, int64_t n, int64_t end, int64_t n_end,
                       int64_t bytes, bool resume) {
    RowTileStrides strides{g_.pack_lhs ? packed_row_ : g_.lhs_row, g_.rhs_column, g_.out_row, g_.out_column};
    if (g_.direct) {
      sums += n * g_.out_column;
    } else if (g_.few_columns) {
      strides.sums_few = kernels_.sum_bytes;
      strides.sums_many = ColumnPitch() * kernels_.sum_bytes;
    } else {
      strides.sums_few = g_.columns * kernels_.sum_bytes;
      strides.sums_many = kernels_.sum_bytes;
    }
    while (n < end) {
      const int64_t many = MostMany(kernels_, group_, end - n, g_.n, g_.rhs_column);
      // A single group of few rows goes over all tiles, several take turns: each reads its columns from the cache where
      // the first one left them, and asks for a part of the next ones. The last tile has none to ask for.
      const bool asks = asks_ahead_ && many == many_ && n + 2 * many <= n_end;
      const int64_t tiles = groups_ > 1 ? 1 : std::max<int64_t>((asks ? end - many : end) - n, many) / many;
      for (int64_t group = 0; group < groups_; ++group) {
        const int64_t m = group * group_, first = group * ahead_;
        RowKernel* kernel = kernels_.tiles[std::min(group_, g_.m - m) - 1][many - 1];
        kernel(few + m * strides.few, rhs + n * g_.rhs_column, sums + m * strides.sums_few, strides, bytes, tiles,
               rhs + (n + many + first) * g_.rhs_column, asks ? std::clamp<int64_t>(many - first, 0, ahead_) : 0,
               resume);
      }
      sums += tiles * many * strides.sums_many;
      n += tiles * many;
    }
  }

  const RowProduct& g_;
  const RowKernels& kernels_;
  void* const* const extra_;
  GemmFinish* const finish_;
  const int64_t groups_, group_;  // of few rows
  const int64_t many_;            // of a tile
  const int64_t ahead_;           // of them that each group asks for
  bool asks_ahead_ = false;
  int64_t packed_row_ = 0, packed_bytes_ = 0, sums_bytes_ = 0;
  const char* packed_from_ = nullptr;
  char *sums_ = nullptr, *packed_ = nullptr;
};

std::vector<int64_t> WordsOf(const RowProduct& product) {
  static_assert(sizeof(RowProduct) % sizeof(int64_t) == 0);
  std::vector<int64_t> words(sizeof(RowProduct) / sizeof(int64_t));
  std::memcpy(words.data(), &product, sizeof(RowProduct));
  return words;
}

// `g` has its kind.
std::vector<int64_t> DescribeColumnProduct(const GemmSpec& spec, const GemmProblem& problem,
                                           const GemmSchedule& schedule, const GemmLayout& layout, RowProduct g) {
  const absl::StatusOr<GemmArithmetic> arithmetic =
      GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type);
  const int64_t element = GemmArithmetic::StoredBytes(problem.lhs_type);
  const int64_t out = hlo::ByteWidth(problem.out_type);
  g.few_columns = 1;
  g.m = problem.n;
  g.n = problem.m;
  g.k = g.k_block = problem.k;
  g.lhs_row = problem.rhs_n * element;
  g.lhs_step = problem.rhs_k * element;
  g.rhs_column = problem.lhs_m * element;
  g.out_row = problem.out_n * out;
  g.out_column = problem.out_m * out;
  g.pack_lhs = 1;
  g.direct = IsDirectResult(spec, *arithmetic) ? 1 : 0;
  g.narrow_out = ResultNarrowing(spec, *arithmetic, schedule);
  g.columns = kColumnRows;
  g.column_block = schedule.m_block;
  g.outer = problem.m_outer;
  g.outer_columns = layout.m_padded;
  g.round_blocks = layout.m_blocks;
  g.round_tasks = layout.batches * layout.m_blocks;
  g.round_rhs = layout.lhs.round_stride * element;
  for (const std::vector<GemmBatchDimension>* dimensions : {&problem.batch, &problem.outer_rows}) {
    for (const GemmBatchDimension& d : *dimensions) {
      if (d.size != 1) {
        g.batch[g.batch_count++] = {d.size, d.rhs_stride * element, d.lhs_stride * element, d.out_stride * out};
      }
    }
  }
  g.runs = problem.k_outer;
  std::vector<int64_t> words = WordsOf(g);
  for (const bool is_lhs : {false, true}) AppendRunOffsets(problem, is_lhs, element, &words);
  return words;
}

}  // namespace

const RowKernels* FindRowKernels(GemmKernelKind kind) {
  const HostIsa& host = Host();
  if (kind == GemmKernelKind::kHalf && !host.half_conversions) return nullptr;
  if (host.compiled_vector_bytes == 64) return HasGroups(kind) ? RowKernels512(kind) : nullptr;
  return host.compiled_vector_bytes == 32 ? RowKernels256(kind) : RowKernels128(kind);
}

void RunRowProduct(const RowProduct* product, const char* lhs, const char* rhs, char* out, void* const* extra,
                   int64_t begin, int64_t end, GemmFinish* finish) {
  const FlushedFloatEnvironment environment;
  RowRunner runner(*product, extra, finish);
  runner.UseMemory(ThreadMemory(runner.bytes()));
  for (int64_t task = begin; task < end; ++task) runner.RunTask(task, lhs, rhs, out);
}

bool ChooseRowProduct(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic, int threads,
                      GemmSchedule& schedule) {
  const ProductTuning& costs = Tuning().products;
  const std::optional<GemmKernelKind> kind = KindOf(problem, arithmetic);
  const RowKernels* kernels = kind.has_value() ? FindRowKernels(*kind) : nullptr;
  if (kernels == nullptr || problem.rhs_k != 1 || (problem.rhs_n == 0 && problem.n > 1)) return false;
  const double work = static_cast<double>(problem.m * problem.n) * static_cast<double>(problem.k);
  if (*kind >= GemmKernelKind::kBrain && MultipliesWithAmx(AmxKindOf(*kind)) &&
      std::min({problem.m, problem.n, problem.k}) >= costs.amx_extent) {
    return false;
  }
  // Bytes are multiplied so fast that more rows repay packing; and what is widened for each group of few rows, of which
  // sixteen registers hold two at a time, had better be packed wide: ten rows times a thousand of 100 f16 or bf16 took
  // 1.4 to 1.7 times as long (Zen 3).
  const bool is_widened = kernels->element_bytes == 2 && kernels->lanes < 16;
  if ((*kind == GemmKernelKind::kSignedBytes || is_widened) && problem.m > costs.few_rows / 4) return false;
  if (problem.k * kernels->element_bytes < 2 * kernels->vector_bytes || work < costs.block_work) return false;
  // Few columns that fill vectors need not be packed as rows.
  if (problem.lhs_m == 1 && problem.m % kernels->lanes == 0 && problem.m > 1) return false;
  int64_t dimensions = 0;
  for (const GemmBatchDimension& d : problem.batch) dimensions += d.size != 1;
  if (dimensions > GemmBlocks::kMaxDimensions) return false;

  schedule.kind = GemmSchedule::Kind::kRows;
  schedule.depth = 1;
  int lanes = 1;
  while (lanes < kernels->lanes && lanes < problem.n) lanes *= 2;
  schedule.lanes = lanes;
  schedule.rows = static_cast<int>(problem.m);
  schedule.vectors = RowKernels::kMaxMany;
  schedule.pack_lhs = problem.lhs_k != 1;
  schedule.pack_rhs = false;
  schedule.m_block = problem.m;
  // Few rows stay in the second-level cache.
  const int64_t element = kernels->element_bytes;
  const int64_t parts = CeilDivide(problem.m * problem.k * element, int64_t{Host().l2_bytes} / 2);
  schedule.k_block = parts > 1 ? RoundUp(CeilDivide(problem.k, parts), 64) : problem.k;
  // Equal parts for all threads.
  const int64_t columns = int64_t{schedule.vectors} * lanes;
  const double task = work / costs.task_work;
  const int64_t tasks_per_thread = schedule.pack_lhs ? 2 : 8;
  const int64_t tasks =
      threads == 1 ? 1
                   : std::clamp<int64_t>(static_cast<int64_t>(std::min(task, 1e6)), 1,
                                         std::max<int64_t>(CeilDivide(tasks_per_thread * threads, problem.batches), 1));
  // Whole tiles, or whole vectors.
  const int64_t groups = CeilDivide(problem.m, kernels->most_few);
  const int64_t tile =
      MostMany(*kernels, CeilDivide(problem.m, groups), RowKernels::kMaxMany, problem.n, problem.rhs_n * element);
  const int64_t unit = IsDirectResult(spec, arithmetic) ? tile : columns;
  schedule.n_block = std::max<int64_t>(std::min(RoundUp(CeilDivide(problem.n, tasks), unit), problem.n), 1);
  return true;
}

bool ChooseColumnProduct(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic,
                         GemmSchedule& schedule) {
  const ProductTuning& costs = Tuning().products;
  const std::optional<GemmKernelKind> kind = KindOf(problem, arithmetic);
  // A padded copy has the sum's type.
  if (kind != GemmKernelKind::kF32 && kind != GemmKernelKind::kF64) return false;
  const RowKernels* kernels = FindRowKernels(*kind);
  if (kernels == nullptr || problem.n > costs.few_features || problem.column_group > 0 || problem.lhs_k != 1)
    return false;
  const int64_t element = kernels->element_bytes, steps = problem.k_total();
  const double work = static_cast<double>(problem.m * problem.m_outer * problem.n) * static_cast<double>(steps);
  if (problem.k * element < 2 * kernels->vector_bytes || work < costs.block_work ||
      problem.n * steps * element > Host().l2_bytes / 2) {
    return false;
  }
  int64_t dimensions = 0;
  for (const GemmBatchDimension& d : problem.batch) dimensions += d.size != 1;
  for (const GemmBatchDimension& d : problem.outer_rows) dimensions += d.size != 1;
  if (dimensions > GemmBlocks::kMaxDimensions) return false;

  schedule.kind = GemmSchedule::Kind::kRows;
  schedule.few_columns = true;
  schedule.depth = 1;
  schedule.lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(problem.n)));
  schedule.vectors = 1;
  schedule.rows = RowKernels::kMaxMany;
  schedule.pack_lhs = false;
  schedule.pack_rhs = true;
  schedule.k_block = steps;
  schedule.n_block = schedule.lanes;
  // Places that lie in a row, or a part of them.
  const int64_t rows = RoundUp(problem.m, schedule.rows);
  schedule.m_block = problem.m_outer > 1 ? rows : std::min(rows, int64_t{kColumnRows});
  schedule.padded_bytes = 2 * costs.packed_bytes;
  const PaddedRound padded =
      CutPadding(problem, spec, PaddedElementBytes(problem, arithmetic), schedule.padded_bytes, schedule.rows);
  if (padded.units > 0) {
    schedule.m_chunk = padded.row_panels * schedule.rows;
    while (schedule.m_chunk % schedule.m_block != 0) schedule.m_block -= schedule.rows;
  }
  return true;
}

std::vector<int64_t> DescribeRowProduct(const GemmSpec& spec, const GemmProblem& problem, const GemmSchedule& schedule,
                                        const GemmLayout& layout) {
  const absl::StatusOr<GemmArithmetic> arithmetic =
      GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type);
  const int64_t element = GemmArithmetic::StoredBytes(problem.lhs_type);
  const int64_t out = hlo::ByteWidth(problem.out_type);
  RowProduct g;
  g.kind = *KindOf(problem, *arithmetic);
  if (schedule.few_columns) return DescribeColumnProduct(spec, problem, schedule, layout, g);
  g.m = problem.m;
  g.n = problem.n;
  g.k = problem.k;
  g.lhs_row = problem.lhs_m * element;
  g.lhs_step = problem.lhs_k * element;
  g.rhs_column = problem.rhs_n * element;
  g.out_row = problem.out_m * out;
  g.out_column = problem.out_n * out;
  g.pack_lhs = schedule.pack_lhs ? 1 : 0;
  g.direct = IsDirectResult(spec, *arithmetic) ? 1 : 0;
  g.narrow_out = ResultNarrowing(spec, *arithmetic, schedule);
  g.k_block = schedule.k_block;
  g.columns = int64_t{schedule.vectors} * schedule.lanes;
  g.column_block = schedule.n_block;
  g.column_blocks = layout.n_blocks;
  for (const GemmBatchDimension& d : problem.batch) {
    if (d.size != 1) {
      g.batch[g.batch_count++] = {d.size, d.lhs_stride * element, d.rhs_stride * element, d.out_stride * out};
    }
  }
  return WordsOf(g);
}

}  // namespace kiln::cpu
