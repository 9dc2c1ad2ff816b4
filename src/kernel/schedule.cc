#include "src/kernel/schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/cpu_tuning.h"
#include "src/base/isa_level.h"
#include "src/kernel/memory_access.h"
#include "src/kernel/op_cost.h"
#include "src/kernel/scalar_computation.h"
#include "src/kernel/square_transposition.h"

namespace kiln::kernel {

using hlo::Opcode;
using hlo::PrimitiveType;

namespace {

class Scheduler {
 public:
  Scheduler(const Kernel& kernel, const Nest& nest, const TargetInfo& target)
      : kernel_(kernel), nest_(nest), target_(target) {
    Collect(nest.body, -1, 1, SetOf(nest.loops));
    // Loops in scalar computations end at another round for each element.
    has_scalar_loop_ =
        std::any_of(kernel.ops.begin(), kernel.ops.end(), [](const Op& op) { return op.opcode == Opcode::kWhile; }) ||
        std::any_of(kernel.reduces.begin(), kernel.reduces.end(),
                    [](const Reduce& reduce) { return reduce.combiner != nullptr && HasLoop(*reduce.combiner); });
    is_serial_ = absl::c_any_of(nest.loops, [&](int loop) { return kernel.loops[loop].kind == LoopKind::kSerial; });
  }

  NestSchedule Run() {
    NestSchedule schedule;
    schedule.reduces.resize(kernel_.reduces.size());
    schedule.order = nest_.loops;
    const bool vectors = target_.target == Target::kCpu;
    int best = -1, best_lanes = 1;
    double best_cost = Cost(-1, 1);
    if (vectors) {
      for (int loop : nest_.loops) {
        int lanes = LanesFor(loop);
        while (lanes > 1 && LocalBytes(loop) * lanes > kMaxLocalBytes) lanes /= 2;
        if (lanes <= 1) continue;
        double cost = Cost(loop, lanes);
        if (nest_.repeat_loop >= 0 ? loop == nest_.loops.end()[-2] : cost < best_cost) {
          best = loop;
          best_cost = cost;
          best_lanes = lanes;
        }
      }
      for (int loop : nest_.loops) ConsiderRowTiles(loop, &best, &best_lanes, &best_cost, &schedule.row_tiles);
    }
    // What a reduce does not depend on runs inside the loops that it depends on, and not around them.
    std::stable_sort(schedule.order.begin(), schedule.order.end(),
                     [&](int a, int b) { return ReducesOver(a) > ReducesOver(b); });
    if (best >= 0) {
      schedule.vector_loop = best;
      schedule.lanes = best_lanes;
      if (nest_.repeat_loop < 0) {
        std::erase(schedule.order, best);
        auto place = absl::c_find_if(schedule.order, [&](int loop) { return ReducesOver(loop) < ReducesOver(best); });
        if (reduces_.empty()) place -= LoopsOfLines(kernel_, stores_, schedule.order, best, best_lanes);
        schedule.order.insert(place, best);
      }
    }
    for (int number : reduces_) ScheduleReduce(number, best, &schedule.reduces[number]);
    if (vectors && schedule.row_tiles.empty()) best_cost = ScheduleTiles(best_cost, &schedule);
    DivideIntoTasks(best_cost, &schedule);
    return schedule;
  }

 private:
  // Iterations of `loop` as lanes where tiles of rows make that the cheapest.
  void ConsiderRowTiles(int loop, int* best, int* best_lanes, double* best_cost, std::vector<RowTile>* best_tiles) {
    if (!target_.has_row_tiles || reduces_.empty() || has_scalar_loop_ || nest_.repeat_loop >= 0 || is_serial_) {
      return;
    }
    const int lanes = target_.vector_bytes / WidthAlong(loop);
    if (lanes < 4 || kernel_.loops[loop].extent < lanes || LocalBytes(loop) * lanes > kMaxLocalBytes) return;
    uint64_t outside = 0;
    for (int other : nest_.loops) {
      if (other != loop && ReducesOver(other) >= ReducesOver(loop)) outside |= uint64_t{1} << other;
    }
    row_tiles_ = FindRowTiles(kernel_, nest_, loop, lanes, outside);
    if (!row_tiles_.empty()) {
      const double cost = Cost(loop, lanes) + RowTileCost(loop, lanes, outside) / Fill(loop, lanes);
      if (cost < *best_cost) {
        *best = loop;
        *best_lanes = lanes;
        *best_cost = cost;
        *best_tiles = row_tiles_;
      }
    }
    row_tiles_.clear();
  }

