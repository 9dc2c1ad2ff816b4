// The generated part of a chain over rows: its description, its kernels, and the call.
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "src/base/status.h"
#include "src/cpu/computation_emitter.h"
#include "src/cpu/parallel_emitter.h"
#include "src/cpu/row_chain.h"
#include "src/cpu/runtime_call.h"
#include "src/kernel/lower_nest.h"

namespace kiln::cpu {
namespace {

// A RowChainKernel.
absl::StatusOr<llvm::Function*> EmitChainKernel(const RowChainPlan::Step& step, const kernel::TargetInfo& target,
                                                const std::string& name, llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::Type *pointer = b.getPtrTy(), *i64 = b.getInt64Ty();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, i64, i64}, /*isVarArg=*/false);
  llvm::Function* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function));
  std::vector<llvm::Value*> arrays;
  for (size_t i = 0; i < step.pointers.size(); ++i) {
    arrays.push_back(b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, function->getArg(0), i)));
  }
  for (size_t i = 0; i < step.schedules.size(); ++i) {
    KILN_RETURN_IF_ERROR(kernel::LowerNest(&b, step.kernel, step.kernel.nests[i], step.schedules[i], target, arrays,
                                           function->getArg(1), function->getArg(2)));
  }
  b.CreateRetVoid();
  return function;
}

// Whether a step has no code of its own.
bool IsOneCall(const RowChainPlan::Step& step) {
  return step.product != nullptr &&
         cpu::IsOneCall(step.product->spec, step.product->plan, step.product->plan.phases.size() - 1);
}

// `function` as `program` knows it, another module perhaps; null stays null.
llvm::Function* Export(llvm::Function* function, llvm::Module& program) {
  if (function == nullptr || function->getParent() == &program) return function;
  // A name that no function of the runtime has, and none in either module.
  std::string name = "step." + function->getName().str();
  while (program.getNamedValue(name) != nullptr || function->getParent()->getNamedValue(name) != nullptr) name += '.';
  function->setName(name);
  auto* type = function->getFunctionType();
  std::vector<llvm::Type*> parameters;
  for (llvm::Type* parameter : type->params()) {
    parameters.push_back(parameter->isPointerTy()
                             ? static_cast<llvm::Type*>(llvm::PointerType::getUnqual(program.getContext()))
                             : llvm::Type::getInt64Ty(program.getContext()));
  }
  auto* here = llvm::FunctionType::get(llvm::Type::getVoidTy(program.getContext()), parameters, /*isVarArg=*/false);
  auto* declaration = llvm::Function::Create(here, llvm::GlobalValue::ExternalLinkage, name, program);
  for (llvm::Function* one : {function, declaration}) {
    one->setLinkage(llvm::GlobalValue::ExternalLinkage);
    // All modules are linked into one piece of memory.
    one->setVisibility(llvm::GlobalValue::HiddenVisibility);
    one->setDSOLocal(true);
  }
  return declaration;
}

}  // namespace

absl::Status ComputationEmitter::EmitRowChain(const hlo::Instruction& instruction, const RowChainPlan& chain) {
  std::vector<llvm::Value*> closure = OperandPointers(instruction);
  for (llvm::Value* pointer : ResultPointers(instruction)) closure.push_back(pointer);
  for (const hlo::Literal* constant : chain.constants) closure.push_back(ConstantPointer(*constant));
  const double nanoseconds = chain.nanoseconds / static_cast<double>(chain.tasks);
  llvm::Function*& shared = tasks_[{&chain, 0}];
  if (shared != nullptr) {
    ParallelTask(&b_, shared, closure).Call(function_->getArg(0), chain.tasks, nanoseconds, chain.least_tasks);
  } else {
    std::vector<std::vector<int64_t>> descriptions;
    std::vector<llvm::Value*> functions;
    for (const RowChainPlan::Step& step : chain.steps) {
      const std::string name = absl::StrCat(instruction.name(), ".", step.name);
      llvm::Module& module = IsOneCall(step) ? output_ : code_.ForKernel();
      if (step.product == nullptr) {
        KILN_ASSIGN_OR_RETURN(llvm::Function * kernel, EmitChainKernel(step, program_.target_, name, module));
        functions.insert(functions.end(), {Export(kernel, output_), nullptr, nullptr});
        descriptions.emplace_back();
        continue;
      }
      KILN_ASSIGN_OR_RETURN(GemmBlocksParts parts,
                            EmitGemmBlocks(step.product->spec, step.product->plan, name, module));
      functions.insert(functions.end(), {Export(parts.finish, output_), Export(parts.make_lhs, output_),
                                         Export(parts.make_rhs, output_)});
      descriptions.push_back(std::move(parts.description));
    }
    ParallelTask task(&b_, absl::StrCat(instruction.name(), ".task"), closure);
    llvm::IRBuilder<>& body = task.body();
    CallRuntime(body, kRowChainName,
                {ConstantStruct(body, chain.Describe(descriptions)), task.ClosureSlot(0), PointerTable(body, functions),
                 task.begin(), task.end()});
    task.Call(function_->getArg(0), chain.tasks, nanoseconds, chain.least_tasks);
    shared = task.function();
  }
  program_.functions_[&instruction].push_back(shared->getName().str());
  return absl::OkStatus();
}

}  // namespace kiln::cpu
