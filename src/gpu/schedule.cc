#include "src/gpu/schedule.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kiln::gpu {

using kernel::Block;
using kernel::Kernel;
using kernel::LinearStride;
using kernel::LoopKind;
using kernel::Nest;
using kernel::Op;
using kernel::OpKind;
using kernel::Reduce;
using kernel::Store;
using kernel::TileSchedule;
using kernel::ValueId;

namespace {

constexpr int kBlockThreads = 256;
constexpr int kLargestGroup = 1024;
// Threads that keep a large GPU busy; grids stride over what is beyond.
constexpr int64_t kBusyThreads = int64_t{132} * 2048;
// Fewer elements than this are not worth vectors: more threads hide more latency.
constexpr int64_t kMinVectorElements = 4096;
// Registers of long bodies are worth more than wide accesses.
constexpr size_t kLongBody = 150;
// A warp has at least one element a thread, more or less.
constexpr int64_t kMinWarpReduction = 24;
constexpr int64_t kMinBlockReduction = 2048;
// Every row of a block's threads has some elements of a column.
constexpr int64_t kMinColumnReduction = 32;
// Fewer threads than this leave most of a GPU idle.
constexpr int64_t kFewResults = 4096;
constexpr int64_t kMinTileExtent = 8;

int64_t Saturated(double value) { return static_cast<int64_t>(std::min(value, 9e18)); }

class Scheduler {
 public:
  Scheduler(const Kernel& kernel, const Nest& nest) : kernel_(kernel), nest_(nest) {
    Collect(nest.body, /*in_reduce=*/false);
    schedule_.nest.reduces.resize(kernel.reduces.size());
    schedule_.nest.order = nest.loops;
    for (int number : reduces_) schedule_.nest.reduces[number].order = kernel.reduces[number].loops;
  }

  LaunchSchedule Run() {
    const bool serial = std::any_of(nest_.loops.begin(), nest_.loops.end(),
                                    [&](int loop) { return kernel_.loops[loop].kind == LoopKind::kSerial; });
    if (serial) return std::move(schedule_);
    if (!ScheduleGroups() && !ScheduleTiles()) ScheduleThreads();
    return std::move(schedule_);
  }

 private:
  void Collect(const Block& block, bool in_reduce) {
    for (const Block::Statement& statement : block.statements) {
      switch (statement.kind) {
        case Block::Kind::kOp:
          ops_.push_back(statement.index);
          break;
        case Block::Kind::kStore:
          stores_.push_back(&kernel_.stores[statement.index]);
          break;
        case Block::Kind::kReduce:
          reduces_.push_back(statement.index);
          if (!in_reduce) outermost_reduces_.push_back(statement.index);
          Collect(*kernel_.reduces[statement.index].block, /*in_reduce=*/true);
          break;
      }
    }
  }

  double Extent(const std::vector<int>& loops) const {
    double product = 1;
    for (int loop : loops) product *= static_cast<double>(kernel_.loops[loop].extent);
    return product;
  }

  bool HasStride(const kernel::IndexExpr& offset, int loop, int64_t wanted) const {
    int64_t stride;
    return LinearStride(kernel_.terms, offset, loop, 1, &stride) && stride == wanted;
  }

  // ---- A thread per element ----

  void ScheduleThreads() {
    kernel::NestSchedule& nest = schedule_.nest;
    if (!nest.order.empty()) {
      const int last = nest.order.back();
      const int lanes = LanesFor(last, nest.order, /*behind_reduces=*/false);
      if (lanes > 1) {
        nest.vector_loop = last;
        nest.lanes = lanes;
        nest.block = lanes;
      }
    }
    nest.task_loops = static_cast<int>(nest.order.size());
    nest.task_count = std::max<int64_t>(1, Saturated(Extent(nest.order) / nest.lanes));
    if (nest.order.empty()) return;
    FillGrid(nest.task_count, kBlockThreads);
  }

