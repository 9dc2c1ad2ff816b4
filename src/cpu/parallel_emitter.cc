#include "src/cpu/parallel_emitter.h"

#include <algorithm>
#include <utility>

#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "src/cpu/program_abi.h"

namespace kiln::cpu {
namespace {

// Work below this is not worth waking a thread for, and what one range should take at least.
constexpr double kParallelNanoseconds = 20000;
constexpr double kRangeNanoseconds = 10000;

llvm::Function* NewTask(llvm::Module* module, const std::string& name) {
  llvm::LLVMContext& context = module->getContext();
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  llvm::FunctionType* type = llvm::FunctionType::get(
      llvm::Type::getVoidTy(context), {llvm::PointerType::getUnqual(context), i64, i64}, /*isVarArg=*/false);
  llvm::Function* task = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, *module);
  task->addFnAttr(llvm::Attribute::NoInline);
  llvm::BasicBlock::Create(context, "entry", task);
  return task;
}

}  // namespace

ParallelTask::ParallelTask(llvm::IRBuilder<>* builder, const std::string& name, std::vector<llvm::Value*> pointers)
    : outer_(*builder),
      function_(NewTask(builder->GetInsertBlock()->getModule(), name)),
      is_new_(true),
      body_(&function_->getEntryBlock()),
      pointers_(std::move(pointers)) {
  for (size_t i = 0; i < pointers_.size(); ++i) {
    llvm::Value* slot = body_.CreateConstGEP1_64(body_.getPtrTy(), function_->getArg(0), i);
    loaded_.push_back(body_.CreateLoad(body_.getPtrTy(), slot));
  }
}

ParallelTask::ParallelTask(llvm::IRBuilder<>* builder, llvm::Function* task, std::vector<llvm::Value*> pointers)
    : outer_(*builder), function_(task), is_new_(false), body_(task->getContext()), pointers_(std::move(pointers)) {}

llvm::Value* ParallelTask::begin() const { return function_->getArg(1); }
llvm::Value* ParallelTask::end() const { return function_->getArg(2); }

llvm::Value* ParallelTask::ClosureSlot(size_t index) {
  return body_.CreateConstGEP1_64(body_.getPtrTy(), function_->getArg(0), index);
}

void ParallelTask::Call(llvm::Value* context, int64_t count, double nanoseconds_per_iteration, int64_t min_grain) {
  if (is_new_) body_.CreateRetVoid();
  llvm::BasicBlock& entry = outer_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::Value* table = at_entry.CreateAlloca(llvm::ArrayType::get(outer_.getPtrTy(), pointers_.size()));
  for (size_t i = 0; i < pointers_.size(); ++i) {
    llvm::Value* pointer = pointers_[i] != nullptr
                               ? pointers_[i]
                               : llvm::ConstantPointerNull::get(outer_.getPtrTy());
    outer_.CreateStore(pointer, outer_.CreateConstGEP1_64(outer_.getPtrTy(), table, i));
  }
  const double nanoseconds = nanoseconds_per_iteration * static_cast<double>(count);
  const double range = kRangeNanoseconds / std::max(nanoseconds_per_iteration, 1e-3);
  const int64_t grain = std::max(min_grain, static_cast<int64_t>(std::min(range, 1e15)));
  if (nanoseconds >= kParallelNanoseconds && count > grain) {
    llvm::Type* pointer = outer_.getPtrTy();
    llvm::Type* i64 = outer_.getInt64Ty();
    llvm::FunctionCallee parallel_for = function_->getParent()->getOrInsertFunction(
        kParallelForName,
        llvm::FunctionType::get(outer_.getVoidTy(), {pointer, pointer, pointer, i64, i64}, /*isVarArg=*/false));
    outer_.CreateCall(parallel_for, {context, function_, table, outer_.getInt64(count), outer_.getInt64(grain)});
  } else {
    outer_.CreateCall(function_, {table, outer_.getInt64(0), outer_.getInt64(count)});
  }
}

}  // namespace kiln::cpu
