#include "src/cpu/float_environment_emitter.h"

#include <cstdint>

#include "llvm/IR/Function.h"
#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "src/base/float_environment.h"

namespace kiln::cpu {

// Generated code runs on the processor that Kiln itself was compiled for.
#if defined(__x86_64__)

llvm::Value* FlushSubnormals(llvm::IRBuilder<>& builder) {
  llvm::Function* function = builder.GetInsertBlock()->getParent();
  llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
  llvm::Value* before = entry.CreateAlloca(entry.getInt32Ty());
  llvm::Value* changed = entry.CreateAlloca(entry.getInt32Ty());
  builder.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {}, {before});
  builder.CreateStore(builder.CreateOr(builder.CreateLoad(builder.getInt32Ty(), before), kFlushSubnormals), changed);
  builder.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {changed});
  return before;
}

void RestoreFloatEnvironment(llvm::IRBuilder<>& builder, llvm::Value* before) {
  builder.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {before});
}

#elif defined(__aarch64__)

llvm::Value* FlushSubnormals(llvm::IRBuilder<>& builder) {
  llvm::Value* before = builder.CreateIntrinsic(llvm::Intrinsic::aarch64_get_fpcr, {}, {});
  builder.CreateIntrinsic(llvm::Intrinsic::aarch64_set_fpcr, {}, {builder.CreateOr(before, kFlushSubnormals)});
  return before;
}

void RestoreFloatEnvironment(llvm::IRBuilder<>& builder, llvm::Value* before) {
  builder.CreateIntrinsic(llvm::Intrinsic::aarch64_set_fpcr, {}, {before});
}

#endif

}  // namespace kiln::cpu