  void FillGrid(int64_t threads, int block) {
    schedule_.block_threads = block;
    while (schedule_.block_threads > kWarpThreads && threads <= schedule_.block_threads / 2) {
      schedule_.block_threads /= 2;
    }
    const int64_t wanted = std::min(threads, kBusyThreads);
    schedule_.blocks = std::max<int64_t>(1, (wanted + schedule_.block_threads - 1) / schedule_.block_threads);
  }

  // Elements that a thread reads and writes at once when it works along `loop`, the last of `order`: 1, 2 or 4.
  int LanesFor(int loop, const std::vector<int>& order, bool behind_reduces) const {
    if (ops_.size() > kLongBody || (!behind_reduces && !reduces_.empty())) return 1;
    const int64_t extent = kernel_.loops[loop].extent;
    if (Extent(order) < kMinVectorElements) return 1;
    for (int lanes = 4; lanes > 1; lanes /= 2) {
      // Rows that are no whole number of vectors begin at odd addresses, unless there is only one.
      if (extent < lanes || (order.size() > 1 && extent % lanes != 0)) continue;
      bool fits = true, gains = false;
      auto access = [&](const kernel::IndexExpr& offset, hlo::PrimitiveType type) {
        if ((kernel_.terms.LoopsOf(offset) >> loop & 1) == 0) return;
        int64_t stride;
        fits = fits && LinearStride(kernel_.terms, offset, loop, lanes, &stride) && (stride == 0 || stride == 1);
        if (!fits || stride == 0) return;
        gains = true;
        fits = lanes * hlo::ByteWidth(type) <= 16 && Aligned(offset, loop, lanes);
      };
      for (ValueId id : ops_) {
        if (kernel_.ops[id].kind == OpKind::kLoad) access(kernel_.ops[id].offset, kernel_.ops[id].type);
      }
      for (const Store* store : stores_) {
        // A store that the loop does not move would be written by all lanes.
        fits = fits && (kernel_.terms.LoopsOf(store->offset) >> loop & 1) != 0;
        access(store->offset, kernel_.parameters[store->parameter].type);
      }
      if (fits && gains) return lanes;
    }
    return 1;
  }

  // Every vector of `lanes` elements along `loop` begins at a multiple of `lanes`.
  bool Aligned(const kernel::IndexExpr& offset, int loop, int lanes) const {
    if (offset.constant % lanes != 0) return false;
    for (const auto& [number, coefficient] : offset.terms) {
      const kernel::IndexTerms::Term& term = kernel_.terms.term(number);
      if (term.kind == kernel::IndexTerms::Kind::kLoop && term.id == loop) continue;
      // Floor divisions keep their quotient over a vector, remainders begin at multiples (LinearStride).
      const bool moves = (term.loops >> loop & 1) != 0;
      if (!(moves && term.kind == kernel::IndexTerms::Kind::kMod) && coefficient % lanes != 0) return false;
    }
    return true;
  }

  // ---- Tiles ----

  bool ScheduleTiles() {
    kernel::NestSchedule& nest = schedule_.nest;
    if (!reduces_.empty() || stores_.empty() || nest.order.size() < 2) return false;
    TileSchedule tile;
    tile.store_loop = nest.order.back();
    // Half of what a block may have, so that two of them fit beside each other.
    if (!FindTile(kernel_, nest_, nest.order, kMinTileExtent, /*max_width=*/16, /*max_bytes=*/24 << 10, &tile)) {
      return false;
    }
    std::erase(nest.order, tile.load_loop);
    nest.order.insert(nest.order.end() - 1, tile.load_loop);
    nest.task_loops = static_cast<int>(nest.order.size());
    auto tiles_along = [&](int loop) { return (kernel_.loops[loop].extent + tile.size - 1) / tile.size; };
    double count = 1;
    for (int loop : nest.order) {
      const bool tiled = loop == tile.load_loop || loop == tile.store_loop;
      count *= static_cast<double>(tiled ? tiles_along(loop) : kernel_.loops[loop].extent);
    }
    nest.task_count = Saturated(count);
    nest.tile = tile;
    schedule_.block_threads = kBlockThreads;
    schedule_.group_threads = kBlockThreads;
    schedule_.blocks = std::min(nest.task_count, kBusyThreads / kBlockThreads);
    return true;
  }

