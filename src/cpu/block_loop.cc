#include "src/cpu/block_loop.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "src/analysis/code_kinds.h"
#include "src/analysis/while_loop.h"
#include "src/base/cpu_tuning.h"
#include "src/cpu/nest_groups.h"

namespace kiln::cpu {
namespace {

using analysis::Buffer;
using analysis::BufferAssignment;
using hlo::Instruction;
using kernel::IndexExpr;
using kernel::Kernel;
using kernel::NestSchedule;

// Buffers of at most so many bytes are each block's own.
constexpr int64_t kMaxOwnBytes = 64;
// Of which each is compared with each.
constexpr size_t kMaxBuffers = 256;
constexpr double kAssumedRounds = 10;
// Time of a round of a block from which on its calls do not count.
constexpr double kMinRoundNanoseconds = 500;

// Which bytes of an array a block has: so many of each period, one block behind the other.
struct Share {
  int64_t bytes = 0;
  int64_t period = 0;
  bool operator==(const Share&) const = default;
};

class BlockLoopPlanner {
 public:
  BlockLoopPlanner(const Instruction& loop, const BufferAssignment& buffers,
                   const std::function<const ScheduledKernel*(const Instruction&)>& kernel_of)
      : loop_(loop), buffers_(buffers), kernel_of_(kernel_of) {}

  std::optional<BlockLoop> Plan(int threads) {
    if (!FindWritten()) return std::nullopt;
    for (const hlo::Computation* computation : loop_.called_computations()) {
      for (const Instruction* instruction : computation->instructions()) {
        const ScheduledKernel* scheduled = kernel_of_(*instruction);
        if (scheduled != nullptr && !Add(*instruction, *scheduled)) return std::nullopt;
      }
    }
    if (!TurnAlike() || !AreApart()) return std::nullopt;
    const double rounds = static_cast<double>(analysis::KnownTripCount(loop_).value_or(kAssumedRounds));
    result_.block_nanoseconds = round_nanoseconds_ * rounds;
    const double all = result_.block_nanoseconds * static_cast<double>(result_.blocks);
    if (result_.blocks < 2 || rounds < 2 || all < Tuning().threads.share_nanoseconds) return std::nullopt;
    const double together = std::ceil(kMinRoundNanoseconds / std::max(round_nanoseconds_, 1.0));
    const int64_t most = std::max<int64_t>(result_.blocks / std::max(threads, 1), 1);
    result_.blocks_together = std::min<int64_t>(most, static_cast<int64_t>(std::min(together, 1e6)));
    return std::move(result_);
  }

 private:
  bool IsOwn(int number) const { return written_.contains(number) && buffers_.buffer(number).bytes <= kMaxOwnBytes; }
  bool IsArray(int number) const { return written_.contains(number) && !IsOwn(number); }

  // Calls visit(leaf's buffer) for the leaves of the arrays that a kernel is given, in the order of its parameters;
  // false where one is part of another array that is written.
  template <typename Visit>
  bool ForEachBuffer(const Instruction& instruction, Visit visit) const {
    const auto of = [&](const Instruction* array) {
      for (int64_t leaf = 0, leaves = array->shape().leaf_count(); leaf < leaves; ++leaf) {
        const int number = buffers_.BufferOf(array, leaf);
        const BufferAssignment::Part part = buffers_.PartOf(array, leaf);
        if (number < 0 || part.slice != nullptr || (part.offset != 0 && written_.contains(number))) return false;
        visit(number);
      }
      return true;
    };
    return absl::c_all_of(instruction.operands(), of) && of(&instruction);
  }