  // Instructions per element of the whole parallel space that fill and empty the tiles: pieces of rows are loaded, put
  // together, interleaved and stored.
  double RowTileCost(int loop, int lanes, uint64_t outside) const {
    double cost = 0;
    for (const RowTile& tile : row_tiles_) {
      const int piece = tile.PieceOf(hlo::ByteWidth(kernel_.parameters[tile.parameter].type), lanes);
      const double in_pieces = static_cast<double>(lanes) / piece + std::log2(piece);
      const double one_by_one = tile.store >= 0 ? 2.0 : AccessCost(tile.first, loop, lanes);
      const int64_t places = (tile.size + piece - 1) / piece * piece;
      cost += static_cast<double>(places) * (1 + (piece == 1 ? one_by_one : in_pieces));
    }
    double elements = lanes;
    for (int other : nest_.loops) {
      if (other != loop && (outside >> other & 1) == 0) elements *= static_cast<double>(kernel_.loops[other].extent);
    }
    return cost / elements;
  }

  // Square tiles of vectors where some loads run along another loop than the stores; gives the cost of an element.
  double ScheduleTiles(double best_cost, NestSchedule* schedule) {
    if (nest_.loops.size() < 2 || has_scalar_loop_ || nest_.repeat_loop >= 0 || is_serial_) return best_cost;
    int width = 2;
    for (const Weighted& w : ops_) {
      width = std::max(
          {width, ComputeWidth(target_.target, *w.op), w.op->kind == OpKind::kLoad ? hlo::ByteWidth(w.op->type) : 1});
    }
    TileSchedule tile;
    tile.store_loop = nest_.loops.back();
    tile.size = target_.vector_bytes / width;
    // What squares are compiled with Kiln for (square_transposition.h) is divided into smaller ones at will.
    constexpr int64_t kLeastSquare = 4;
    const bool only_moves = ops_.size() == 1 && stores_.size() == 1;
    const int64_t least = only_moves ? std::min<int64_t>(tile.size / 2, kLeastSquare) : tile.size / 2;
    if (tile.size < 4 ||
        !FindTile(kernel_, nest_, nest_.loops, least, /*max_width=*/8, Tuning().kernels.tile_bytes, &tile)) {
      return best_cost;
    }
    tile.together = TilesTogether(kernel_, tile, only_moves);
    tiled_ = tile.loads;
    const double cost = Cost(tile.store_loop, tile.size);
    tiled_.clear();
    if (cost >= best_cost) return best_cost;
    schedule->order = TileOrder(kernel_, nest_, tile);
    schedule->vector_loop = tile.store_loop;
    schedule->lanes = tile.size;
    schedule->tile = std::move(tile);
    return cost;
  }

  struct Weighted {
    const Op* op;
    int reduce;    // the innermost reduce it stands in, or -1
    double times;  // executions per iteration of the whole parallel space
  };

  // `loops`: those of the nest that `times` is as often as.
  void Collect(const Block& block, int inside, double times, uint64_t loops) {
    for (const Block::Statement& statement : block.statements) {
      if (statement.kind == Block::Kind::kOp) {
        const Op& op = kernel_.ops[statement.index];
        const bool once = nest_.repeat_loop >= 0 && (op.loops >> nest_.repeat_loop & 1) == 0;
        const double rounds = once ? static_cast<double>(kernel_.loops[nest_.repeat_loop].extent) : 1;
        ops_.push_back({&op, inside, times / rounds});
      } else if (statement.kind == Block::Kind::kStore) {
        stores_.push_back(&kernel_.stores[statement.index]);
      } else {
        const Reduce& reduce = kernel_.reduces[statement.index];
        double inner = times;
        for (int loop : reduce.loops) inner *= static_cast<double>(kernel_.loops[loop].extent);
        // A reduce runs once for all iterations of the loops that it does not depend on, nor what it stands in.
        for (int loop : nest_.loops) {
          if ((loops & ~reduce.outer_loops) >> loop & 1) inner /= static_cast<double>(kernel_.loops[loop].extent);
        }
        reduces_.push_back(statement.index);
        double outer = inner;
        for (int loop : reduce.loops) outer /= static_cast<double>(kernel_.loops[loop].extent);
        reduce_times_.push_back(outer);
        Collect(*reduce.block, statement.index, inner, loops & reduce.outer_loops);
      }
    }
  }

  // Accumulators of the reduces that take many elements for each iteration of `loop`.
  int ColumnSums(int loop) const {
    constexpr int64_t kManyRows = 8;
    size_t sums = 0;
    for (int number : reduces_) {
      const Reduce& reduce = kernel_.reduces[number];
      int64_t rows = 1;
      for (int l : reduce.loops) rows *= kernel_.loops[l].extent;
      // What compares needs registers for elements as well.
      const size_t own = reduce.inits.size() * (reduce.combiner == nullptr ? 1 : 2);
      if (rows >= kManyRows && (reduce.outer_loops >> loop & 1) != 0) sums += own;
    }
    return static_cast<int>(std::min<size_t>(sums, 16));
  }

