#include "src/cpu/llvm_loop.h"

#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"

namespace kiln::cpu {

void EmitLoop(llvm::IRBuilder<>& b, llvm::Value* begin, llvm::Value* end, llvm::Value* step, const llvm::Twine& name,
              const std::function<void(llvm::Value*)>& body) {
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(begin);
  const auto* limit = llvm::dyn_cast<llvm::ConstantInt>(end);
  const bool constant = first != nullptr && limit != nullptr;
  if (constant) {
    const int64_t count = limit->getSExtValue() - first->getSExtValue();
    if (count <= 0) return;
    const auto* constant_step = llvm::dyn_cast<llvm::ConstantInt>(step);
    if (constant_step != nullptr && count <= constant_step->getSExtValue()) return body(begin);
  }
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* entry = b.GetInsertBlock();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(b.getContext(), name, function);
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(b.getContext(), name + ".end", function);
  if (constant) {
    b.CreateBr(loop);
  } else {
    b.CreateCondBr(b.CreateICmpSLT(begin, end), loop, exit);
  }
  b.SetInsertPoint(loop);
  llvm::PHINode* index = b.CreatePHI(b.getInt64Ty(), 2, name + ".i");
  index->addIncoming(begin, entry);
  body(index);
  llvm::Value* next = b.CreateAdd(index, step, name + ".next", /*HasNUW=*/true, /*HasNSW=*/true);
  index->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, end), loop, exit);
  b.SetInsertPoint(exit);
}

void EmitIf(llvm::IRBuilder<>& b, llvm::Value* condition, const llvm::Twine& name, const std::function<void()>& body) {
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (constant->isOne()) body();
    return;
  }
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* then = llvm::BasicBlock::Create(b.getContext(), name, function);
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(b.getContext(), name + ".end", function);
  b.CreateCondBr(condition, then, exit);
  b.SetInsertPoint(then);
  body();
  b.CreateBr(exit);
  b.SetInsertPoint(exit);
}

llvm::AllocaInst* StackSlot(llvm::IRBuilder<>& b, llvm::Type* type, uint64_t alignment, llvm::Value* count) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::AllocaInst* slot = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type, count);
  if (alignment > 0) slot->setAlignment(llvm::Align(alignment));
  return slot;
}

}  // namespace kiln::cpu
