// The processor's handling of subnormals in generated code, as base/float_environment.h is for compiled code.
#ifndef KILN_CPU_FLOAT_ENVIRONMENT_EMITTER_H_
#define KILN_CPU_FLOAT_ENVIRONMENT_EMITTER_H_

#include "llvm/IR/IRBuilder.h"

namespace kiln::cpu {

// Makes the processor take subnormal numbers for zeros; gives what it did before, for RestoreFloatEnvironment().
// Arithmetic that the code generator moves past either is done with subnormals or without, as it comes.
llvm::Value* FlushSubnormals(llvm::IRBuilder<>& builder);
void RestoreFloatEnvironment(llvm::IRBuilder<>& builder, llvm::Value* before);

}  // namespace kiln::cpu

#endif  // KILN_CPU_FLOAT_ENVIRONMENT_EMITTER_H_
