// Slices along the last dimension are scalars: an associative scan then works within registers. A tile is as many
// vectors as a vector has lanes: each becomes its own prefixes in as many steps as the logarithm of its lanes, so does
// the vector of their totals, and what was carried joins it before it joins them. From tile to tile a binary counter
// carries: it keeps sums of 1, 2, 4, ... tiles, as a tree would, so that rounding errors grow with the logarithm of the
// length. Threads reduce chunks of long rows first and scan them afterwards; a chunk is a node of the counter's tree,
// so that neither where rows are cut nor whether they are changes a bit. Otherwise lanes are neighbours within the
// slices, which need nothing of each other; what rounds is summed by blocks, which the same counter carries.
#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/cpu/float_environment_emitter.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/llvm_loop.h"
#include "src/cpu/op_emitters.h"
#include "src/cpu/parallel_emitter.h"
#include "src/kernel/memory_access.h"
#include "src/kernel/scalar_computation.h"
#include "src/kernel/subnormals.h"

namespace kiln::cpu {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;
using kernel::Access;

namespace {

constexpr int64_t kMaxScanChunks = 16;
// So many rows keep threads busy without chunks.
constexpr int64_t kWholeRows = 8;
// So many vectors carry from one to the next without a tile.
constexpr int64_t kPlainVectors = 8;
// Instructions of a body that is small.
constexpr int64_t kCheapBody = 4;
// Elements of a column that are summed one after the other.
constexpr int64_t kColumnBlock = 16;
// Lanes of a column scan in registers; several hide the latency of the body, and many read more of a row at a time.
constexpr int64_t kColumnRegisters = 4;

// Whether the order of combining shows in the result: all but selections and integers.
bool Rounds(const hlo::Computation& body) {
  for (const Instruction* instruction : body.PostOrder()) {
    if (!instruction->shape().IsArray() || instruction->operand_count() == 0) continue;
    const PrimitiveType type = instruction->shape().element_type();
    const Opcode opcode = instruction->opcode();
    if (!hlo::IsFloating(type) && !hlo::IsComplex(type)) continue;
    if (opcode != Opcode::kMaximum && opcode != Opcode::kMinimum && opcode != Opcode::kSelect) return true;
  }
  return false;
}

struct ScanShape {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t inputs = 0, outputs = 0, carries = 0;
  bool reverse = false, associative = false, rounds = false;
  std::vector<PrimitiveType> types;  // of inputs and carries, as the operands
  std::vector<PrimitiveType> results;

  explicit ScanShape(const Instruction& scan) {
    const auto& attributes = scan.Get<hlo::ScanAttributes>();
    const hlo::Shape& shape = scan.operand(0)->shape();
    for (int64_t i = 0; i < shape.rank(); ++i) {
      (i < attributes.dimension ? outer : i == attributes.dimension ? length : inner) *= shape.dimensions(i);
    }
    carries = attributes.num_carries;
    inputs = scan.operand_count() - carries;
    for (const Instruction* operand : scan.operands()) types.push_back(operand->shape().element_type());
    if (scan.shape().IsTuple()) {
      for (const hlo::Shape& leaf : scan.shape().tuple_shapes()) results.push_back(leaf.element_type());
    } else {
      results.push_back(scan.shape().element_type());
    }
    outputs = static_cast<int64_t>(results.size()) - carries;
    reverse = attributes.is_reverse;
    associative = attributes.is_associative && inputs == carries && outputs == carries;
    rounds = Rounds(*scan.called_computation());
  }

  bool along_rows() const { return inner == 1 && associative; }
  bool in_tiles() const { return length > kPlainVectors * lanes(); }
  bool in_column_blocks() const { return associative && rounds && length > kColumnBlock; }
  // Where threads are to share a row.
  bool chunked() const {
    return along_rows() && length >= Tuning().rows.scan_chunked_length && outer < kWholeRows &&
           ThreadPool::AvailableCpus() > 1;
  }
  int lanes() const {
    int width = 4;
    for (PrimitiveType type : types) width = std::max(width, hlo::ByteWidth(type));
    for (PrimitiveType type : results) width = std::max(width, hlo::ByteWidth(type));
    const int lanes = std::max(Host().vector_bytes / width, 1);
    if (along_rows()) return lanes;
    if (inner == 1) return 1;
    // Fewer registers where threads would have none of the columns.
    const int64_t registers = Host().vector_registers / 4 / std::max<int64_t>(carries, 1);
    int64_t together = std::max(kColumnRegisters, registers) * lanes;
    while (together > lanes && outer * CeilDivide(inner, together) < ThreadPool::AvailableCpus()) together /= 2;
    return static_cast<int>(std::min(together, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(inner)))));
  }
  int64_t tile() const { return int64_t{lanes()} * lanes(); }
  int64_t chunk_length() const {
    const auto tiles = static_cast<uint64_t>(CeilDivide(CeilDivide(length, tile()), kMaxScanChunks));
    return tile() * static_cast<int64_t>(std::bit_ceil(tiles));
  }
  int64_t chunks() const { return CeilDivide(length, chunk_length()); }
};

