// Slices along the last dimension are scalars: an associative scan then works within registers, each vector becoming
// its own prefixes in as many steps as the logarithm of its lanes, before what was carried joins all of them. Long rows
// are cut into chunks that threads reduce first and scan afterwards; where they are cut does not depend on the threads.
// Otherwise lanes are neighbours within the slices, which need nothing of each other.
#include "src/cpu/scan_emitter.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/llvm_loop.h"
#include "src/cpu/parallel_emitter.h"
#include "src/kernel/memory_access.h"
#include "src/kernel/scalar_computation.h"

namespace kiln::cpu {

using hlo::Instruction;
using hlo::PrimitiveType;
using kernel::Access;
using kernel::Value;

namespace {

constexpr int64_t kChunks = 8;
constexpr int64_t kChunkedLength = 1 << 15;
constexpr double kElementNanoseconds = 1.0;
// Lanes of a column scan in registers; several hide the latency of the body.
constexpr int kColumnRegisters = 4;

struct ScanShape {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t inputs = 0, outputs = 0, carries = 0;
  bool reverse = false, associative = false;
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
  }

  bool along_rows() const { return inner == 1 && associative; }
  // Where threads are to share a row.
  bool chunked() const {
    return along_rows() && length >= kChunkedLength && outer < kChunks && ThreadPool::AvailableCpus() > 1;
  }
  int lanes() const {
    int width = 4;
    for (PrimitiveType type : types) width = std::max(width, hlo::ByteWidth(type));
    for (PrimitiveType type : results) width = std::max(width, hlo::ByteWidth(type));
    const int lanes = std::max(Host().vector_bytes / width, 1);
    if (along_rows()) return lanes;
    if (inner == 1) return 1;
    // Fewer registers where threads would have none of the columns.
    int64_t together = int64_t{kColumnRegisters} * lanes;
    while (together > lanes && outer * ((inner + together - 1) / together) < ThreadPool::AvailableCpus()) together /= 2;
    return static_cast<int>(std::min(together, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(inner)))));
  }
  int64_t chunk_length() const {
    const int64_t chunk = (length + kChunks - 1) / kChunks;
    return (chunk + lanes() - 1) / lanes() * lanes();
  }
};

// Emits within one task function.
class ScanLoop {
 public:
  ScanLoop(llvm::IRBuilder<>* builder, const Instruction& scan, const ScanShape& shape)
      : b_(*builder),
        scan_(scan),
        shape_(shape),
        lanes_(shape.lanes()),
        scalar_(builder, 1, kernel::Target::kCpu),
        vector_(builder, lanes_, kernel::Target::kCpu),
        memory_(&scalar_, &vector_) {}

  absl::Status status() const { return status_; }