  int64_t ReducesOver(int loop) const {
    return std::count_if(reduces_.begin(), reduces_.end(),
                         [&](int number) { return (kernel_.reduces[number].outer_loops >> loop & 1) != 0; });
  }

  // Of the local arrays that hold an element per lane when `loop` runs as lanes.
  int64_t LocalBytes(int loop) const {
    int64_t bytes = 0;
    for (const Store* store : stores_) {
      const Parameter& parameter = kernel_.parameters[store->parameter];
      const uint64_t lanes = kernel_.ops[store->value].loops & ~kernel_.terms.LoopsOf(store->offset);
      if (parameter.is_local && (lanes >> loop & 1) != 0) {
        bytes += parameter.element_count() * hlo::ByteWidth(parameter.type);
      }
    }
    return bytes;
  }

  // Bytes of an element of the widest type that the loop touches: where little is as wide as that, it takes two
  // registers, and the rest is in full ones.
  int WidthAlong(int loop) const {
    int width = 1;
    double of_width[9] = {};  // in types of so many bytes
    for (const Weighted& w : ops_) {
      if ((w.op->loops >> loop & 1) == 0) continue;
      // Narrow floats that are moved alone are no wider than they are.
      const bool is_moved = w.op->kind == OpKind::kLoad && hlo::IsFloating(w.op->type);
      const int own = is_moved ? hlo::ByteWidth(w.op->type) : ComputeWidth(target_.target, *w.op);
      width = std::max(width, own);
      of_width[std::min(own, 8)] += OpCost(*w.op);
    }
    return width == 8 && !reduces_.empty() && of_width[4] > of_width[8] ? 4 : width;
  }

  static constexpr int kMostLanes = 64;        // but for sums of columns
  static constexpr double kOfComputation = 8;  // to combine two elements by one

  // Full registers of the widest type that the loop touches; several registers at once where a loop-carried
  // accumulator would otherwise wait for itself.
  int LanesFor(int loop) const {
    constexpr int64_t kMaxNearbyStride = 4;
    constexpr double kPlainSum = 6;  // of an element: its load and little else
    constexpr double kPlain = 16;
    const Loop& info = kernel_.loops[loop];
    // Around loops that keep their order are tasks alone.
    if (has_scalar_loop_ || (is_serial_ && info.kind == LoopKind::kParallel)) return 1;
    const uint64_t bit = uint64_t{1} << loop;
    double cost = 0, reduced = 0;  // of an element, and what its reduces do with it
    bool far_apart = false;        // elements that a load picks out of several vectors
    for (const Weighted& w : ops_) {
      if ((w.op->loops & bit) == 0) continue;
      cost += OpCost(*w.op);
      if (w.reduce >= 0) reduced += OpCost(*w.op);
      int64_t stride;
      far_apart |= w.op->kind == OpKind::kLoad && LinearStride(kernel_.terms, w.op->offset, loop, 1, &stride) &&
                   stride > kMaxNearbyStride;
      // Updates that may meet in one element stay in order.
      if (info.kind == LoopKind::kSerial &&
          (w.op->kind == OpKind::kToIndex || (w.op->kind == OpKind::kLoad && !Contiguous(w.op->offset, loop)))) {
        return 1;
      }
    }
    if (info.kind == LoopKind::kSerial) {
      for (const Store* store : stores_) {
        if (!Contiguous(store->offset, loop)) return 1;
      }
    }
    const int width = WidthAlong(loop);
    int lanes = std::max(1, target_.vector_bytes / width);
    const bool carried = info.kind == LoopKind::kReduce || !reduces_.empty();
    int most = kMostLanes;
    if (carried && cost <= kPlain && !far_apart) {
      int registers = 4;
      if (info.kind == LoopKind::kParallel && reduced <= kPlainSum && target_.target == Target::kCpu) {
        // Columns: long stretches of each row, in as many sums as half the registers hold. Of narrow vectors there
        // are more, beyond the registers: minima and maxima of 4096 rows take half as long (Zen 3).
        constexpr int kWidest = 64;
        const int sums = ColumnSums(loop);
        if (sums > 0) {
          // The longest gain a tenth where there is much to go through, and take twice as long to compile.
          constexpr double kMuch = 1 << 22, kLittle = 1 << 16;
          const double elements = ElementsAlong(loop);
          const bool much = elements >= kMuch;
          const int together = much ? 16 : elements >= kLittle ? 8 : 4;
          registers = std::max(4, together * (kWidest / target_.vector_bytes) / sums);
          most = much ? 256 : 128;
        }
      }
      while (lanes * width < registers * target_.vector_bytes && info.extent >= 2 * lanes) lanes *= 2;
    }
    if (info.kind == LoopKind::kSerial && target_.target == Target::kCpu) {
      // Rows that are set or added to: more of them at a time.
      const int64_t together = 4 * target_.vector_bytes;
      while (lanes * width < together && info.extent % (2 * lanes) == 0) lanes *= 2;
    }
    if (!far_apart && info.kind != LoopKind::kSerial) {
      const int64_t together = RegistersOfChains(loop, cost, carried) * target_.vector_bytes;
      while (lanes * width < together && (info.extent % (2 * lanes) == 0 || info.extent >= 16 * lanes)) lanes *= 2;
    }
    lanes = std::min(lanes, most);
    while (lanes > 1 && lanes / 2 >= info.extent) lanes /= 2;
    return info.extent == 1 ? 1 : lanes;
  }