using Pointers = std::vector<llvm::Value*>;

// Emits within one task function, whose closure is inputs, carries, outputs, last carries, and of chunks what comes
// before each.
class ScanLoop {
 public:
  ScanLoop(ParallelTask* task, const Instruction& scan, const ScanShape& shape)
      : b_(task->body()),
        scan_(scan),
        shape_(shape),
        lanes_(shape.lanes()),
        cheap_(static_cast<int64_t>(scan.called_computation()->PostOrder().size()) <=
               2 * (shape.carries + 1) + kCheapBody),
        scalar_(&b_, 1, kernel::Target::kCpu),
        vector_(&b_, lanes_, kernel::Target::kCpu),
        memory_(&scalar_, &vector_) {
    size_t next = 0;
    auto take = [&](int64_t count, Pointers* pointers) {
      for (int64_t i = 0; i < count; ++i) pointers->push_back(task->closure(next++));
    };
    take(shape.inputs, &inputs);
    take(shape.carries, &carries);
    take(shape.outputs, &outputs);
    take(shape.carries, &last);
    if (shape.chunked()) take(shape.carries, &partials);
  }

  Pointers inputs, carries, outputs, last, partials;

  absl::Status status() const { return status_; }

  // Room for so many elements of each carry.
  Pointers Slots(int64_t elements) {
    Pointers slots;
    for (int64_t i = 0; i < shape_.carries; ++i) {
      const int64_t bytes = hlo::ByteWidth(CarryType(i)) * elements;
      slots.push_back(StackSlot(b_, llvm::ArrayType::get(b_.getInt8Ty(), bytes), 64));
    }
    return slots;
  }

  // Copies element `at` of arrays of the carries' types.
  void CopyScalars(const Pointers& from, llvm::Value* from_at, const Pointers& to, llvm::Value* to_at) {
    for (int64_t i = 0; i < shape_.carries; ++i) {
      const PrimitiveType type = shape_.types[shape_.inputs + i];
      memory_.StoreScalar(memory_.LoadScalar(type, from[i], from_at), to[i], to_at);
    }
  }

  // Element t of a row in the order of the scan.
  llvm::Value* Position(llvm::Value* t) { return shape_.reverse ? b_.CreateSub(b_.getInt64(shape_.length - 1), t) : t; }

  // What comes before the blocks of a row, or of as many columns as there are lanes: of the bits of the number of
  // blocks seen, each stands for the sum of so many blocks, the largest and earliest first.
  struct Counter {
    int lanes;
    int64_t levels;
    Pointers sums;      // per bit
    Pointers prefixes;  // up to and with each bit's blocks; at `levels` what comes before all
  };
  Counter StartCounter(int lanes, int64_t blocks, const Pointers& before) {
    const int64_t levels = std::bit_width(static_cast<uint64_t>(blocks));
    Counter counter{lanes, levels, Slots(levels * lanes), Slots((levels + 1) * lanes)};
    Put(Get(before, b_.getInt64(0), lanes), counter.prefixes, b_.getInt64(levels), lanes);
    return counter;
  }

