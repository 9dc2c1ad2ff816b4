#include "src/cpu/runtime_call.h"

#include <algorithm>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "src/cpu/llvm_loop.h"

namespace kiln::cpu {
namespace {

llvm::Value* OrNull(llvm::IRBuilder<>& b, llvm::Value* pointer) {
  return pointer != nullptr ? pointer : llvm::ConstantPointerNull::get(b.getPtrTy());
}

}  // namespace

llvm::Constant* ConstantStruct(llvm::IRBuilder<>& b, const std::vector<int64_t>& numbers, llvm::Constant* pointer) {
  std::vector<llvm::Constant*> fields;
  for (int64_t number : numbers) fields.push_back(b.getInt64(static_cast<uint64_t>(number)));
  if (pointer != nullptr) fields.push_back(pointer);
  llvm::Constant* value = llvm::ConstantStruct::getAnon(fields);
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  return new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                  value);
}

llvm::Value* PointerTable(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& pointers) {
  llvm::Value* table = StackSlot(b, llvm::ArrayType::get(b.getPtrTy(), std::max<size_t>(pointers.size(), 1)));
  for (size_t i = 0; i < pointers.size(); ++i) {
    b.CreateStore(OrNull(b, pointers[i]), b.CreateConstGEP1_64(b.getPtrTy(), table, i));
  }
  return table;
}

llvm::Value* CallRuntime(llvm::IRBuilder<>& b, const char* name, std::vector<llvm::Value*> arguments,
                         llvm::Type* result) {
  std::vector<llvm::Type*> types;
  for (llvm::Value*& argument : arguments) {
    argument = OrNull(b, argument);
    types.push_back(argument->getType());
  }
  auto* type = llvm::FunctionType::get(result == nullptr ? b.getVoidTy() : result, types, /*isVarArg=*/false);
  return b.CreateCall(b.GetInsertBlock()->getModule()->getOrInsertFunction(name, type), arguments);
}

}  // namespace kiln::cpu