  // How often what depends on `loop` is computed at the most, in all of the nest.
  double ElementsAlong(int loop) const {
    double elements = 0;
    for (const Weighted& w : ops_) {
      if ((w.op->loops >> loop & 1) != 0) elements = std::max(elements, w.times);
    }
    for (int l : nest_.loops) elements *= static_cast<double>(kernel_.loops[l].extent);
    return elements;
  }

  // Registers of which the narrowest result or operand along `loop` fills one, where it is narrower than what is
  // computed. But for masks: 65,536 pred to f32 take 1.26 of the time so, where s8 to s32 take 0.65.
  int64_t PackedRegisters(int loop) const {
    constexpr int kMost = 4;
    const int width = WidthAlong(loop);
    int narrowest = width;
    for (const Store* store : stores_) {
      if (!Contiguous(store->offset, loop)) continue;
      narrowest = std::min(narrowest, hlo::ByteWidth(kernel_.parameters[store->parameter].type));
    }
    for (const Weighted& w : ops_) {
      if (w.op->kind != OpKind::kLoad || w.op->type == PrimitiveType::kPred) continue;
      if (!Contiguous(w.op->offset, loop)) continue;
      narrowest = std::min(narrowest, hlo::ByteWidth(w.op->type));
    }
    return std::min(width / narrowest, kMost);
  }

  // Vectors that go side by side where what is made of an element waits for itself: processors look some hundred
  // instructions ahead, which is few elements of the polynomial of a function, and of a chain that rounds to a narrow
  // type after each op. They take longer to compile, which few elements do not repay, and long chains that round only
  // where there is much: 4 million of gelu of bf16 take 0.85 of the time and 5 ms longer to compile (Zen 3). Of `cost`
  // operations per element.
  int64_t RegistersOfChains(int loop, double cost, bool carried) const {
    constexpr double kFunction = 15;
    constexpr double kMinElements = 1 << 18, kMinOperations = 1 << 23, kManyRounded = 40;
    constexpr double kMuch = 1 << 21, kMostRounded = 200;
    constexpr double kLongFunction = 100, kManyOperations = 500;  // which have enough steps that do not wait
    constexpr double kLongChain = 40;  // written out: Bessel functions by Clenshaw's recurrence take 0.75 of the time
    // Operations that f32 takes no longer to compute than to load and store, in vectors of 64 bytes; what is reduced is
    // loaded alone, and often from the cache. With vectors of 32 bytes (Zen 3) logarithms take 0.9 of the time on two
    // threads and 0.82 from the cache, tanh 0.93.
    const double behind_memory = carried ? 0 : 20.0 * target_.vector_bytes / 64;
    double dearest = 0, rounding = 0;
    for (const Weighted& w : ops_) {
      if ((w.op->loops >> loop & 1) == 0) continue;
      rounding += RoundingCost(target_.target, *w.op);
      dearest = std::max(dearest, OpCost(*w.op));
    }
    // Of an op or two between loads and stores, which are of whole registers then: sums of f16 take 0.77 of the time,
    // of bf16 0.93 (Zen 3).
    constexpr double kSome = 1 << 16, kFew = 1 << 13, kPlain = 8;
    const double elements = ElementsAlong(loop);
    if (target_.target != Target::kCpu) return 1;
    if (rounding > 0 && cost <= kPlain && !carried && elements >= kSome) return 4;
    if (cost <= kPlain && !carried && elements >= kFew) {
      if (const int64_t registers = PackedRegisters(loop); registers > 1) return registers;
    }
    if (elements < kMinElements && (rounding > 0 || elements * cost < kMinOperations)) return 1;
    if (rounding > 0) {
      const double most = elements >= kMuch ? kMostRounded : kManyRounded;
      return cost > kFunction && cost + rounding <= most ? target_.vector_registers / 8 : 1;
    }
    const bool waits = dearest >= kFunction || LongestChain(loop) >= kLongChain;
    const bool pays = waits && dearest <= kLongFunction && cost >= behind_memory && cost <= kManyOperations;
    return pays ? Tuning().kernels.function_registers : 1;
  }