  // Carried values between the rounds of a loop; of `lanes` elements each.
  std::vector<llvm::Value*> Slots(int lanes) {
    llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    std::vector<llvm::Value*> slots;
    for (int64_t i = 0; i < shape_.carries; ++i) {
      const int width = hlo::ByteWidth(shape_.types[shape_.inputs + i]);
      llvm::AllocaInst* slot = at_entry.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), width * lanes));
      slot->setAlignment(llvm::Align(64));
      slots.push_back(slot);
    }
    return slots;
  }

  // Copies element `at` of arrays of the carries' types.
  void CopyScalars(const std::vector<llvm::Value*>& from, llvm::Value* from_at, const std::vector<llvm::Value*>& to,
                   llvm::Value* to_at) {
    for (int64_t i = 0; i < shape_.carries; ++i) {
      const PrimitiveType type = shape_.types[shape_.inputs + i];
      memory_.StoreScalar(memory_.LoadScalar(type, from[i], from_at), to[i], to_at);
    }
  }

  // Element t of a row in the order of the scan.
  llvm::Value* Position(llvm::Value* t) {
    return shape_.reverse ? b_.CreateSub(b_.getInt64(shape_.length - 1), t) : t;
  }

  // Scans elements [begin, end) of row `row`, carrying in `slots`; `outputs` empty: only carries, and of these elements
  // alone.
  void Row(const std::vector<llvm::Value*>& inputs, const std::vector<llvm::Value*>& outputs, llvm::Value* row,
           llvm::Value* begin, llvm::Value* end, const std::vector<llvm::Value*>& slots) {
    llvm::Value* first = b_.CreateMul(row, b_.getInt64(shape_.length));
    EmitLoop(b_, begin, end, lanes_, "scan", [&](llvm::Value* t) {
      Access access;
      access.kind = shape_.reverse ? Access::Kind::kReversed : Access::Kind::kContiguous;
      access.offset = b_.CreateAdd(first, Position(t));
      llvm::Value* mask = LaneMask(b_.CreateSub(end, t));
      std::vector<Value> prefixes;
      for (int64_t i = 0; i < shape_.inputs; ++i) {
        prefixes.push_back(memory_.LoadVector(shape_.types[i], inputs[i], access, mask));
      }
      for (int step = 1; step < lanes_; step *= 2) {
        std::vector<Value> earlier;
        for (const Value& value : prefixes) earlier.push_back(Shifted(value, step));
        const std::vector<Value> combined = Body(&vector_, prefixes, earlier);
        if (!status_.ok()) return;
        for (size_t i = 0; i < prefixes.size(); ++i) {
          prefixes[i] = vector_.Select(LanesFrom(step), combined[i], prefixes[i]);
        }
      }
      std::vector<Value> carried;
      for (int64_t i = 0; i < shape_.carries; ++i) {
        const PrimitiveType type = shape_.types[shape_.inputs + i];
        carried.push_back(memory_.Splat(memory_.LoadScalar(type, slots[i], b_.getInt64(0))));
      }
      std::vector<Value> result = Body(&vector_, prefixes, carried);
      if (!status_.ok()) return;
      for (size_t i = 0; i < result.size() && outputs.empty(); ++i) {
        llvm::Value* is_first = b_.CreateVectorSplat(lanes_, b_.CreateICmpEQ(t, begin));
        result[i] = vector_.Select(is_first, prefixes[i % prefixes.size()], result[i]);
      }
      for (size_t i = 0; i < outputs.size(); ++i) memory_.StoreVector(result[i], outputs[i], access, mask, false);
      for (int64_t i = 0; i < shape_.carries; ++i) {
        memory_.StoreScalar(Lane(result[i], lanes_ - 1), slots[i], b_.getInt64(0));
      }
    });
  }

  // Scans whole columns: `lanes` neighbours from `column` on, of the outer index `outer`.
  void Columns(const std::vector<llvm::Value*>& inputs, const std::vector<llvm::Value*>& outputs,
               const std::vector<llvm::Value*>& carries, const std::vector<llvm::Value*>& last, llvm::Value* outer,
               llvm::Value* column, const std::vector<llvm::Value*>& slots) {
    llvm::Value* inner = b_.getInt64(shape_.inner);
    llvm::Value* mask = shape_.inner % lanes_ == 0 ? nullptr : LaneMask(b_.CreateSub(inner, column));
    llvm::Value* slice = b_.CreateAdd(b_.CreateMul(outer, inner), column);
    llvm::Value* zero = b_.getInt64(0);
    auto carry_type = [&](int64_t i) { return shape_.types[shape_.inputs + i]; };
    for (int64_t i = 0; i < shape_.carries; ++i) {
      Store(Load(carry_type(i), carries[i], slice, mask), slots[i], zero, nullptr);
    }
    EmitLoop(b_, zero, b_.getInt64(shape_.length), 1, "scan", [&](llvm::Value* t) {
      llvm::Value* row = b_.CreateAdd(b_.CreateMul(outer, b_.getInt64(shape_.length)), Position(t));
      llvm::Value* offset = b_.CreateAdd(b_.CreateMul(row, inner), column);
      std::vector<Value> slices, carried;
      for (int64_t i = 0; i < shape_.inputs; ++i) slices.push_back(Load(shape_.types[i], inputs[i], offset, mask));
      for (int64_t i = 0; i < shape_.carries; ++i) carried.push_back(Load(carry_type(i), slots[i], zero, nullptr));
      const std::vector<Value> result = Body(lanes_ == 1 ? &scalar_ : &vector_, slices, carried);
      if (!status_.ok()) return;
      for (int64_t i = 0; i < shape_.outputs; ++i) Store(result[i], outputs[i], offset, mask);
      for (int64_t i = 0; i < shape_.carries; ++i) Store(result[shape_.outputs + i], slots[i], zero, nullptr);
    });
    for (int64_t i = 0; i < shape_.carries; ++i) {
      Store(Load(carry_type(i), slots[i], zero, nullptr), last[i], slice, mask);
    }
  }

  // One application of the body to scalars: `slots` become what follows them and `elements`.
  void Advance(const std::vector<llvm::Value*>& elements, llvm::Value* at, const std::vector<llvm::Value*>& slots) {
    std::vector<Value> slices, carried;
    for (int64_t i = 0; i < shape_.inputs; ++i) {
      slices.push_back(memory_.LoadScalar(shape_.types[i], elements[i], at));
      carried.push_back(memory_.LoadScalar(shape_.types[shape_.inputs + i], slots[i], b_.getInt64(0)));
    }
    const std::vector<Value> result = Body(&scalar_, slices, carried);
    for (size_t i = 0; i < slots.size() && status_.ok(); ++i) memory_.StoreScalar(result[i], slots[i], b_.getInt64(0));
  }

 private:
  std::vector<Value> Body(kernel::ScalarEmitter* emitter, std::vector<Value> slices,
                          const std::vector<Value>& carried) {
    slices.insert(slices.end(), carried.begin(), carried.end());
    absl::StatusOr<std::vector<Value>> result =
        kernel::EmitScalarComputation(emitter, *scan_.called_computation(), slices);
    if (!result.ok()) {
      status_.Update(result.status());
      return {};
    }
    return *std::move(result);
  }

  Value Load(PrimitiveType type, llvm::Value* base, llvm::Value* offset, llvm::Value* mask) {
    if (lanes_ == 1) return memory_.LoadScalar(type, base, offset);
    return memory_.LoadVector(type, base, {.kind = Access::Kind::kContiguous, .offset = offset}, mask);
  }
  void Store(const Value& value, llvm::Value* base, llvm::Value* offset, llvm::Value* mask) {
    if (lanes_ == 1) return memory_.StoreScalar(value, base, offset);
    memory_.StoreVector(value, base, {.kind = Access::Kind::kContiguous, .offset = offset}, mask, false);
  }

  llvm::Value* LaneIndices() {
    std::vector<llvm::Constant*> indices;
    for (int lane = 0; lane < lanes_; ++lane) indices.push_back(b_.getInt64(lane));
    return llvm::ConstantVector::get(indices);
  }
  // Lanes below `count`.
  llvm::Value* LaneMask(llvm::Value* count) {
    if (lanes_ == 1) return nullptr;
    return b_.CreateICmpSLT(LaneIndices(), b_.CreateVectorSplat(lanes_, count));
  }
  llvm::Value* LanesFrom(int lane) {
    return b_.CreateICmpSGE(LaneIndices(), b_.CreateVectorSplat(lanes_, b_.getInt64(lane)));
  }
  // Lane l gets what lane l - step has; the first lanes anything.
  Value Shifted(const Value& value, int step) {
    std::vector<int> source;
    for (int lane = 0; lane < lanes_; ++lane) source.push_back(std::max(lane - step, 0));
    Value result = value;
    result.value = b_.CreateShuffleVector(value.value, source);
    if (value.imaginary != nullptr) result.imaginary = b_.CreateShuffleVector(value.imaginary, source);
    return result;
  }
  Value Lane(const Value& value, int lane) {
    if (lanes_ == 1) return value;
    Value result = value;
    result.value = b_.CreateExtractElement(value.value, lane);
    if (value.imaginary != nullptr) result.imaginary = b_.CreateExtractElement(value.imaginary, lane);
    return result;
  }

  llvm::IRBuilder<>& b_;
  const Instruction& scan_;
  const ScanShape& shape_;
  const int lanes_;
  kernel::ScalarEmitter scalar_;
  kernel::ScalarEmitter vector_;
  kernel::MemoryAccess memory_;
  absl::Status status_;
};