  // Adds block number `block`, whose sum is in `sum`, which is overwritten. `prefix` gets what is before the next
  // block; empty: nobody asks, or for the sum alone of a power of two of blocks, which `sum` then is.
  void Advance(const Counter& counter, llvm::Value* block, const Pointers& sum, const Pointers& prefix) {
    llvm::Value* zero = b_.getInt64(0);
    auto low_zeros = [&](llvm::Value* bits) {
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b_.getFalse());
    };
    llvm::Value* next = b_.CreateAdd(block, b_.getInt64(1));
    llvm::Value* level = low_zeros(next);
    EmitLoop(b_, zero, level, 1, "merge", [&](llvm::Value* j) {
      Put(Body(counter.lanes, Get(sum, zero, counter.lanes), Get(counter.sums, j, counter.lanes)), sum, zero,
          counter.lanes);
    });
    const std::vector<kernel::Value> merged = Get(sum, zero, counter.lanes);
    Put(merged, counter.sums, level, counter.lanes);
    if (prefix.empty()) return;
    llvm::Value* above = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, low_zeros(b_.CreateAnd(next, block)),
                                                  b_.getInt64(counter.levels));
    const std::vector<kernel::Value> result = Body(counter.lanes, merged, Get(counter.prefixes, above, counter.lanes));
    Put(result, counter.prefixes, level, counter.lanes);
    Put(result, prefix, zero, counter.lanes);
  }

  // Scans elements [begin, end) of row `row`, carrying in `slots`.
  void Row(llvm::Value* row, llvm::Value* begin, llvm::Value* end, const Pointers& slots) {
    llvm::Value* zero = b_.getInt64(0);
    if (!shape_.in_tiles()) {
      EmitLoop(b_, begin, end, lanes_, "scan", [&](llvm::Value* t) {
        std::vector<kernel::Value> prefixes = LoadInputs(row, t, end);
        MakePrefixes(&prefixes);
        const std::vector<kernel::Value> result = Body(lanes_, prefixes, Splats(slots, zero));
        StoreOutputs(result, row, t, end);
        for (int64_t i = 0; i < shape_.carries && status_.ok(); ++i) {
          memory_.StoreScalar(Lane(result[i], lanes_ - 1), slots[i], zero);
        }
      });
      return;
    }
    // The vectors of a tile, each for the totals of the next: the last ones first, so that all totals are there when
    // their own vector's turn comes, whose total, the tile's, goes to the end of the place before it.
    const Pointers tile = Slots((lanes_ + 2) * lanes_), sum = Slots(1);
    const Counter counter = StartCounter(1, shape_.length / shape_.tile() + 1, slots);
    EmitLoop(b_, begin, end, shape_.tile(), "tile", [&](llvm::Value* first) {
      llvm::Value* left = b_.CreateSub(end, first);
      llvm::Value* vectors =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.getInt64(lanes_),
                                   b_.CreateUDiv(b_.CreateAdd(left, b_.getInt64(lanes_ - 1)), b_.getInt64(lanes_)));
      auto element = [&](llvm::Value* vector) {
        return b_.CreateAdd(first, b_.CreateMul(vector, b_.getInt64(lanes_)));
      };
      llvm::Value* last_total = b_.getInt64(lanes_ - 1);
      auto make_prefixes = [&](std::vector<kernel::Value> prefixes, llvm::Value* number) {
        MakePrefixes(&prefixes);
        Put(prefixes, tile, b_.CreateAdd(number, b_.getInt64(1)), lanes_);
        for (kernel::Value& prefix : prefixes) prefix = Lane(prefix, lanes_ - 1);
        Put(prefixes, tile, b_.CreateAdd(last_total, number), 1);
      };
      EmitLoop(b_, zero, vectors, 1, "load", [&](llvm::Value* i) {
        const std::vector<kernel::Value> elements = LoadInputs(row, element(i), end);
        if (cheap_) return make_prefixes(elements, b_.CreateAdd(i, b_.getInt64(1)));
        Put(elements, tile, b_.CreateAdd(i, b_.getInt64(2)), lanes_);
      });
      EmitLoop(b_, cheap_ ? vectors : zero, b_.CreateAdd(vectors, b_.getInt64(1)), 1, "prefix", [&](llvm::Value* i) {
        llvm::Value* number = cheap_ ? zero : b_.CreateSub(vectors, i);
        make_prefixes(Get(tile, b_.CreateAdd(number, b_.getInt64(1)), lanes_), number);
      });
      Put(Get(tile, last_total, 1), sum, zero, 1);
      CopyScalars(slots, zero, tile, last_total);
      Put(Body(lanes_, Get(tile, b_.getInt64(1), lanes_), Splats(slots, zero)), tile, b_.getInt64(1), lanes_);
      Advance(counter, b_.CreateUDiv(b_.CreateSub(first, begin), b_.getInt64(shape_.tile())), sum, slots);
      EmitLoop(b_, zero, vectors, 1, "store", [&](llvm::Value* i) {
        StoreOutputs(
            Body(lanes_, Get(tile, b_.CreateAdd(i, b_.getInt64(2)), lanes_), Splats(tile, b_.CreateAdd(last_total, i))),
            row, element(i), end);
      });
    });
  }

  // The sum of [begin, end) of row `row`, a power of two of tiles, in `slots`.
  void RowSum(llvm::Value* row, llvm::Value* begin, llvm::Value* end, const Pointers& slots) {
    llvm::Value* zero = b_.getInt64(0);
    const int64_t halvings = std::bit_width(static_cast<unsigned>(lanes_)) - 1;
    // The levels of a tree of pairs, one behind the other; the last ones have half a vector, a quarter, and so on.
    const Pointers tree = Slots((2 * lanes_ - 1 + halvings) * lanes_);
    const Counter counter = StartCounter(1, shape_.chunk_length() / shape_.tile(), slots);
    EmitLoop(b_, begin, end, shape_.tile(), "tile", [&](llvm::Value* first) {
      auto load_inputs = [&](llvm::Value* i) {
        return LoadInputs(row, b_.CreateAdd(first, b_.CreateMul(i, b_.getInt64(lanes_))), nullptr);
      };
      auto pair = [&](const std::vector<kernel::Value>& low, const std::vector<kernel::Value>& high, llvm::Value* i) {
        Put(Body(lanes_, EverySecond(low, high, 1), EverySecond(low, high, 0)), tree,
            b_.CreateAdd(i, b_.getInt64(lanes_)), lanes_);
      };
      EmitLoop(b_, zero, b_.getInt64(cheap_ ? lanes_ / 2 : lanes_), 1, "load", [&](llvm::Value* i) {
        if (!cheap_) return Put(load_inputs(i), tree, i, lanes_);
        llvm::Value* left = b_.CreateShl(i, 1);
        const std::vector<kernel::Value> low = load_inputs(left),
                                         high = load_inputs(b_.CreateAdd(left, b_.getInt64(1)));
        pair(low, high, i);
      });
      EmitLoop(b_, b_.getInt64(cheap_ ? lanes_ / 2 : 0), b_.getInt64(lanes_ - 1 + halvings), 1, "pair",
               [&](llvm::Value* i) {
                 llvm::Value* before = b_.CreateAdd(i, b_.getInt64(lanes_ - 1));
                 llvm::Value* left = b_.CreateShl(i, 1);
                 auto load = [&](llvm::Value* at) {
                   return Get(tree, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, before), lanes_);
                 };
                 const std::vector<kernel::Value> low = load(left), high = load(b_.CreateAdd(left, b_.getInt64(1)));
                 pair(low, high, i);
               });
      CopyScalars(tree, b_.getInt64((2 * lanes_ - 2 + halvings) * lanes_), slots, zero);
      Advance(counter, b_.CreateUDiv(b_.CreateSub(first, begin), b_.getInt64(shape_.tile())), slots, {});
    });
  }

  // Scans whole columns: `lanes` neighbours from `column` on, of the outer index `outer`.
  void Columns(llvm::Value* outer, llvm::Value* column) {
    const Pointers slots = Slots(lanes_);
    llvm::Value* inner = b_.getInt64(shape_.inner);
    llvm::Value* mask = shape_.inner % lanes_ == 0 ? nullptr : LaneMask(b_.CreateSub(inner, column));
    llvm::Value* slice = b_.CreateAdd(b_.CreateMul(outer, inner), column);
    llvm::Value* zero = b_.getInt64(0);
    auto load = [&](const Pointers& arrays, const PrimitiveType* types, llvm::Value* at) {
      std::vector<kernel::Value> values;
      for (size_t i = 0; i < arrays.size(); ++i) values.push_back(Load(types[i], arrays[i], at, mask));
      return values;
    };
    auto offset = [&](llvm::Value* t) {
      llvm::Value* row = b_.CreateAdd(b_.CreateMul(outer, b_.getInt64(shape_.length)), Position(t));
      return b_.CreateAdd(b_.CreateMul(row, inner), column);
    };
    const PrimitiveType* carry_types = shape_.types.data() + shape_.inputs;
    Put(load(carries, carry_types, slice), slots, zero, lanes_);
    llvm::Value* length = b_.getInt64(shape_.length);
    if (shape_.in_column_blocks()) {
      const Pointers sum = Slots(lanes_);
      const Counter counter = StartCounter(lanes_, CeilDivide(shape_.length, kColumnBlock), slots);
      EmitLoop(b_, zero, length, kColumnBlock, "block", [&](llvm::Value* first) {
        llvm::Value* stop =
            b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(first, b_.getInt64(kColumnBlock)), length);
        EmitLoop(b_, first, stop, 1, "scan", [&](llvm::Value* t) {
          const std::vector<kernel::Value> slices = load(inputs, shape_.types.data(), offset(t));
          std::vector<kernel::Value> sums = Body(lanes_, slices, Get(sum, zero, lanes_));
          kernel::ScalarEmitter& emitter = lanes_ == 1 ? scalar_ : vector_;
          llvm::Value* begins = b_.CreateICmpEQ(t, first);
          if (lanes_ > 1) begins = b_.CreateVectorSplat(lanes_, begins);
          for (size_t i = 0; i < slices.size() && status_.ok(); ++i) {
            sums[i] = emitter.Select(begins, slices[i], sums[i]);
          }
          sums.resize(slices.size());
          Put(sums, sum, zero, lanes_);
          const std::vector<kernel::Value> result = Body(lanes_, sums, Get(slots, zero, lanes_));
          for (int64_t i = 0; i < shape_.outputs && status_.ok(); ++i) Store(result[i], outputs[i], offset(t), mask);
        });
        Advance(counter, b_.CreateUDiv(first, b_.getInt64(kColumnBlock)), sum, slots);
      });
    } else {
      EmitLoop(b_, zero, length, 1, "scan", [&](llvm::Value* t) {
        const std::vector<kernel::Value> result =
            Body(lanes_, load(inputs, shape_.types.data(), offset(t)), Get(slots, zero, lanes_));
        if (!status_.ok()) return;
        for (int64_t i = 0; i < shape_.outputs; ++i) Store(result[i], outputs[i], offset(t), mask);
        Put({result.begin() + shape_.outputs, result.end()}, slots, zero, lanes_);
      });
    }
    const std::vector<kernel::Value> end = shape_.in_column_blocks()
                                               ? load(outputs, carry_types, offset(b_.getInt64(shape_.length - 1)))
                                               : Get(slots, zero, lanes_);
    for (int64_t i = 0; i < shape_.carries; ++i) Store(end[i], last[i], slice, mask);
  }

 private:
  PrimitiveType CarryType(int64_t i) const { return shape_.types[shape_.inputs + i]; }

  // What combining `carried` with `slices`, which come later, gives: outputs, then carries.
  std::vector<kernel::Value> Body(int lanes, std::vector<kernel::Value> slices,
                                  const std::vector<kernel::Value>& carried) {
    if (!status_.ok()) return {};
    slices.insert(slices.end(), carried.begin(), carried.end());
    absl::StatusOr<std::vector<kernel::Value>> result =
        kernel::EmitScalarComputation(lanes == 1 ? &scalar_ : &vector_, *scan_.called_computation(), slices);
    status_.Update(result.status());
    return result.ok() ? *std::move(result) : std::vector<kernel::Value>();
  }

  // Groups of `lanes` elements in slots.
  std::vector<kernel::Value> Get(const Pointers& slots, llvm::Value* group, int lanes) {
    std::vector<kernel::Value> values;
    for (int64_t i = 0; i < shape_.carries; ++i) {
      values.push_back(lanes == 1 ? memory_.LoadScalar(CarryType(i), slots[i], group)
                                  : memory_.LoadVector(CarryType(i), slots[i], InSlot(group, lanes), nullptr));
    }
    return values;
  }
  // The first of `values`, as many as there are carries.
  void Put(const std::vector<kernel::Value>& values, const Pointers& slots, llvm::Value* group, int lanes) {
    for (int64_t i = 0; i < shape_.carries && status_.ok(); ++i) {
      if (lanes == 1) {
        memory_.StoreScalar(values[i], slots[i], group);
      } else {
        memory_.StoreVector(values[i], slots[i], InSlot(group, lanes), nullptr, false);
      }
    }
  }
  Access InSlot(llvm::Value* group, int lanes) {
    return {.kind = Access::Kind::kContiguous, .offset = b_.CreateMul(group, b_.getInt64(lanes))};
  }
  std::vector<kernel::Value> Splats(const Pointers& slots, llvm::Value* at) {
    std::vector<kernel::Value> values = Get(slots, at, 1);
    for (kernel::Value& value : values) value = vector_.Splat(value);
    return values;
  }

  // Elements [t, t + lanes) of a row, below `end`, which is null where all of them are.
  Access InRow(llvm::Value* row, llvm::Value* t) {
    return {.kind = shape_.reverse ? Access::Kind::kReversed : Access::Kind::kContiguous,
            .offset = b_.CreateAdd(b_.CreateMul(row, b_.getInt64(shape_.length)), Position(t))};
  }
  llvm::Value* RowMask(llvm::Value* t, llvm::Value* end) {
    return end == nullptr || shape_.length % lanes_ == 0 ? nullptr : LaneMask(b_.CreateSub(end, t));
  }
  std::vector<kernel::Value> LoadInputs(llvm::Value* row, llvm::Value* t, llvm::Value* end) {
    std::vector<kernel::Value> values;
    llvm::Value* mask = RowMask(t, end);
    for (int64_t i = 0; i < shape_.inputs; ++i) {
      values.push_back(memory_.LoadVector(shape_.types[i], inputs[i], InRow(row, t), mask));
    }
    return values;
  }
  void StoreOutputs(const std::vector<kernel::Value>& values, llvm::Value* row, llvm::Value* t, llvm::Value* end) {
    llvm::Value* mask = RowMask(t, end);
    for (size_t i = 0; i < outputs.size() && status_.ok(); ++i) {
      memory_.StoreVector(values[i], outputs[i], InRow(row, t), mask, false);
    }
  }

  // The prefixes of a vector within itself.
  void MakePrefixes(std::vector<kernel::Value>* values) {
    for (int step = 1; step < lanes_; step *= 2) {
      std::vector<kernel::Value> earlier;
      for (const kernel::Value& value : *values) earlier.push_back(Shifted(value, step));
      const std::vector<kernel::Value> combined = Body(lanes_, *values, earlier);
      for (size_t i = 0; i < values->size() && status_.ok(); ++i) {
        (*values)[i] = vector_.Select(LanesFrom(step), combined[i], (*values)[i]);
      }
    }
  }

  // Elements `first`, `first` + 2, ... of two vectors.
  std::vector<kernel::Value> EverySecond(const std::vector<kernel::Value>& low, const std::vector<kernel::Value>& high,
                                         int first) {
    std::vector<int> source;
    for (int lane = 0; lane < lanes_; ++lane) source.push_back(2 * lane + first);
    std::vector<kernel::Value> result = low;
    for (size_t i = 0; i < low.size() && lanes_ > 1; ++i) {
      result[i].value = b_.CreateShuffleVector(low[i].value, high[i].value, source);
      if (low[i].imaginary == nullptr) continue;
      result[i].imaginary = b_.CreateShuffleVector(low[i].imaginary, high[i].imaginary, source);
    }
    return result;
  }

  kernel::Value Load(PrimitiveType type, llvm::Value* base, llvm::Value* offset, llvm::Value* mask) {
    if (lanes_ == 1) return memory_.LoadScalar(type, base, offset);
    return memory_.LoadVector(type, base, {.kind = Access::Kind::kContiguous, .offset = offset}, mask);
  }
  void Store(const kernel::Value& value, llvm::Value* base, llvm::Value* offset, llvm::Value* mask) {
    if (lanes_ == 1) return memory_.StoreScalar(value, base, offset);
    memory_.StoreVector(value, base, {.kind = Access::Kind::kContiguous, .offset = offset}, mask, false);
  }

  // Lanes below `count`.
  llvm::Value* LaneMask(llvm::Value* count) {
    if (lanes_ == 1) return nullptr;
    llvm::Value* clamped = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, b_.getInt64(lanes_));
    return b_.CreateICmpSLT(LaneIndices(), b_.CreateVectorSplat(lanes_, b_.CreateTrunc(clamped, b_.getInt32Ty())));
  }
  llvm::Constant* LaneIndices() {
    std::vector<llvm::Constant*> indices;
    for (int lane = 0; lane < lanes_; ++lane) indices.push_back(b_.getInt32(lane));
    return llvm::ConstantVector::get(indices);
  }
  llvm::Value* LanesFrom(int lane) {
    return b_.CreateICmpSGE(LaneIndices(), b_.CreateVectorSplat(lanes_, b_.getInt32(lane)));
  }
  // Lane l gets what lane l - step has; the first lanes anything.
  kernel::Value Shifted(const kernel::Value& value, int step) {
    std::vector<int> source;
    for (int lane = 0; lane < lanes_; ++lane) source.push_back(std::max(lane - step, 0));
    kernel::Value result = value;
    result.value = b_.CreateShuffleVector(value.value, source);
    if (value.imaginary != nullptr) result.imaginary = b_.CreateShuffleVector(value.imaginary, source);
    return result;
  }
  kernel::Value Lane(const kernel::Value& value, int lane) {
    if (lanes_ == 1) return value;
    kernel::Value result = value;
    result.value = b_.CreateExtractElement(value.value, lane);
    if (value.imaginary != nullptr) result.imaginary = b_.CreateExtractElement(value.imaginary, lane);
    return result;
  }

  llvm::IRBuilder<>& b_;
  const Instruction& scan_;
  const ScanShape& shape_;
  const int lanes_;
  const bool cheap_;  // rather written out twice than stored and loaded once more
  kernel::ScalarEmitter scalar_;
  kernel::ScalarEmitter vector_;
  kernel::MemoryAccess memory_;
  absl::Status status_;
};