  // All that the rounds write, by kernels and copies; false where something else runs.
  bool FindWritten() {
    for (const hlo::Computation* computation : loop_.called_computations()) {
      for (const Instruction* instruction : computation->instructions()) {
        const bool has_kernel = kernel_of_(*instruction) != nullptr;
        const bool is_name = analysis::RunsNoCode(*instruction) && instruction->opcode() != hlo::Opcode::kDynamicSlice;
        if (!has_kernel && !is_name) return false;
        for (int64_t leaf = 0, leaves = instruction->shape().leaf_count(); has_kernel && leaf < leaves; ++leaf) {
          written_.insert(buffers_.BufferOf(instruction, leaf));
        }
        for (const analysis::BufferCopy& copy : buffers_.CopiesBefore(instruction)) copies_.push_back(&copy);
      }
      for (const analysis::BufferCopy& copy : buffers_.CopiesAtEnd(computation)) copies_.push_back(&copy);
    }
    for (const analysis::BufferCopy* copy : copies_) written_.insert(copy->to);
    for (const analysis::BufferRotation& rotation : buffers_.RotationsOf(&loop_)) {
      written_.insert(rotation.state.begin(), rotation.state.end());
      written_.insert(rotation.spare);
    }
    for (int64_t leaf = 0, leaves = loop_.shape().leaf_count(); leaf < leaves; ++leaf) {
      const int number = buffers_.BufferOf(&loop_, leaf);
      if (number < 0) return false;
      if (IsOwn(number) && !absl::c_linear_search(result_.state, number)) result_.state.push_back(number);
    }
    // What is copied is small.
    for (const analysis::BufferCopy* copy : copies_) {
      if (!IsOwn(copy->to) || IsArray(copy->from) || copy->but.has_value()) return false;
      Use(copy->to);
      Use(copy->from);
    }
    const int goes_on = buffers_.BufferOf(loop_.called_computation(1)->root(), 0);
    if (goes_on < 0 || IsArray(goes_on)) return false;
    Use(goes_on);
    return true;
  }

  void Use(int number) {
    if (absl::c_linear_search(result_.state, number)) return;
    std::vector<int>& buffers = IsOwn(number) ? result_.temporaries : result_.shared;
    if (!absl::c_linear_search(buffers, number)) buffers.push_back(number);
  }

  bool Add(const Instruction& instruction, const ScheduledKernel& scheduled) {
    std::vector<int> arrays;
    if (!ForEachBuffer(instruction, [&](int number) { arrays.push_back(number); })) return false;
    for (int number : arrays) Use(number);
    if (result_.shared.size() + result_.temporaries.size() > kMaxBuffers) return false;
    const size_t results = static_cast<size_t>(instruction.shape().leaf_count());
    const auto first_result = arrays.end() - static_cast<std::ptrdiff_t>(results);
    if (std::all_of(first_result, arrays.end(), [&](int number) { return IsOwn(number); })) {
      // For every block.
      return absl::c_none_of(arrays, [&](int number) { return IsArray(number); }) &&
             absl::c_all_of(scheduled.kernel.nests, [&](const kernel::Nest& nest) {
               return HasLittleWork(scheduled.kernel, nest, kInlineWorkInLoop);
             });
    }
    if (!std::all_of(first_result, arrays.end(), [&](int number) { return IsArray(number); })) return false;
    return AddOverBlocks(instruction, scheduled, arrays);
  }

  bool AddOverBlocks(const Instruction& instruction, const ScheduledKernel& scheduled, const std::vector<int>& arrays) {
    const Kernel& kernel = scheduled.kernel;
    for (const NestSchedule& schedule : scheduled.schedules) {
      if (schedule.task_loops != 1 || schedule.tile.store_loop >= 0 || schedule.streaming_stores ||
          kernel.loops[schedule.order[0]].kind != kernel::LoopKind::kParallel) {
        return false;
      }
      if (result_.kernels.empty()) result_.blocks = schedule.task_count;
      if (result_.blocks != schedule.task_count) return false;
      round_nanoseconds_ += schedule.task_nanoseconds;
      result_.kernels.insert(&instruction);
    }
    const auto keeps_to_block = [&](int parameter, const IndexExpr& offset) {
      if (static_cast<size_t>(parameter) >= arrays.size() || !IsArray(arrays[parameter])) return true;
      return absl::c_any_of(scheduled.schedules, [&](const NestSchedule& schedule) {
        return KeepsToBlock(kernel, schedule, arrays[parameter], kernel.parameters[parameter].type, offset);
      });
    };
    for (const kernel::Op& op : kernel.ops) {
      if (op.kind == kernel::OpKind::kLoad && !keeps_to_block(op.parameter, op.offset)) return false;
    }
    for (const kernel::Store& store : kernel.stores) {
      if (!keeps_to_block(store.parameter, store.offset)) return false;
    }
    return true;
  }