  // ---- A group of threads per reduction ----

  bool ScheduleGroups() {
    // The results that the fewest iterations need are computed together; reduces below them stay with their thread.
    const Reduce* top = nullptr;
    for (int number : outermost_reduces_) {
      const Reduce& reduce = kernel_.reduces[number];
      if (top == nullptr || Results(reduce) < Results(*top)) top = &reduce;
    }
    if (top == nullptr) return false;
    std::vector<int> tasks, rest;
    for (int loop : nest_.loops) ((top->outer_loops >> loop & 1) != 0 ? tasks : rest).push_back(loop);
    const Division division = Divide(*top, tasks, rest);
    // Without other iterations that need its result a thread may as well have several results.
    if (division == Division::kThread && rest.empty()) return false;

    kernel::NestSchedule& nest = schedule_.nest;
    nest.order = tasks;
    nest.order.insert(nest.order.end(), rest.begin(), rest.end());
    nest.task_loops = static_cast<int>(tasks.size());
    nest.task_count = Saturated(Extent(tasks));
    nest.over_groups = true;
    double longest = 1;
    for (int number : outermost_reduces_) {
      const Reduce& reduce = kernel_.reduces[number];
      if (division == Division::kThread || (reduce.outer_loops & ~top->outer_loops) != 0) continue;
      kernel::ReduceSchedule& own = nest.reduces[number];
      own.over_group = true;
      longest = std::max(longest, Extent(own.order));
      const int lanes = division == Division::kGroup ? ReduceLanes(reduce) : 1;
      if (lanes > 1) {
        own.vector_loop = own.order.back();
        own.lanes = lanes;
      }
    }
    if (division == Division::kThread) {
      FillGrid(nest.task_count, kBlockThreads);
      return true;
    }
    if (division == Division::kColumn) {
      schedule_.columns = kWarpThreads;
      schedule_.block_threads = kBlockThreads;
      schedule_.group_threads = kBlockThreads / kWarpThreads;
      FitBlocks();
      return true;
    }
    if (!rest.empty()) {
      const int lanes = LanesFor(nest.order.back(), nest.order, /*behind_reduces=*/true);
      if (lanes > 1) {
        nest.vector_loop = nest.order.back();
        nest.lanes = lanes;
      }
    }
    if (tasks.empty()) {
      // One result: every block computes it for itself, where there is anything else to do.
      schedule_.group_threads = schedule_.block_threads = GroupFor(longest);
      if (!rest.empty()) {
        const int64_t threads = std::min(Saturated(Extent(rest)), kBusyThreads);
        schedule_.blocks = std::max<int64_t>(1, threads / schedule_.block_threads);
      }
      return true;
    }
    const double per_task = std::max(longest, Extent(rest));
    const bool warp = per_task < kMinBlockReduction;
    schedule_.group_threads = warp ? kWarpThreads : GroupFor(per_task);
    schedule_.block_threads = warp ? kBlockThreads : schedule_.group_threads;
    FitBlocks();
    return true;
  }

  // Blocks for the tasks, but not more than keep a GPU busy.
  void FitBlocks() {
    const int64_t groups = schedule_.block_threads / schedule_.group_threads;
    schedule_.blocks = std::max<int64_t>(
        1, std::min((schedule_.nest.task_count + groups - 1) / groups, kBusyThreads / schedule_.block_threads));
  }

  // Who computes a result of a reduction: a thread, the threads of a column, or a warp or block.
  enum class Division : uint8_t { kThread, kColumn, kGroup };

