#include "src/cpu/row_sorter.h"

#include <utility>

#include "llvm/IR/Function.h"
#include "llvm/IR/Intrinsics.h"
#include "src/base/status.h"

namespace kiln::cpu {
namespace {

constexpr int64_t kRun = 16;

}  // namespace

RowSorter::RowSorter(llvm::IRBuilder<>* builder, std::vector<hlo::PrimitiveType> types, SortOrder before)
    : b_(*builder),
      types_(std::move(types)),
      before_(std::move(before)),
      scalar_(builder, 1, kernel::Target::kCpu),
      memory_(&scalar_, &scalar_) {}

SortElement RowSorter::Load(const std::vector<llvm::Value*>& rows, llvm::Value* position) {
  SortElement element;
  for (size_t i = 0; i < types_.size(); ++i) element.push_back(memory_.LoadScalar(types_[i], rows[i], position));
  return element;
}

void RowSorter::Store(const SortElement& element, const std::vector<llvm::Value*>& rows, llvm::Value* position) {
  for (size_t i = 0; i < element.size(); ++i) memory_.StoreScalar(element[i], rows[i], position);
}

absl::Status RowSorter::Loop(llvm::Value* first, llvm::Value* limit, llvm::Value* step,
                             const std::function<absl::Status(llvm::Value*)>& body) {
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(b_.getContext(), "sort.loop", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(b_.getContext(), "sort.after", function);
  b_.CreateCondBr(b_.CreateICmpSLT(first, limit), loop, after);
  b_.SetInsertPoint(loop);
  llvm::PHINode* variable = b_.CreatePHI(b_.getInt64Ty(), 2);
  variable->addIncoming(first, before);
  KILN_RETURN_IF_ERROR(body(variable));
  llvm::Value* next = b_.CreateAdd(variable, step);
  variable->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, limit), loop, after);
  b_.SetInsertPoint(after);
  return absl::OkStatus();
}

absl::Status RowSorter::EmitRuns(const std::vector<llvm::Value*>& rows, int64_t n) {
  llvm::Value* end = b_.getInt64(n);
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = b_.getContext();
  return Loop(b_.getInt64(0), end, b_.getInt64(kRun), [&](llvm::Value* start) {
    llvm::Value* stop =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(start, b_.getInt64(kRun)), end);
    return Loop(b_.CreateAdd(start, b_.getInt64(1)), stop, b_.getInt64(1), [&](llvm::Value* i) -> absl::Status {
      SortElement element = Load(rows, i);
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
      llvm::Value* previous = b_.CreateSub(position, b_.getInt64(1));
      SortElement other = Load(rows, previous);
      KILN_ASSIGN_OR_RETURN(llvm::Value * earlier, before_(element, other));
      b_.CreateCondBr(earlier, move, place);
      b_.SetInsertPoint(move);
      Store(other, rows, position);
      position->addIncoming(previous, move);
      b_.CreateBr(test);
      b_.SetInsertPoint(place);
      Store(element, rows, position);
      return absl::OkStatus();
    });
  });
}

absl::Status RowSorter::EmitMerge(const std::vector<llvm::Value*>& from, const std::vector<llvm::Value*>& to,
                                  llvm::Value* width, int64_t n) {
  llvm::Value* end = b_.getInt64(n);
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = b_.getContext();
  auto smaller = [&](llvm::Value* a, llvm::Value* b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); };
  return Loop(b_.getInt64(0), end, b_.CreateShl(width, 1), [&](llvm::Value* low) -> absl::Status {
    llvm::Value* middle = smaller(b_.CreateAdd(low, width), end);
    llvm::Value* high = smaller(b_.CreateAdd(middle, width), end);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* loop = llvm::BasicBlock::Create(context, "merge.loop", function);
    llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "merge.after", function);
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode* out = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* left = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* right = b_.CreatePHI(b_.getInt64Ty(), 2);
    out->addIncoming(low, before);
    left->addIncoming(low, before);
    right->addIncoming(middle, before);
    llvm::Value* has_left = b_.CreateICmpSLT(left, middle);
    llvm::Value* has_right = b_.CreateICmpSLT(right, high);
    // A side that is used up still names an element of the row, which is then not taken.
    llvm::Value* last = b_.CreateSub(high, b_.getInt64(1));
    SortElement a = Load(from, smaller(left, last));
    SortElement b = Load(from, smaller(right, last));
    KILN_ASSIGN_OR_RETURN(llvm::Value * earlier, before_(b, a));
    llvm::Value* take_right = b_.CreateSelect(has_right, b_.CreateSelect(has_left, earlier, b_.getTrue()),
                                              b_.getFalse());
    SortElement taken;
    for (size_t i = 0; i < a.size(); ++i) taken.push_back(scalar_.Select(take_right, b[i], a[i]));
    Store(taken, to, out);
    llvm::Value* step_right = b_.CreateZExt(take_right, b_.getInt64Ty());
    llvm::Value* next_right = b_.CreateAdd(right, step_right);
    llvm::Value* next_left = b_.CreateAdd(left, b_.CreateSub(b_.getInt64(1), step_right));
    llvm::Value* next_out = b_.CreateAdd(out, b_.getInt64(1));
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    out->addIncoming(next_out, latch);
    left->addIncoming(next_left, latch);
    right->addIncoming(next_right, latch);
    b_.CreateCondBr(b_.CreateICmpSLT(next_out, high), loop, after);
    b_.SetInsertPoint(after);
    return absl::OkStatus();
  });
}

absl::Status RowSorter::Emit(const std::vector<llvm::Value*>& rows, const std::vector<llvm::Value*>& spare,
                             int64_t n) {
  if (n < 2) return absl::OkStatus();
  KILN_RETURN_IF_ERROR(EmitRuns(rows, n));
  if (n <= kRun) return absl::OkStatus();
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
  KILN_RETURN_IF_ERROR(EmitMerge({from.begin(), from.end()}, {to.begin(), to.end()}, width, n));
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
      const int64_t bytes = n * hlo::ByteWidth(types_[i]);
      b_.CreateMemCpy(rows[i], llvm::Align(1), spare[i], llvm::Align(1), bytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace kiln::cpu