  // Whether an iteration of the task loop is alone at the elements of the array that it meets there, and blocks have
  // the parts of it that they have elsewhere.
  bool KeepsToBlock(const Kernel& kernel, const NestSchedule& schedule, int number, hlo::PrimitiveType type,
                    const IndexExpr& offset) {
    if (hlo::BitWidth(type) < 8 && type != hlo::PrimitiveType::kPred) return false;  // several in a byte
    const int task_loop = schedule.order[0], term = kernel.terms.LoopTerm(task_loop);
    const int64_t size = term < 0 ? 0 : offset.Coefficient(term), period = size * kernel.loops[task_loop].extent;
    if (size <= 0) return false;
    int64_t low = offset.constant % period + (offset.constant % period < 0 ? period : 0), high = low;
    for (const auto& [other, coefficient] : offset.terms) {
      if (other == term) continue;
      const kernel::IndexTerms::Term& moved = kernel.terms.term(other);
      if ((moved.loops >> task_loop & 1) != 0) return false;
      if (coefficient % period == 0) continue;
      low += std::min(coefficient * moved.range.low, coefficient * moved.range.high);
      high += std::max(coefficient * moved.range.low, coefficient * moved.range.high);
    }
    const int64_t width = hlo::ByteWidth(type);
    const Share share = {size * schedule.block * width, period * width};
    return low >= 0 && high < size && shares_.emplace(number, share).first->second == share;
  }

  // Whether arrays that take each other's place are divided alike.
  bool TurnAlike() {
    return absl::c_all_of(buffers_.RotationsOf(&loop_), [&](const analysis::BufferRotation& rotation) {
      std::vector<int> places = rotation.state;
      places.push_back(rotation.spare);
      std::optional<Share> share;
      for (int number : places) {
        if (!IsArray(number)) return false;
        Use(number);
        const auto of = shares_.find(number);
        if (of == shares_.end()) continue;
        if (share.value_or(of->second) != of->second) return false;
        share = of->second;
      }
      for (int number : places) {
        if (share.has_value()) shares_.emplace(number, *share);
      }
      return share.has_value();
    });
  }

  // Whether no block's part of an array is in the memory of another block's part of another one.
  bool AreApart() const {
    // What offsets count from.
    const auto place = [&](int number) {
      const Buffer& buffer = buffers_.buffer(number);
      const bool is_one = buffer.storage == analysis::Storage::kArena || buffer.framed;
      return std::tuple(buffer.storage, is_one ? 0 : buffer.number, buffer.framed);
    };
    return absl::c_all_of(result_.shared, [&](int a) {
      return absl::c_all_of(result_.shared, [&](int b) {
        const bool are_written = IsArray(a) || IsArray(b);
        if (a == b || !are_written || place(a) != place(b)) return true;
        const Buffer &x = buffers_.buffer(a), &y = buffers_.buffer(b);
        if (x.storage == analysis::Storage::kStack && !x.framed) return true;  // slots of their own
        if (x.offset + x.bytes <= y.offset || y.offset + y.bytes <= x.offset) return true;
        const auto of_a = shares_.find(a), of_b = shares_.find(b);
        return x.offset == y.offset && of_a != shares_.end() && of_b != shares_.end() && of_a->second == of_b->second;
      });
    });
  }

  const Instruction& loop_;
  const BufferAssignment& buffers_;
  const std::function<const ScheduledKernel*(const Instruction&)>& kernel_of_;
  BlockLoop result_;
  double round_nanoseconds_ = 0;  // of a block
  absl::flat_hash_set<int> written_;
  std::vector<const analysis::BufferCopy*> copies_;
  absl::flat_hash_map<int, Share> shares_;
};

}  // namespace

std::optional<BlockLoop> PlanBlockLoop(const Instruction& loop, const BufferAssignment& buffers,
                                       const std::function<const ScheduledKernel*(const Instruction&)>& kernel_of,
                                       int threads) {
  return BlockLoopPlanner(loop, buffers, kernel_of).Plan(threads);
}

}  // namespace kiln::cpu