int64_t PartialBytes(const ScanShape& shape, int64_t carry) {
  return RoundUp(shape.outer * shape.chunks() * hlo::ByteWidth(shape.types[shape.inputs + carry]), 64);
}

int64_t ScanScratchBytes(const Instruction& scan) {
  const ScanShape shape(scan);
  if (!shape.chunked()) return 0;
  int64_t bytes = 0;
  for (int64_t i = 0; i < shape.carries; ++i) bytes += PartialBytes(shape, i);
  return bytes;
}

double ScanNanoseconds(const Instruction& scan) {
  const ScanShape shape(scan);
  return Tuning().rows.scan_nanoseconds * static_cast<double>(shape.outer * shape.length * shape.inner);
}

// Elements are loaded before others are stored in their place.
bool ScanMayShare(const Instruction& scan, int64_t leaf, int64_t operand) {
  const ScanShape shape(scan);
  return operand < shape.inputs && leaf < shape.outputs &&
         hlo::ByteWidth(shape.types[operand]) == hlo::ByteWidth(shape.results[leaf]);
}

absl::Status EmitTasks(llvm::IRBuilder<>* builder, const Instruction& scan, const ScanShape& shape,
                       const OpArrays& arrays) {
  Pointers closure = arrays.All();
  int64_t scratch = 0;
  for (int64_t i = 0; shape.chunked() && i < shape.carries; ++i) {
    closure.push_back(builder->CreateConstGEP1_64(builder->getInt8Ty(), arrays.scratch, scratch));
    scratch += PartialBytes(shape, i);
  }
  // One task over [0, count).
  auto emit_task = [&](int64_t count, double nanoseconds,
                       const std::function<void(ScanLoop&, llvm::IRBuilder<>&, llvm::Value * index)>& emit) {
    ParallelTask task(builder, scan.name(), closure);
    llvm::IRBuilder<>& b = task.body();
    ScanLoop loop(&task, scan, shape);
    EmitLoop(b, task.begin(), task.end(), 1, "item", [&](llvm::Value* index) { emit(loop, b, index); });
    if (loop.status().ok()) task.Call(arrays.context, count, nanoseconds);
    return loop.status();
  };
  const double nanoseconds = ScanNanoseconds(scan);
  if (!shape.along_rows()) {
    const int64_t blocks = CeilDivide(shape.inner, shape.lanes());
    return emit_task(shape.outer * blocks, nanoseconds / static_cast<double>(shape.outer * blocks),
                     [&](ScanLoop& loop, llvm::IRBuilder<>& b, llvm::Value* index) {
                       llvm::Value* outer = b.CreateUDiv(index, b.getInt64(blocks));
                       loop.Columns(outer,
                                    b.CreateMul(b.CreateURem(index, b.getInt64(blocks)), b.getInt64(shape.lanes())));
                     });
  }
  // The last carry of a row is its last output.
  auto copy_last = [&](ScanLoop& loop, llvm::IRBuilder<>& b, llvm::Value* row) {
    llvm::Value* element =
        b.CreateAdd(b.CreateMul(row, b.getInt64(shape.length)), loop.Position(b.getInt64(shape.length - 1)));
    loop.CopyScalars(loop.outputs, element, loop.last, row);
  };
  if (!shape.chunked()) {
    return emit_task(shape.outer, nanoseconds / static_cast<double>(shape.outer),
                     [&](ScanLoop& loop, llvm::IRBuilder<>& b, llvm::Value* row) {
                       const Pointers slots = loop.Slots(1);
                       llvm::Value* zero = b.getInt64(0);
                       loop.CopyScalars(loop.carries, row, slots, zero);
                       loop.Row(row, zero, b.getInt64(shape.length), slots);
                       // An empty row keeps the initial one.
                       shape.length == 0 ? loop.CopyScalars(slots, zero, loop.last, row) : copy_last(loop, b, row);
                     });
  }
  // Chunks: what each but the last adds, what comes before each, then the scan of each.
  const int64_t chunks = shape.chunks();
  auto chunk_task = [&](int64_t per_row, bool final) {
    return emit_task(shape.outer * per_row, nanoseconds / static_cast<double>(shape.outer * chunks * (final ? 1 : 2)),
                     [&](ScanLoop& loop, llvm::IRBuilder<>& b, llvm::Value* index) {
                       llvm::Value* row = b.CreateUDiv(index, b.getInt64(per_row));
                       llvm::Value* chunk = b.CreateURem(index, b.getInt64(per_row));
                       llvm::Value* begin = b.CreateMul(chunk, b.getInt64(shape.chunk_length()));
                       llvm::Value* end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                                                  b.CreateAdd(begin, b.getInt64(shape.chunk_length())),
                                                                  b.getInt64(shape.length));
                       llvm::Value* part = b.CreateAdd(b.CreateMul(row, b.getInt64(chunks)), chunk);
                       const Pointers slots = loop.Slots(1);
                       llvm::Value* zero = b.getInt64(0);
                       if (final) {
                         loop.CopyScalars(loop.partials, part, slots, zero);
                         loop.Row(row, begin, end, slots);
                       } else {
                         loop.CopyScalars(loop.carries, row, slots, zero);
                         loop.RowSum(row, begin, end, slots);
                         loop.CopyScalars(slots, zero, loop.partials, part);
                       }
                     });
  };
  KILN_RETURN_IF_ERROR(chunk_task(chunks - 1, false));
  KILN_RETURN_IF_ERROR(emit_task(shape.outer, 100, [&](ScanLoop& loop, llvm::IRBuilder<>& b, llvm::Value* row) {
    const Pointers slots = loop.Slots(1), sum = loop.Slots(1);
    llvm::Value* zero = b.getInt64(0);
    loop.CopyScalars(loop.carries, row, slots, zero);
    const ScanLoop::Counter counter = loop.StartCounter(1, chunks, slots);
    EmitLoop(b, zero, b.getInt64(chunks), 1, "chunk", [&](llvm::Value* chunk) {
      llvm::Value* at = b.CreateAdd(b.CreateMul(row, b.getInt64(chunks)), chunk);
      loop.CopyScalars(loop.partials, at, sum, zero);
      loop.CopyScalars(slots, zero, loop.partials, at);
      loop.Advance(counter, chunk, sum, slots);
    });
  }));
  KILN_RETURN_IF_ERROR(chunk_task(chunks, true));
  return emit_task(shape.outer, 10, copy_last);
}

absl::Status EmitScan(llvm::IRBuilder<>* builder, const Instruction& scan, const OpArrays& arrays) {
  const ScanShape shape(scan);
  if (shape.outer * shape.inner == 0) return absl::OkStatus();
  const bool flushes = kernel::LoopFlushesSubnormals(scan);
  llvm::Value* environment = flushes ? FlushSubnormals(*builder) : nullptr;
  KILN_RETURN_IF_ERROR(EmitTasks(builder, scan, shape, arrays));
  if (flushes) RestoreFloatEnvironment(*builder, environment);
  return absl::OkStatus();
}

}  // namespace

constexpr OpEmitter kScanEmitter = {[](const Instruction& i) { return i.opcode() == Opcode::kScan; }, ScanScratchBytes,
                                    ScanNanoseconds, EmitScan, ScanMayShare};

}  // namespace kiln::cpu
