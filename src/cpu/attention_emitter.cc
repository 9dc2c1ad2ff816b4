// The generated part of attention in blocks of rows: its description, the operation on rows, and the call.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "src/base/status.h"
#include "src/cpu/attention_step.h"
#include "src/cpu/computation_emitter.h"
#include "src/cpu/parallel_emitter.h"
#include "src/cpu/runtime_call.h"
#include "src/kernel/lower_nest.h"

namespace kiln::cpu {
namespace {

// An AttentionRows, whose `extra` has an array for each of the kernel's parameters.
absl::StatusOr<llvm::Function*> EmitRows(const AttentionStep& step, const kernel::TargetInfo& target,
                                         const std::string& name, llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::Type *pointer = b.getPtrTy(), *i64 = b.getInt64Ty();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer, i64, i64}, /*isVarArg=*/false);
  llvm::Function* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function));
  const auto output = static_cast<int64_t>(step.row_operands.size());
  std::vector<llvm::Value*> arrays;
  for (int64_t i = 0; i < static_cast<int64_t>(step.rows.parameters.size()); ++i) {
    if (i > output && !step.rows.parameters[i].constant.has_value()) break;  // local ones
    if (i == step.scores || i == output) {
      arrays.push_back(function->getArg(i == output ? 1 : 0));
    } else {
      arrays.push_back(b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, function->getArg(2), i)));
    }
  }
  KILN_RETURN_IF_ERROR(kernel::LowerNest(&b, step.rows, step.rows.nests[0], step.schedule, target, arrays,
                                         function->getArg(3), function->getArg(4)));
  b.CreateRetVoid();
  return function;
}

}  // namespace

absl::Status ComputationEmitter::EmitAttention(const hlo::Instruction& instruction, const AttentionStep& step) {
  const std::vector<llvm::Value*> operands = OperandPointers(instruction);
  std::vector<llvm::Value*> closure = {operands[step.query], operands[step.key], operands[step.value],
                                       PointerTo(&instruction, 0)};
  // The arrays of the operation on rows, but for scores and weights.
  const size_t extra = closure.size();
  for (int64_t operand : step.row_operands) closure.push_back(operands[operand < 0 ? step.query : operand]);
  closure.push_back(closure[3]);
  for (size_t i = closure.size() - extra; i < step.rows.parameters.size(); ++i) {
    if (!step.rows.parameters[i].constant.has_value()) break;
    closure.push_back(ConstantPointer(*step.rows.parameters[i].constant));
  }
  const double nanoseconds = step.nanoseconds / static_cast<double>(step.tasks);
  llvm::Function*& shared = tasks_[{&step, 0}];
  if (shared != nullptr) {
    ParallelTask(&b_, shared, closure).Call(function_->getArg(0), step.tasks, nanoseconds);
  } else {
    llvm::Module& module = code_.ForKernel();
    const std::string name(instruction.name());
    KILN_ASSIGN_OR_RETURN(const GemmBlocksParts first,
                          EmitGemmBlocks(step.first, step.first_plan, absl::StrCat(name, ".scores"), module));
    KILN_ASSIGN_OR_RETURN(const GemmBlocksParts second,
                          EmitGemmBlocks(step.second, step.second_plan, absl::StrCat(name, ".out"), module));
    KILN_ASSIGN_OR_RETURN(llvm::Function * rows, EmitRows(step, program_.target_, absl::StrCat(name, ".rows"), module));
    std::vector<int64_t> words(sizeof(AttentionBlocks) / sizeof(int64_t));
    std::memcpy(words.data(), &step.blocks, sizeof(AttentionBlocks));
    words.insert(words.end(), first.description.begin(), first.description.end());
    words.insert(words.end(), second.description.begin(), second.description.end());
    ParallelTask task(&b_, absl::StrCat(name, ".task"), closure, &module);
    llvm::IRBuilder<>& body = task.body();
    std::vector<llvm::Value*> arguments = {ConstantStruct(body, words)};
    for (size_t i = 0; i < extra; ++i) {
      llvm::Value* array = task.closure(i);
      arguments.push_back(i < 3 ? body.CreateConstGEP1_64(body.getInt8Ty(), array, step.offsets[i]) : array);
    }
    for (llvm::Value* value : {task.ClosureSlot(extra), task.begin(), task.end(), static_cast<llvm::Value*>(rows),
                               static_cast<llvm::Value*>(first.finish), static_cast<llvm::Value*>(second.finish)}) {
      arguments.push_back(value);
    }
    CallRuntime(body, kAttentionBlocksName, std::move(arguments));
    task.Call(function_->getArg(0), step.tasks, nanoseconds);
    shared = task.function();
  }
  program_.functions_[&instruction].push_back(shared->getName().str());
  return absl::OkStatus();
}

}  // namespace kiln::cpu