  // Operations that wait for each other, of those that depend on `loop`.
  double LongestChain(int loop) const {
    absl::flat_hash_map<ValueId, double> until;
    double longest = 0;
    for (const Weighted& w : ops_) {
      if ((w.op->loops >> loop & 1) == 0) continue;
      double& own = until[static_cast<ValueId>(w.op - kernel_.ops.data())];
      for (const ValueId operand : w.op->operands) {
        if (const auto found = until.find(operand); found != until.end()) own = std::max(own, found->second);
      }
      longest = std::max(longest, own += OpCost(*w.op));
    }
    return longest;
  }

  // Elements of a vector are neighbours, however many lanes it has.
  bool Contiguous(const IndexExpr& offset, int loop) const {
    int64_t stride;
    return LinearStride(kernel_.terms, offset, loop, kMostLanes, &stride) && stride == 1;
  }

  // Relative cost of an element when `loop` (-1: none) becomes `lanes` lanes. Reduces vectorize by themselves where
  // the nest does not.
  double Cost(int loop, int lanes) const {
    double cost = 0;
    const double fill = loop < 0 ? 1 : Fill(loop, lanes);
    for (const Weighted& w : ops_) {
      double lane_cost =
          OpCost(*w.op) + RoundingCost(target_.target, *w.op) + ConversionCost(kernel_, target_.target, *w.op);
      int by = loop, by_lanes = lanes;
      double by_fill = fill;
      if ((loop < 0 || (w.op->loops >> loop & 1) == 0) && w.reduce >= 0) {
        // Its reduce may be vectorized by itself, or not at all.
        ReduceSchedule reduce;
        ScheduleReduce(w.reduce, loop, &reduce);
        const bool is_inside = loop >= 0 && (kernel_.reduces[w.reduce].outer_loops >> loop & 1) != 0;
        if (!is_inside) by = reduce.vector_loop;
        if (!is_inside && by >= 0) {
          by_lanes = reduce.lanes;
          by_fill = Fill(by, by_lanes);
        }
      }
      if (by < 0) {
        cost += lane_cost * w.times;
        continue;
      }
      if (w.reduce < 0 && by == loop) lane_cost /= IterationsBehind(loop, w.op->loops);
      const double registers =
          std::max(1.0, by_lanes * ComputeWidth(target_.target, *w.op) / double(target_.vector_bytes));
      if ((w.op->loops >> by & 1) == 0) {
        // Uniform: once per vector, wherever it is emitted.
        cost += lane_cost * w.times / (by_lanes * by_fill) * 0.5;
      } else if (std::find(tiled_.begin(), tiled_.end(), w.op - kernel_.ops.data()) != tiled_.end()) {
        // A load, the rounds of shuffles, and the way through memory.
        cost += (3.0 + std::log2(by_lanes)) * w.times / (by_lanes * by_fill);
      } else if (w.op->kind == OpKind::kLoad) {
        const ValueId id = static_cast<ValueId>(w.op - kernel_.ops.data());
        const bool in_tile =
            absl::c_any_of(row_tiles_, [&](const RowTile& t) { return absl::c_linear_search(t.loads, id); });
        cost += (in_tile ? 1.0 : AccessCost(w.op->offset, by, by_lanes)) * w.times / (by_lanes * by_fill);
      } else {
        cost += lane_cost * registers * w.times / (by_lanes * by_fill);
      }
    }
    for (size_t i = 0; i < reduces_.size(); ++i) {
      const Reduce& reduce = kernel_.reduces[reduces_[i]];
      ReduceSchedule own;
      ScheduleReduce(reduces_[i], loop, &own);
      if (own.vector_loop >= 0) cost += reduce_times_[i] * LanesCost(reduce, own.lanes);
      if (own.vector_loop < 0 && reduce.combiner != nullptr) {
        // Each combination waits for the one before.
        double elements = reduce_times_[i];
        for (const int l : reduce.loops) elements *= static_cast<double>(kernel_.loops[l].extent);
        const bool in_lanes = loop >= 0 && (reduce.outer_loops >> loop & 1) != 0;
        cost += elements * kOfComputation / (in_lanes ? lanes * fill : 1);
      }
    }
    for (const Store* store : stores_) {
      const int number = static_cast<int>(store - kernel_.stores.data());
      if (absl::c_any_of(row_tiles_, [&](const RowTile& tile) { return tile.store == number; })) {
        cost += 1.0 / (lanes * fill);
        continue;
      }
      const bool interleaved = loop >= 0 && !InterleavedStores(kernel_, nest_, number, loop, lanes).empty();
      cost += loop < 0 ? 1.0 : (interleaved ? 2.0 : StoreCost(*store, loop, lanes)) / (lanes * fill);
    }
    return cost;
  }

  // Of the loops behind `vector_loop` that are not among `loops`: what depends on those alone runs once for them all.
  double IterationsBehind(int vector_loop, uint64_t loops) const {
    double iterations = 1;
    for (int loop : nest_.loops) {
      const bool behind = loop != vector_loop && ReducesOver(loop) < ReducesOver(vector_loop);
      if (behind && (loops >> loop & 1) == 0) iterations *= static_cast<double>(kernel_.loops[loop].extent);
    }
    return iterations;
  }

