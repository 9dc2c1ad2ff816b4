#include "src/cpu/runtime_call.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace kiln::cpu {

llvm::Constant* ConstantStruct(llvm::IRBuilder<>& b, const std::vector<int64_t>& numbers, llvm::Constant* pointer) {
  std::vector<llvm::Constant*> fields;
  for (int64_t number : numbers) fields.push_back(b.getInt64(static_cast<uint64_t>(number)));
  if (pointer != nullptr) fields.push_back(pointer);
  llvm::Constant* value = llvm::ConstantStruct::getAnon(fields);
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  return new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                  value);
}

llvm::Value* PointerTable(llvm::IRBuilder<>& b, const OpArrays& arrays) {
  std::vector<llvm::Value*> pointers = arrays.operands;
  pointers.insert(pointers.end(), arrays.results.begin(), arrays.results.end());
  // In the entry block: an op within a loop must not take more of the stack each time.
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::Value* table = at_entry.CreateAlloca(llvm::ArrayType::get(b.getPtrTy(), pointers.size()));
  for (size_t i = 0; i < pointers.size(); ++i) {
    b.CreateStore(pointers[i], b.CreateConstGEP1_64(b.getPtrTy(), table, i));
  }
  return table;
}

void CallRuntime(llvm::IRBuilder<>& b, const char* name, std::vector<llvm::Value*> arguments) {
  for (llvm::Value*& argument : arguments) {
    if (argument == nullptr) argument = llvm::ConstantPointerNull::get(b.getPtrTy());
  }
  const std::vector<llvm::Type*> types(arguments.size(), b.getPtrTy());
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  b.CreateCall(module.getOrInsertFunction(name, llvm::FunctionType::get(b.getVoidTy(), types, /*isVarArg=*/false)),
               arguments);
}

}  // namespace kiln::cpu
