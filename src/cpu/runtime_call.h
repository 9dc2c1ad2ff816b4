// Calls from generated code to functions of the runtime that work on whole arrays.
#ifndef KILN_CPU_RUNTIME_CALL_H_
#define KILN_CPU_RUNTIME_CALL_H_

#include <cstdint>
#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "src/cpu/op_emitters.h"

namespace kiln::cpu {

// The address of a constant of 64-bit integers, and one pointer behind them if there is one.
llvm::Constant* ConstantStruct(llvm::IRBuilder<>& b, const std::vector<int64_t>& numbers,
                               llvm::Constant* pointer = nullptr);

// The address of an array, on the stack, of the operands and then the results.
llvm::Value* PointerTable(llvm::IRBuilder<>& b, const OpArrays& arrays);

// Calls `name`, which takes pointers and returns nothing. Null stands for a null pointer.
void CallRuntime(llvm::IRBuilder<>& b, const char* name, std::vector<llvm::Value*> arguments);

}  // namespace kiln::cpu

#endif  // KILN_CPU_RUNTIME_CALL_H_