  // Of combining the lanes of a reduce's accumulators: each halving is a shuffle and a combination.
  double LanesCost(const Reduce& reduce, int lanes) const {
    constexpr double kOfRounding = 6;
    constexpr double kOrderOfFloats = 8;  // before and behind all halvings
    const double halvings = std::log2(lanes);
    if (reduce.combiner != nullptr) return halvings * (1 + kOfComputation);
    double cost = 0;
    for (size_t i = 0; i < reduce.inits.size(); ++i) {
      const PrimitiveType type = kernel_.ops[reduce.inits[i]].type;
      const bool ordered = ScalarEmitter::HasExtremeLane(reduce.combine_opcodes[i], type);
      const bool rounded = hlo::IsFloating(type) && hlo::BitWidth(type) < 32 && !ordered;
      cost += (rounded ? 2 + kOfRounding : 2) * halvings + (ordered ? kOrderOfFloats : 0);
    }
    return cost;
  }

  double Fill(int loop, int lanes) const {
    const double extent = static_cast<double>(kernel_.loops[loop].extent);
    return extent / (std::ceil(extent / lanes) * lanes);
  }

  // Instructions to read or write `lanes` elements.
  double AccessCost(const IndexExpr& offset, int loop, int lanes) const {
    int64_t stride;
    if (!LinearStride(kernel_.terms, offset, loop, lanes, &stride)) {
      Spread spread;
      if (IsSpread(kernel_.terms, offset, loop, lanes, &spread)) return 3;
      Wrapped wrapped;
      return IsWrapped(kernel_.terms, offset, loop, lanes, &wrapped) ? 4 : Tuning().kernels.gather_operations * lanes;
    }
    if (stride == 0 || stride == 1) return 1;
    if (stride == -1) return 2;
    // A load and a shuffle for each vector that has some of them; the more there are, the later the last one.
    if (IsNearby(stride, lanes)) return (stride <= 4 ? 2.0 : 2.5) * static_cast<double>(stride);
    return 2.0 * lanes;
  }

  // A line of the cache for each lane, to be fetched and kept until it is full, is worse than many instructions.
  double StoreCost(const Store& store, int loop, int lanes) const {
    constexpr int64_t kLine = 64;
    int64_t stride;
    const int64_t width = hlo::ByteWidth(kernel_.parameters[store.parameter].type);
    if (!LinearStride(kernel_.terms, store.offset, loop, lanes, &stride) || std::abs(stride) <= 1) {
      return AccessCost(store.offset, loop, lanes);
    }
    return (std::abs(stride) * width >= kLine ? 3.0 : 2.0) * lanes;
  }

  void ScheduleReduce(int number, int nest_vector_loop, ReduceSchedule* schedule) const {
    const Reduce& reduce = kernel_.reduces[number];
    schedule->order = reduce.loops;
    schedule->vector_loop = -1;
    schedule->lanes = 1;
    // Inside a vector of outputs the accumulators are vectors already.
    if (nest_vector_loop >= 0 && (reduce.outer_loops >> nest_vector_loop & 1) != 0) return;
    if (target_.target == Target::kGpu || reduce.order == Reduce::Order::kOwn) return;
    // Lanes start with elements, which a predicate may leave out.
    if (reduce.predicate != kNoValue) return;
    // What is reduced inside has lanes of its own.
    const auto is_reduce = [](const Block::Statement& s) { return s.kind == Block::Kind::kReduce; };
    if (reduce.results.empty() && absl::c_any_of(reduce.block->statements, is_reduce)) return;
    // Some elements alone are gone through sooner than code for lanes is made.
    constexpr int64_t kFewElements = 64;
    if (nest_.loops.empty() && reduce.combiner != nullptr && reduce.loops.size() == 1 &&
        kernel_.loops[reduce.loops[0]].extent <= kFewElements) {
      return;
    }
    int best = -1;
    double best_score = 0;
    for (int loop : reduce.loops) {
      int lanes = LanesFor(loop);
      if (lanes <= 1 || kernel_.loops[loop].extent < 4) continue;
      // A stage stores along its last loop.
      if (reduce.results.empty() && loop != reduce.loops.back()) continue;
      // Without an identity the first vector must be full.
      const bool simple = reduce.combiner == nullptr;
      while (!simple && lanes > kernel_.loops[loop].extent) lanes /= 2;
      // Of rows side by side each has fewer.
      const auto has_more = [&] { return lanes * WidthAlong(loop) > target_.vector_bytes; };
      for (int64_t r = 1; (r < reduce.rows || reduce.one_register) && has_more(); r *= 2) lanes /= 2;
      double score = 0;
      for (const Weighted& w : ops_) {
        if (w.op->kind != OpKind::kLoad || (w.op->loops >> loop & 1) == 0) continue;
        score += lanes / AccessCost(w.op->offset, loop, lanes);
      }
      if (score == 0) score = lanes;
      score *= Fill(loop, lanes);
      if (score > best_score && lanes > 1) {
        best = loop;
        best_score = score;
        schedule->lanes = lanes;
      }
    }
    if (best < 0 || best_score < 2) {
      schedule->lanes = 1;
      return;
    }
    schedule->vector_loop = best;
    std::erase(schedule->order, best);
    schedule->order.push_back(best);
  }