  Division Divide(const Reduce& reduce, const std::vector<int>& tasks, const std::vector<int>& rest) const {
    const double elements = Extent(reduce.loops);
    const int along = reduce.loops.back();
    const int store_loop = tasks.empty() ? -1 : tasks.back();
    bool along_reduce = false, along_store = false;
    for (ValueId id : ops_) {
      const Op& op = kernel_.ops[id];
      if (op.kind != OpKind::kLoad || (op.loops & LoopSet(reduce)) == 0) continue;
      along_reduce |= HasStride(op.offset, along, 1) && kernel_.loops[along].extent > 1;
      along_store |= store_loop >= 0 && HasStride(op.offset, store_loop, 1);
    }
    if (along_store) {
      // Threads past the last result may not write, so nothing else may be left for them to do.
      const bool whole = rest.empty() || Saturated(Extent(tasks)) % kWarpThreads == 0;
      const bool few = Extent(tasks) < static_cast<double>(kBusyThreads) / 4;
      if (few && whole && elements >= kMinColumnReduction && Extent(tasks) >= kWarpThreads) return Division::kColumn;
      if (along_reduce || Extent(tasks) >= kWarpThreads) return Division::kThread;
    }
    if (elements < kMinWarpReduction) return Division::kThread;
    if (along_reduce) return Division::kGroup;
    // Nobody reads consecutive elements: what counts is how many threads there are.
    return Extent(tasks) < kFewResults && elements >= 4 * kWarpThreads ? Division::kGroup : Division::kThread;
  }

  // A power of two of threads with several elements each.
  static int GroupFor(double elements) {
    int threads = kWarpThreads;
    while (threads < kLargestGroup && threads * 4 < elements) threads *= 2;
    return threads;
  }

  double Results(const Reduce& reduce) const {
    double product = 1;
    for (int loop : nest_.loops) {
      if ((reduce.outer_loops >> loop & 1) != 0) product *= static_cast<double>(kernel_.loops[loop].extent);
    }
    return product;
  }

  static uint64_t LoopSet(const Reduce& reduce) {
    uint64_t set = 0;
    for (int loop : reduce.loops) set |= uint64_t{1} << loop;
    return set;
  }

  // As LanesFor, for the loads inside a reduce.
  int ReduceLanes(const Reduce& reduce) const {
    const int loop = reduce.loops.back();
    const int64_t extent = kernel_.loops[loop].extent;
    // Lanes start with elements, which a predicate may leave out.
    if (reduce.predicate != kernel::kNoValue) return 1;
    if (ops_.size() > kLongBody || Extent(reduce.loops) < 4 * kWarpThreads) return 1;
    for (int lanes = 4; lanes > 1; lanes /= 2) {
      if (extent % lanes != 0) continue;
      bool fits = true, gains = false;
      for (const Block::Statement& statement : reduce.block->statements) {
        if (statement.kind == Block::Kind::kReduce) return 1;
        if (statement.kind != Block::Kind::kOp || kernel_.ops[statement.index].kind != OpKind::kLoad) continue;
        const Op& op = kernel_.ops[statement.index];
        if ((kernel_.terms.LoopsOf(op.offset) >> loop & 1) == 0) continue;
        int64_t stride;
        fits = fits && LinearStride(kernel_.terms, op.offset, loop, lanes, &stride) && (stride == 0 || stride == 1);
        if (!fits || stride == 0) continue;
        gains = true;
        fits = lanes * hlo::ByteWidth(op.type) <= 16 && Aligned(op.offset, loop, lanes);
      }
      if (fits && gains) return lanes;
    }
    return 1;
  }

  const Kernel& kernel_;
  const Nest& nest_;
  LaunchSchedule schedule_;
  std::vector<ValueId> ops_;
  std::vector<const Store*> stores_;
  std::vector<int> reduces_;
  std::vector<int> outermost_reduces_;
};

}  // namespace

LaunchSchedule ScheduleLaunch(const Kernel& kernel, const Nest& nest) { return Scheduler(kernel, nest).Run(); }

std::string ToString(const LaunchSchedule& schedule) {
  std::string text = absl::StrCat(schedule.block_threads, schedule.block_threads == 1 ? " thread in " : " threads in ",
                                  schedule.blocks, schedule.blocks == 1 ? " block" : " blocks");
  if (schedule.columns > 1) {
    absl::StrAppend(&text, ", columns of ", schedule.group_threads);
  } else if (schedule.group_threads > 1) {
    absl::StrAppend(&text, ", groups of ", schedule.group_threads);
  }
  absl::StrAppend(&text, "; ", kernel::ToString(schedule.nest));
  return text;
}

}  // namespace kiln::gpu
