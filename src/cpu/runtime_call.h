// Calls from generated code to functions of the runtime.
#ifndef KILN_CPU_RUNTIME_CALL_H_
#define KILN_CPU_RUNTIME_CALL_H_

#include <cstdint>
#include <vector>

#include "llvm/IR/IRBuilder.h"

namespace kiln::cpu {

// The address of a constant of 64-bit integers, and one pointer behind them if there is one.
llvm::Constant* ConstantStruct(llvm::IRBuilder<>& b, const std::vector<int64_t>& numbers,
                               llvm::Constant* pointer = nullptr);

// The address of an array of them on the stack. Null stands for a null pointer.
llvm::Value* PointerTable(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& pointers);

// Calls `name`, which takes these arguments. Null stands for a null pointer. Without `result`, nothing is returned.
llvm::Value* CallRuntime(llvm::IRBuilder<>& b, const char* name, std::vector<llvm::Value*> arguments,
                         llvm::Type* result = nullptr);

}  // namespace kiln::cpu

#endif  // KILN_CPU_RUNTIME_CALL_H_