// One task over [0, count): `emit(loop, builder, index, pointers)` per index.
using EmitOne = std::function<void(ScanLoop&, llvm::IRBuilder<>&, llvm::Value* index,
                                   const std::function<std::vector<llvm::Value*>(int64_t, int64_t)>& pointers)>;

absl::Status EmitTask(llvm::IRBuilder<>* builder, const Instruction& scan, const ScanShape& shape,
                      const std::vector<llvm::Value*>& closure, llvm::Value* context, int64_t count,
                      double nanoseconds, const EmitOne& emit) {
  ParallelTask task(builder, scan.name(), closure);
  llvm::IRBuilder<>& b = task.body();
  ScanLoop loop(&b, scan, shape);
  auto pointers = [&](int64_t first, int64_t number) {
    std::vector<llvm::Value*> result;
    for (int64_t i = 0; i < number; ++i) result.push_back(task.closure(first + i));
    return result;
  };
  EmitLoop(b, task.begin(), task.end(), 1, "item", [&](llvm::Value* index) { emit(loop, b, index, pointers); });
  KILN_RETURN_IF_ERROR(loop.status());
  task.Call(context, count, nanoseconds);
  return absl::OkStatus();
}

int64_t PartialBytes(const ScanShape& shape, int64_t carry) {
  const int64_t bytes = shape.outer * kChunks * hlo::ByteWidth(shape.types[shape.inputs + carry]);
  return (bytes + 63) / 64 * 64;
}

}  // namespace

