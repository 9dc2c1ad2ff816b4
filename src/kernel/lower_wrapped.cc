// Loads that go round the ends of rows, as those of neighbours on a ring do.
#include <cstdint>

#include "src/kernel/memory_access.h"
#include "src/kernel/nest_lowering.h"

namespace kiln::kernel {

bool NestLowering::LowerWrapped(const Op& op, llvm::Value* base, Value* value) {
  const int lanes = vector_->lanes();
  int64_t stride;
  Spread spread;
  Wrapped wrapped;
  // Whoever lowers an epilogue goes on in its own block.
  if (external_.value != nullptr) return false;
  if (op.predicate != kNoValue || IsLocalOfLanes(op.parameter, op.offset) ||
      LinearStride(kernel_.terms, op.offset, vector_loop_, lanes, &stride) ||
      IsSpread(kernel_.terms, op.offset, vector_loop_, lanes, &spread) ||
      !IsWrapped(kernel_.terms, op.offset, vector_loop_, lanes, &wrapped) ||
      (!aligned_runs_ && !IsPlainSum(kernel_.terms.term(wrapped.term).inner))) {
    return false;
  }
  IndexExpr rest;
  rest.terms.emplace_back(wrapped.term, 1);
  const int64_t divisor = kernel_.terms.term(wrapped.term).divisor;
  // How far the first lane is from the end that the others go towards.
  llvm::Value* room = index_.Scalar(rest);
  if (wrapped.step > 0) room = b_.CreateSub(b_.getInt64(static_cast<uint64_t>(divisor - 1)), room);
  llvm::Value* is_run = b_.CreateICmpSGE(room, b_.getInt64(static_cast<uint64_t>(lanes - 1)));

  llvm::Function* function = b_.GetInsertBlock()->getParent();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function); };
  llvm::BasicBlock *run = block("run"), *end = block("row_end"), *done = block("loaded");
  b_.CreateCondBr(is_run, run, end);
  MemoryAccess memory(&scalar_, vector_.get());
  const auto load = [&](llvm::BasicBlock** in, const Access& access) {
    Value loaded = memory.LoadVector(op.type, base, access, mask_);
    *in = b_.GetInsertBlock();
    b_.CreateBr(done);
    return loaded;
  };
  b_.SetInsertPoint(run);
  const Value of_run = load(&run, {.kind = wrapped.stride > 0 ? Access::Kind::kContiguous : Access::Kind::kReversed,
                                   .offset = index_.Scalar(op.offset)});
  b_.SetInsertPoint(end);
  const Value of_end = load(&end, {.kind = Access::Kind::kIndexed, .offsets = index_.Vector(op.offset)});
  b_.SetInsertPoint(done);
  const auto join = [&](llvm::Value* first, llvm::Value* second) -> llvm::Value* {
    if (first == nullptr) return nullptr;
    llvm::PHINode* either = b_.CreatePHI(first->getType(), 2);
    either->addIncoming(first, run);
    either->addIncoming(second, end);
    return either;
  };
  *value = of_run;
  value->value = join(of_run.value, of_end.value);
  value->imaginary = join(of_run.imaginary, of_end.imaginary);
  return true;
}

}  // namespace kiln::kernel