  // Bytes of the arrays that `space` iterations touch, each once.
  double Traffic(double space) const {
    std::vector<double> touched(kernel_.parameters.size());
    for (const Weighted& w : ops_) {
      if (w.op->kind == OpKind::kLoad) touched[w.op->parameter] += space * w.times;
    }
    for (const Store* store : stores_) touched[store->parameter] += space;
    double bytes = 0;
    for (size_t i = 0; i < touched.size(); ++i) {
      const Parameter& parameter = kernel_.parameters[i];
      if (parameter.is_local) continue;
      bytes += std::min(touched[i], static_cast<double>(parameter.element_count())) * hlo::ByteWidth(parameter.type);
    }
    return bytes;
  }

  // Iterations of the reduces that depend on none of the loops from number `first` of the order on.
  double RepeatedWork(const NestSchedule& schedule, size_t first) const {
    uint64_t behind = 0;
    for (size_t i = first; i < schedule.order.size(); ++i) behind |= uint64_t{1} << schedule.order[i];
    double work = 0;
    for (int number : reduces_) {
      const Reduce& reduce = kernel_.reduces[number];
      if ((reduce.outer_loops & behind) != 0) continue;
      // Stages are there because what they make is dear; what they keep in a result must be kept once.
      const auto keeps = [&](const Block::Statement& s) {
        return s.kind == Block::Kind::kStore && kernel_.parameters[kernel_.stores[s.index].parameter].is_output;
      };
      if (reduce.results.empty() || absl::c_any_of(reduce.block->statements, keeps)) {
        return std::numeric_limits<double>::infinity();
      }
      double iterations = 1;
      for (int loop : reduce.loops) iterations *= static_cast<double>(kernel_.loops[loop].extent);
      work += iterations;
    }
    return work;
  }

  void DivideIntoTasks(double element_cost, NestSchedule* schedule) const {
    const KernelTuning& costs = Tuning().kernels;
    double space = 1;
    for (int loop : schedule->order) space *= static_cast<double>(kernel_.loops[loop].extent);
    const double traffic = Traffic(space);
    const double nanoseconds =
        std::max(space * element_cost * costs.nanoseconds_per_operation, traffic / costs.bytes_per_nanosecond);
    schedule->task_nanoseconds = schedule->far_task_nanoseconds = nanoseconds;
    if (traffic > Tuning().fusion.cached_bytes) {
      schedule->far_task_nanoseconds = std::max(nanoseconds, traffic / Tuning().threads.far_bytes_per_nanosecond);
    }
    const bool is_whole = schedule->order.empty() || std::isinf(RepeatedWork(*schedule, 0));
    if (is_whole || kernel_.loops[schedule->order[0]].kind == LoopKind::kSerial) return;  // as it is, stages once
    if (schedule->tile.store_loop >= 0) {
      const int64_t span = int64_t{schedule->tile.size} * schedule->tile.together;
      schedule->task_loops = static_cast<int>(schedule->order.size());
      schedule->task_count = 1;
      for (int loop : schedule->order) {
        const bool tiled = loop == schedule->tile.load_loop || loop == schedule->tile.store_loop;
        const int64_t extent = kernel_.loops[loop].extent;
        schedule->task_count *= tiled ? (extent + span - 1) / span : extent;
      }
    } else if (schedule->vector_loop == schedule->order[0]) {
      // Blocks of the vector loop, a whole number of vectors each; smaller ones where an iteration is long.
      const int64_t extent = kernel_.loops[schedule->vector_loop].extent;
      schedule->task_loops = 1;
      const int64_t most = target_.block_elements > 0 ? target_.block_elements : costs.block_elements;
      schedule->block = std::max<int64_t>(most, schedule->lanes);
      while (schedule->block > schedule->lanes &&
             nanoseconds / static_cast<double>(extent) * static_cast<double>(schedule->block / 2) >
                 costs.block_nanoseconds) {
        schedule->block /= 2;
      }
      // Each block makes the reduces beside the loop again.
      while (static_cast<double>(schedule->block) < std::min(RepeatedWork(*schedule, 0), space)) schedule->block *= 2;
      schedule->task_count = (extent + schedule->block - 1) / schedule->block;
    } else {
      constexpr int64_t kEnoughTasks = 256;
      const int64_t limit = absl::c_find(schedule->order, schedule->vector_loop) - schedule->order.begin();
      schedule->task_count = 1;
      double inside = space;  // iterations of the loops behind
      for (int64_t i = 0; i < limit && schedule->task_count < kEnoughTasks; ++i) {
        // Short tasks of more loops would only be numbers to divide.
        if (i > 0 && nanoseconds < costs.task_nanoseconds * static_cast<double>(schedule->task_count)) break;
        if (kernel_.loops[schedule->order[i]].kind == LoopKind::kSerial) break;
        inside /= static_cast<double>(kernel_.loops[schedule->order[i]].extent);
        // A task makes the reduces of the loops around it again.
        if (RepeatedWork(*schedule, i) > inside) break;
        schedule->task_count *= kernel_.loops[schedule->order[i]].extent;
        schedule->task_loops = static_cast<int>(i) + 1;
      }
    }
    schedule->task_nanoseconds /= static_cast<double>(schedule->task_count);
    schedule->far_task_nanoseconds /= static_cast<double>(schedule->task_count);
    const auto bytes = [](const Parameter& p) { return p.is_local ? 0 : p.element_count() * hlo::ByteWidth(p.type); };
    int64_t written = 0, moved = 0;
    for (const Store* store : stores_) {
      const Parameter& parameter = kernel_.parameters[store->parameter];
      const bool is_read = absl::c_any_of(
          ops_, [&](const Weighted& w) { return w.op->kind == OpKind::kLoad && w.op->parameter == store->parameter; });
      if (!parameter.is_updated && !is_read) written += bytes(parameter);
    }
    for (const Parameter& parameter : kernel_.parameters) moved += bytes(parameter);
    schedule->streaming_stores =
        target_.streaming_bytes > 0 && written >= target_.streaming_bytes && moved >= target_.streamed_bytes;
  }

