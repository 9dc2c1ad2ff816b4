// Sort and top-k over whole arrays, in any order.
#include <cmath>
#include <utility>
#include <vector>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Intrinsics.h"
#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/base/status.h"
#include "src/cpu/llvm_loop.h"
#include "src/cpu/op_emitters.h"
#include "src/cpu/parallel_emitter.h"
#include "src/kernel/memory_access.h"
#include "src/kernel/scalar_computation.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::cpu {

using hlo::Instruction;
using hlo::PrimitiveType;

namespace {

constexpr int64_t kRun = 16;

// An element is one value of each array at the same position.
using SortElement = std::vector<kernel::Value>;

// i1: `a` comes before `b`. Whatever it answers, the sort stays within its arrays and ends.
using SortOrder = std::function<absl::StatusOr<llvm::Value*>(const SortElement& a, const SortElement& b)>;

// Stable merge sort of rows.
class RowSorter {
 public:
  RowSorter(llvm::IRBuilder<>* builder, std::vector<hlo::PrimitiveType> types, SortOrder before);

  // Sorts `n` elements in `rows` (contiguous, one pointer per type); `spare` has as much room. The sorted row ends up
  // in `rows`. Short runs are sorted by insertion, then merged pairwise between the two.
  absl::Status Emit(const std::vector<llvm::Value*>& rows, const std::vector<llvm::Value*>& spare, int64_t n);

  // One value of each of the first arrays, as many as there are rows.
  SortElement Load(const std::vector<llvm::Value*>& rows, llvm::Value* position);
  void Store(const SortElement& element, const std::vector<llvm::Value*>& rows, llvm::Value* position);

 private:
  void EmitRuns(const std::vector<llvm::Value*>& rows, int64_t n);
  void EmitMerge(const std::vector<llvm::Value*>& from, const std::vector<llvm::Value*>& to, llvm::Value* width,
                 int64_t n);
  // i1: `a` comes before `b`; false where that cannot be emitted, as status_ then says.
  llvm::Value* IsBefore(const SortElement& a, const SortElement& b);
  llvm::Value* Smaller(llvm::Value* a, llvm::Value* b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }

  llvm::IRBuilder<>& b_;
  std::vector<hlo::PrimitiveType> types_;
  SortOrder before_;
  kernel::ScalarEmitter scalar_;
  kernel::MemoryAccess memory_;
  absl::Status status_;
};

RowSorter::RowSorter(llvm::IRBuilder<>* builder, std::vector<hlo::PrimitiveType> types, SortOrder before)
    : b_(*builder),
      types_(std::move(types)),
      before_(std::move(before)),
      scalar_(builder, 1, kernel::Target::kCpu),
      memory_(&scalar_, &scalar_) {}

SortElement RowSorter::Load(const std::vector<llvm::Value*>& rows, llvm::Value* position) {
  SortElement element;
  for (size_t i = 0; i < rows.size(); ++i) element.push_back(memory_.LoadScalar(types_[i], rows[i], position));
  return element;
}

void RowSorter::Store(const SortElement& element, const std::vector<llvm::Value*>& rows, llvm::Value* position) {
  for (size_t i = 0; i < element.size(); ++i) memory_.StoreScalar(element[i], rows[i], position);
}

llvm::Value* RowSorter::IsBefore(const SortElement& a, const SortElement& b) {
  absl::StatusOr<llvm::Value*> before = before_(a, b);
  status_.Update(before.status());
  return before.ok() ? *before : b_.getFalse();
}

void RowSorter::EmitRuns(const std::vector<llvm::Value*>& rows, int64_t n) {
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = b_.getContext();
  llvm::Value* one = b_.getInt64(1);
  EmitLoop(b_, b_.getInt64(0), b_.getInt64(n), kRun, "run", [&](llvm::Value* start) {
    llvm::Value* stop = Smaller(b_.CreateAdd(start, b_.getInt64(kRun)), b_.getInt64(n));
    EmitLoop(b_, b_.CreateAdd(start, one), stop, 1, "insert", [&](llvm::Value* i) {
      const SortElement element = Load(rows, i);
      // Elements that come after it move up by one.
      llvm::BasicBlock* before = b_.GetInsertBlock();
      llvm::BasicBlock* test = llvm::BasicBlock::Create(context, "sort.test", function);
      llvm::BasicBlock* compare = llvm::BasicBlock::Create(context, "sort.compare", function);
      llvm::BasicBlock* move = llvm::BasicBlock::Create(context, "sort.move", function);
      llvm::BasicBlock* place = llvm::BasicBlock::Create(context, "sort.place", function);
      b_.CreateBr(test);
      b_.SetInsertPoint(test);
      llvm::PHINode* position = b_.CreatePHI(b_.getInt64Ty(), 2);
      position->addIncoming(i, before);
      b_.CreateCondBr(b_.CreateICmpSGT(position, start), compare, place);
      b_.SetInsertPoint(compare);
      llvm::Value* previous = b_.CreateSub(position, one);
      const SortElement other = Load(rows, previous);
      b_.CreateCondBr(IsBefore(element, other), move, place);
      b_.SetInsertPoint(move);
      Store(other, rows, position);
      position->addIncoming(previous, move);
      b_.CreateBr(test);
      b_.SetInsertPoint(place);
      Store(element, rows, position);
    });
  });
}

void RowSorter::EmitMerge(const std::vector<llvm::Value*>& from, const std::vector<llvm::Value*>& to,
                          llvm::Value* width, int64_t n) {
  llvm::Value *end = b_.getInt64(n), *one = b_.getInt64(1);
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  EmitLoop(b_, b_.getInt64(0), end, b_.CreateShl(width, 1), "merge", [&](llvm::Value* low) {
    llvm::Value* middle = Smaller(b_.CreateAdd(low, width), end);
    llvm::Value* high = Smaller(b_.CreateAdd(middle, width), end);
    llvm::Value* last = b_.CreateSub(high, one);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* loop = llvm::BasicBlock::Create(b_.getContext(), "merge.loop", function);
    llvm::BasicBlock* after = llvm::BasicBlock::Create(b_.getContext(), "merge.after", function);
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode* out = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* left = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* right = b_.CreatePHI(b_.getInt64Ty(), 2);
    out->addIncoming(low, before);
    left->addIncoming(low, before);
    right->addIncoming(middle, before);
    // A side that is used up still names an element of the row, which is then not taken.
    const SortElement a = Load(from, Smaller(left, last)), b = Load(from, Smaller(right, last));
    llvm::Value* right_first = b_.CreateOr(b_.CreateICmpSGE(left, middle), IsBefore(b, a));
    llvm::Value* take_right = b_.CreateAnd(b_.CreateICmpSLT(right, high), right_first);
    SortElement taken;
    for (size_t i = 0; i < a.size(); ++i) taken.push_back(scalar_.Select(take_right, b[i], a[i]));
    Store(taken, to, out);
    llvm::Value* step_right = b_.CreateZExt(take_right, b_.getInt64Ty());
    llvm::Value* next_right = b_.CreateAdd(right, step_right);
    llvm::Value* next_left = b_.CreateAdd(left, b_.CreateSub(one, step_right));
    llvm::Value* next_out = b_.CreateAdd(out, one);
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    out->addIncoming(next_out, latch);
    left->addIncoming(next_left, latch);
    right->addIncoming(next_right, latch);
    b_.CreateCondBr(b_.CreateICmpSLT(next_out, high), loop, after);
    b_.SetInsertPoint(after);
  });
}

absl::Status RowSorter::Emit(const std::vector<llvm::Value*>& rows, const std::vector<llvm::Value*>& spare, int64_t n) {
  if (n < 2) return absl::OkStatus();
  EmitRuns(rows, n);
  if (n <= kRun) return status_;
  int64_t passes = 0;
  for (int64_t width = kRun; width < n; width *= 2) ++passes;
  // Each pass exchanges the roles of the two; an even number ends where it began.
  std::vector<llvm::PHINode*> from, to;
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(b_.getContext(), "sort.pass", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(b_.getContext(), "sort.done", function);
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* width = b_.CreatePHI(b_.getInt64Ty(), 2);
  width->addIncoming(b_.getInt64(kRun), before);
  for (size_t i = 0; i < rows.size(); ++i) {
    from.push_back(b_.CreatePHI(b_.getPtrTy(), 2));
    from.back()->addIncoming(rows[i], before);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    to.push_back(b_.CreatePHI(b_.getPtrTy(), 2));
    to.back()->addIncoming(spare[i], before);
  }
  EmitMerge({from.begin(), from.end()}, {to.begin(), to.end()}, width, n);
  llvm::Value* next = b_.CreateShl(width, 1);
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  width->addIncoming(next, latch);
  for (size_t i = 0; i < rows.size(); ++i) {
    from[i]->addIncoming(to[i], latch);
    to[i]->addIncoming(from[i], latch);
  }
  b_.CreateCondBr(b_.CreateICmpSLT(next, b_.getInt64(n)), loop, after);
  b_.SetInsertPoint(after);
  if (passes % 2 != 0) {
    for (size_t i = 0; i < rows.size(); ++i) {
      b_.CreateMemCpy(rows[i], llvm::Align(1), spare[i], llvm::Align(1), n * hlo::ByteWidth(types_[i]));
    }
  }
  return status_;
}

// A sort, or a selection as a sort with positions of which the first elements are kept: rows along one dimension.
struct RowSort {
  int64_t outer = 1, size = 1, inner = 1;
  int64_t kept = 1;                  // of a row, in the results
  std::vector<PrimitiveType> types;  // of the results; operands are the first of them, positions follow

  explicit RowSort(const Instruction& op) {
    const hlo::Shape& shape = op.operand(0)->shape();
    const bool whole = op.opcode() == hlo::Opcode::kSort;
    const int64_t dimension = whole ? op.Get<hlo::SortAttributes>().dimension : shape.rank() - 1;
    for (int64_t i = 0; i < shape.rank(); ++i) {
      (i < dimension ? outer : i == dimension ? size : inner) *= shape.dimensions(i);
    }
    kept = whole ? size : op.Get<hlo::TopKAttributes>().k;
    for (const Instruction* operand : op.operands()) types.push_back(operand->shape().element_type());
    if (!whole) types.push_back(PrimitiveType::kS32);
  }

  int64_t rows() const { return outer * inner; }
  // Rows that cannot be sorted in the results.
  bool copied() const { return inner > 1 || kept < size; }
  int64_t ArrayBytes(size_t i) const { return RoundUp(rows() * size * hlo::ByteWidth(types[i]), 64); }
  // Room to merge into, and for copies.
  int64_t ScratchBytes() const {
    int64_t bytes = 0;
    for (size_t i = 0; i < types.size(); ++i) bytes += ArrayBytes(i) * (copied() ? 2 : 1);
    return bytes;
  }
  double RowNanoseconds() const {
    const RowTuning& costs = Tuning().rows;
    return static_cast<double>(size) *
           (costs.merge_base_nanoseconds + costs.merge_level_nanoseconds * std::log2(static_cast<double>(size) + 1));
  }
};

SortOrder OrderOf(const Instruction& op, llvm::IRBuilder<>& b) {
  if (op.opcode() == hlo::Opcode::kSort) {
    return [&](const SortElement& x, const SortElement& y) -> absl::StatusOr<llvm::Value*> {
      kernel::ScalarEmitter scalar(&b, 1, kernel::Target::kCpu);
      std::vector<kernel::Value> arguments;
      for (size_t i = 0; i < x.size(); ++i) arguments.insert(arguments.end(), {x[i], y[i]});
      KILN_ASSIGN_OR_RETURN(std::vector<kernel::Value> result,
                            kernel::EmitScalarComputation(&scalar, *op.called_computation(), arguments));
      return result[0].value;
    };
  }
  const auto key = [&b](const kernel::Value& value) {
    if (!hlo::IsFloating(value.type)) return value.value;
    return static_cast<llvm::Value*>(
        kernel::TotalOrder(kernel::VectorBuilder{b, 1, kernel::Target::kCpu}, value.type, value.value));
  };
  const bool largest = op.Get<hlo::TopKAttributes>().largest;
  return [&b, key, largest](const SortElement& x, const SortElement& y) -> absl::StatusOr<llvm::Value*> {
    const PrimitiveType type = x[0].type;
    const bool is_unsigned = hlo::IsUnsignedIntegral(type) || type == PrimitiveType::kPred;
    llvm::Value *first = key(largest ? y[0] : x[0]), *second = key(largest ? x[0] : y[0]);
    return is_unsigned ? b.CreateICmpULT(first, second) : b.CreateICmpSLT(first, second);
  };
}

absl::Status EmitSort(llvm::IRBuilder<>* builder, const Instruction& op, const OpArrays& arrays) {
  const RowSort sort(op);
  const size_t count = sort.types.size(), sources = op.operand_count();
  if (op.opcode() == hlo::Opcode::kTopK && hlo::IsComplex(sort.types[0])) {
    return Unimplemented(op.Describe(), ": complex numbers have no order");
  }
  if (sort.rows() * sort.size * sort.kept == 0) return absl::OkStatus();
  std::vector<llvm::Value*> closure = arrays.All();
  closure.push_back(arrays.scratch);
  ParallelTask task(builder, op.name(), closure);
  llvm::IRBuilder<>& b = task.body();
  RowSorter sorter(&b, sort.types, OrderOf(op, b));
  absl::Status status;
  EmitLoop(b, task.begin(), task.end(), 1, "row", [&](llvm::Value* row) {
    llvm::Value* outer = b.CreateUDiv(row, b.getInt64(sort.inner));
    llvm::Value* inner = b.CreateURem(row, b.getInt64(sort.inner));
    // The row's first element in arrays that have `length` of it; the others follow `inner` elements apart.
    auto first_of = [&](int64_t length) {
      return b.CreateAdd(b.CreateMul(outer, b.getInt64(length * sort.inner)), inner);
    };
    auto strided = [&](llvm::Value* first, llvm::Value* k) {
      return b.CreateAdd(first, b.CreateMul(k, b.getInt64(sort.inner)));
    };
    llvm::Value *first = first_of(sort.size), *first_kept = first_of(sort.kept);
    auto at = [&](llvm::Value* base, llvm::Value* position, size_t i) {
      return b.CreateGEP(b.getIntNTy(8 * hlo::ByteWidth(sort.types[i])), base, position);
    };
    llvm::Value *zero = b.getInt64(0), *scratch_first = b.CreateMul(row, b.getInt64(sort.size));
    std::vector<llvm::Value*> operands, results, rows, spare;
    int64_t offset = 0;
    for (size_t i = 0; i < count; ++i) {
      auto scratch_row = [&] {
        llvm::Value* base = b.CreateConstGEP1_64(b.getInt8Ty(), task.closure(sources + count), offset);
        offset += sort.ArrayBytes(i);
        return at(base, scratch_first, i);
      };
      if (i < sources) operands.push_back(task.closure(i));
      results.push_back(task.closure(sources + i));
      rows.push_back(sort.copied() ? scratch_row() : at(results[i], first, i));
      spare.push_back(scratch_row());
    }
    EmitLoop(b, zero, b.getInt64(sort.size), 1, "gather", [&](llvm::Value* k) {
      SortElement values = sorter.Load(operands, strided(first, k));
      if (sources < count) values.push_back({PrimitiveType::kS32, b.CreateTrunc(k, b.getInt32Ty())});
      sorter.Store(values, rows, k);
    });
    status.Update(sorter.Emit(rows, spare, sort.size));
    if (!sort.copied()) return;
    EmitLoop(b, zero, b.getInt64(sort.kept), 1, "keep",
             [&](llvm::Value* k) { sorter.Store(sorter.Load(rows, k), results, strided(first_kept, k)); });
  });
  KILN_RETURN_IF_ERROR(status);
  task.Call(arrays.context, sort.rows(), sort.RowNanoseconds());
  return absl::OkStatus();
}

}  // namespace

constexpr OpEmitter kSortEmitter = {
    [](const Instruction& i) { return i.opcode() == hlo::Opcode::kSort || i.opcode() == hlo::Opcode::kTopK; },
    [](const Instruction& i) { return RowSort(i).ScratchBytes(); },
    [](const Instruction& i) {
      const RowSort sort(i);
      return static_cast<double>(sort.rows()) * sort.RowNanoseconds();
    },
    EmitSort};

}  // namespace kiln::cpu