int64_t ScanScratchBytes(const Instruction& scan) {
  const ScanShape shape(scan);
  if (!shape.chunked()) return 0;
  int64_t bytes = 0;
  for (int64_t i = 0; i < shape.carries; ++i) bytes += PartialBytes(shape, i);
  return bytes;
}

double ScanNanoseconds(const Instruction& scan) {
  const ScanShape shape(scan);
  return kElementNanoseconds * static_cast<double>(shape.outer * shape.length * shape.inner);
}

absl::Status EmitScan(llvm::IRBuilder<>* builder, const Instruction& scan, const OpArrays& arrays) {
  llvm::IRBuilder<>& b = *builder;
  const ScanShape shape(scan);
  if (shape.outer * shape.inner == 0) return absl::OkStatus();
  // inputs, carries, outputs, last carries, partial results.
  std::vector<llvm::Value*> closure = arrays.operands;
  closure.insert(closure.end(), arrays.results.begin(), arrays.results.end());
  const int64_t carries = shape.inputs, outputs = carries + shape.carries, last = outputs + shape.outputs,
                partial = last + shape.carries;
  int64_t scratch = 0;
  for (int64_t i = 0; shape.chunked() && i < shape.carries; ++i) {
    closure.push_back(b.CreateConstGEP1_64(b.getInt8Ty(), arrays.scratch, scratch));
    scratch += PartialBytes(shape, i);
  }
  const double nanoseconds = ScanNanoseconds(scan);
  if (!shape.along_rows()) {
    const int64_t blocks = (shape.inner + shape.lanes() - 1) / shape.lanes();
    return EmitTask(builder, scan, shape, closure, arrays.context, shape.outer * blocks,
                    nanoseconds / static_cast<double>(shape.outer * blocks),
                    [&](ScanLoop& loop, llvm::IRBuilder<>& inside, llvm::Value* index, const auto& pointers) {
                      llvm::Value* outer = inside.CreateUDiv(index, inside.getInt64(blocks));
                      llvm::Value* column = inside.CreateMul(inside.CreateURem(index, inside.getInt64(blocks)),
                                                             inside.getInt64(shape.lanes()));
                      loop.Columns(pointers(0, shape.inputs), pointers(outputs, shape.outputs),
                                   pointers(carries, shape.carries), pointers(last, shape.carries), outer, column,
                                   loop.Slots(shape.lanes()));
                    });
  }
  if (!shape.chunked()) {
    return EmitTask(builder, scan, shape, closure, arrays.context, shape.outer,
                    nanoseconds / static_cast<double>(shape.outer),
                    [&](ScanLoop& loop, llvm::IRBuilder<>& inside, llvm::Value* row, const auto& pointers) {
                      const std::vector<llvm::Value*> slots = loop.Slots(1);
                      llvm::Value* zero = inside.getInt64(0);
                      llvm::Value* end = inside.getInt64(shape.length);
                      loop.CopyScalars(pointers(carries, shape.carries), row, slots, zero);
                      loop.Row(pointers(0, shape.inputs), pointers(outputs, shape.outputs), row, zero, end, slots);
                      // The last carry is the last output; an empty row keeps the initial one.
                      llvm::Value* element = inside.CreateAdd(inside.CreateMul(row, end),
                                                              loop.Position(inside.getInt64(shape.length - 1)));
                      loop.CopyScalars(shape.length == 0 ? slots : pointers(outputs, shape.outputs),
                                       shape.length == 0 ? zero : element, pointers(last, shape.carries), row);
                    });
  }
  // Chunks: what each adds, what comes before each, then the scan of each.
  const double per_chunk = nanoseconds / static_cast<double>(shape.outer * kChunks);
  auto chunk_task = [&](llvm::IRBuilder<>* at, bool final) {
    return EmitTask(at, scan, shape, closure, arrays.context, shape.outer * kChunks, per_chunk,
                    [&](ScanLoop& loop, llvm::IRBuilder<>& inside, llvm::Value* index, const auto& pointers) {
                      llvm::Value* row = inside.CreateUDiv(index, inside.getInt64(kChunks));
                      llvm::Value* chunk = inside.CreateURem(index, inside.getInt64(kChunks));
                      llvm::Value* begin = inside.CreateMul(chunk, inside.getInt64(shape.chunk_length()));
                      llvm::Value* end = inside.CreateBinaryIntrinsic(
                          llvm::Intrinsic::smin, inside.CreateAdd(begin, inside.getInt64(shape.chunk_length())),
                          inside.getInt64(shape.length));
                      const std::vector<llvm::Value*> slots = loop.Slots(1);
                      llvm::Value* zero = inside.getInt64(0);
                      if (final) {
                        loop.CopyScalars(pointers(partial, shape.carries), index, slots, zero);
                        loop.Row(pointers(0, shape.inputs), pointers(outputs, shape.outputs), row, begin, end, slots);
                      } else {
                        loop.CopyScalars(pointers(carries, shape.carries), row, slots, zero);
                        loop.Row(pointers(0, shape.inputs), {}, row, begin, end, slots);
                        loop.CopyScalars(slots, zero, pointers(partial, shape.carries), index);
                      }
                    });
  };
  KILN_RETURN_IF_ERROR(chunk_task(builder, false));
  KILN_RETURN_IF_ERROR(EmitTask(
      builder, scan, shape, closure, arrays.context, shape.outer, 100,
      [&](ScanLoop& loop, llvm::IRBuilder<>& inside, llvm::Value* row, const auto& pointers) {
        const std::vector<llvm::Value*> slots = loop.Slots(1), saved = loop.Slots(1);
        const std::vector<llvm::Value*> partials = pointers(partial, shape.carries);
        llvm::Value* zero = inside.getInt64(0);
        loop.CopyScalars(pointers(carries, shape.carries), row, slots, zero);
        EmitLoop(inside, zero, inside.getInt64(kChunks), 1, "chunk", [&](llvm::Value* chunk) {
          llvm::Value* at = inside.CreateAdd(inside.CreateMul(row, inside.getInt64(kChunks)), chunk);
          loop.CopyScalars(slots, zero, saved, zero);
          loop.Advance(partials, at, slots);
          loop.CopyScalars(saved, zero, partials, at);
        });
      }));
  KILN_RETURN_IF_ERROR(chunk_task(builder, true));
  return EmitTask(builder, scan, shape, closure, arrays.context, shape.outer, 10,
                  [&](ScanLoop& loop, llvm::IRBuilder<>& inside, llvm::Value* row, const auto& pointers) {
                    llvm::Value* element = inside.CreateAdd(inside.CreateMul(row, inside.getInt64(shape.length)),
                                                            loop.Position(inside.getInt64(shape.length - 1)));
                    loop.CopyScalars(pointers(outputs, shape.outputs), element, pointers(last, shape.carries), row);
                  });
}

}  // namespace kiln::cpu