  const Kernel& kernel_;
  const Nest& nest_;
  bool has_scalar_loop_ = false, is_serial_ = false;
  const TargetInfo& target_;
  std::vector<Weighted> ops_;
  std::vector<const Store*> stores_;
  std::vector<int> reduces_;
  std::vector<double> reduce_times_;  // as Weighted::times, of each of them
  std::vector<RowTile> row_tiles_;    // that Cost takes to be there
  std::vector<ValueId> tiled_;        // loads that Cost takes to go through tiles
};

}  // namespace

NestSchedule ScheduleNest(const Kernel& kernel, const Nest& nest, const TargetInfo& target) {
  return Scheduler(kernel, nest, target).Run();
}

std::string ToString(const NestSchedule& schedule) {
  auto loops = [](const std::vector<int>& order) {
    return absl::StrJoin(order, " ", [](std::string* out, int loop) { absl::StrAppend(out, "i", loop); });
  };
  std::string text = absl::StrCat("schedule order ", loops(schedule.order));
  if (schedule.vector_loop >= 0) absl::StrAppend(&text, "; vector i", schedule.vector_loop, " by ", schedule.lanes);
  if (schedule.task_count > 1) {
    absl::StrAppend(&text, "; tasks ", schedule.task_count, " over the first ", schedule.task_loops, " loops");
    if (schedule.block > 1) absl::StrAppend(&text, " in blocks of ", schedule.block);
  }
  if (schedule.over_groups) text += "; task per group";
  if (schedule.tile.store_loop >= 0) {
    absl::StrAppend(&text, "; tiles of ", schedule.tile.size, " by ", schedule.tile.size, " over i",
                    schedule.tile.load_loop, " i", schedule.tile.store_loop,
                    schedule.tile.together > 1 ? absl::StrCat(" in squares of ", schedule.tile.together) : "", " for ",
                    absl::StrJoin(schedule.tile.loads, " ",
                                  [](std::string* out, ValueId load) { absl::StrAppend(out, "v", load); }));
  }
  for (const RowTile& tile : schedule.row_tiles) {
    absl::StrAppend(&text, "; ", tile.store >= 0 ? "stored" : "loaded", " rows of ", tile.size, " of p", tile.parameter,
                    " through a tile", tile.is_unrolled ? " in registers" : "");
  }
  if (schedule.streaming_stores) text += "; streaming stores";
  for (size_t i = 0; i < schedule.reduces.size(); ++i) {
    const ReduceSchedule& reduce = schedule.reduces[i];
    if (reduce.order.empty()) continue;
    absl::StrAppend(&text, "; reduce ", i, " order ", loops(reduce.order));
    if (reduce.vector_loop >= 0) absl::StrAppend(&text, " vector i", reduce.vector_loop, " by ", reduce.lanes);
    if (reduce.over_group) text += " over the group";
  }
  return text;
}

}  // namespace kiln::kernel
