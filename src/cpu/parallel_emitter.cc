#include "src/cpu/parallel_emitter.h"

#include <algorithm>
#include <utility>

#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "src/base/cpu_tuning.h"
#include "src/cpu/float_environment_emitter.h"
#include "src/cpu/program_abi.h"
#include "src/cpu/runtime_call.h"

namespace kiln::cpu {
namespace {

llvm::Function* NewTask(llvm::Module* module, const std::string& name) {
  llvm::LLVMContext& context = module->getContext();
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  llvm::FunctionType* type = llvm::FunctionType::get(
      llvm::Type::getVoidTy(context), {llvm::PointerType::getUnqual(context), i64, i64}, /*isVarArg=*/false);
  llvm::Function* task = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, *module);
  task->addFnAttr(llvm::Attribute::NoInline);
  return task;
}

// A declaration of `task` in `module`, which is another one than its own.
llvm::Function* Declare(llvm::Function* task, llvm::Module* module) {
  // A name that no function of the runtime has, and none in either module.
  std::string name = "task." + task->getName().str();
  while (module->getNamedValue(name) != nullptr || task->getParent()->getNamedValue(name) != nullptr) name += '.';
  task->setName(name);
  llvm::Function* declaration = NewTask(module, name);
  for (llvm::Function* function : {task, declaration}) {
    function->setLinkage(llvm::GlobalValue::ExternalLinkage);
    // All modules are linked into one piece of memory.
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    function->setDSOLocal(true);
  }
  return declaration;
}

}  // namespace

ParallelTask::ParallelTask(llvm::IRBuilder<>* builder, const std::string& name, std::vector<llvm::Value*> pointers,
                           llvm::Module* module)
    : outer_(*builder),
      definition_(NewTask(module != nullptr ? module : builder->GetInsertBlock()->getModule(), name)),
      function_(definition_),
      body_(llvm::BasicBlock::Create(definition_->getContext(), "entry", definition_)),
      pointers_(std::move(pointers)) {
  llvm::Module* here = builder->GetInsertBlock()->getModule();
  if (definition_->getParent() != here) function_ = Declare(definition_, here);
  for (size_t i = 0; i < pointers_.size(); ++i) {
    llvm::Value* slot = body_.CreateConstGEP1_64(body_.getPtrTy(), definition_->getArg(0), i);
    loaded_.push_back(body_.CreateLoad(body_.getPtrTy(), slot));
  }
}

ParallelTask::ParallelTask(llvm::IRBuilder<>* builder, llvm::Function* task, std::vector<llvm::Value*> pointers)
    : outer_(*builder),
      definition_(nullptr),
      function_(task),
      body_(task->getContext()),
      pointers_(std::move(pointers)) {}

llvm::Value* ParallelTask::begin() const { return definition_->getArg(1); }
llvm::Value* ParallelTask::end() const { return definition_->getArg(2); }

llvm::Value* ParallelTask::ClosureSlot(size_t index) {
  return body_.CreateConstGEP1_64(body_.getPtrTy(), definition_->getArg(0), index);
}

void ParallelTask::FlushSubnormals() { float_environment_ = kiln::cpu::FlushSubnormals(body_); }

void ParallelTask::End() {
  if (float_environment_ != nullptr) RestoreFloatEnvironment(body_, float_environment_);
  if (definition_ != nullptr) body_.CreateRetVoid();
}

void ParallelTask::CallOver(llvm::Value* begin, llvm::Value* end) {
  End();
  outer_.CreateCall(function_, {PointerTable(outer_, pointers_), begin, end});
}

void ParallelTask::Call(llvm::Value* context, int64_t count, double nanoseconds_per_iteration, int64_t min_grain) {
  End();
  llvm::Value* table = PointerTable(outer_, pointers_);
  const double nanoseconds = nanoseconds_per_iteration * static_cast<double>(count);
  const double range = Tuning().threads.range_nanoseconds / std::max(nanoseconds_per_iteration, 1e-3);
  const int64_t grain = std::max(min_grain, static_cast<int64_t>(std::min(range, 1e15)));
  if (nanoseconds >= Tuning().threads.share_nanoseconds && count > grain) {
    CallRuntime(outer_, kParallelForName,
                {context, function_, table, outer_.getInt64(count), outer_.getInt64(grain),
                 outer_.getInt64(static_cast<int64_t>(std::min(nanoseconds, 1e15)))});
  } else {
    outer_.CreateCall(function_, {table, outer_.getInt64(0), outer_.getInt64(count)});
  }
}

}  // namespace kiln::cpu
