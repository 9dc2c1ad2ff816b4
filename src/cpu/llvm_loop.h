// Counted loops, branches and stack slots for emitters.
#ifndef KILN_CPU_LLVM_LOOP_H_
#define KILN_CPU_LLVM_LOOP_H_

#include <functional>

#include "llvm/ADT/Twine.h"
#include "llvm/IR/IRBuilder.h"

namespace kiln::cpu {

// for (i64 i = begin; i < end; i += step) body(i). The builder continues behind the loop. A loop that constants show to
// run not at all or once leaves no branches behind.
void EmitLoop(llvm::IRBuilder<>& b, llvm::Value* begin, llvm::Value* end, llvm::Value* step, const llvm::Twine& name,
              const std::function<void(llvm::Value*)>& body);
inline void EmitLoop(llvm::IRBuilder<>& b, llvm::Value* begin, llvm::Value* end, int64_t step, const llvm::Twine& name,
                     const std::function<void(llvm::Value*)>& body) {
  EmitLoop(b, begin, end, b.getInt64(static_cast<uint64_t>(step)), name, body);
}

// if (condition) body(). A constant condition leaves no branch behind.
void EmitIf(llvm::IRBuilder<>& b, llvm::Value* condition, const llvm::Twine& name, const std::function<void()>& body);

// Room for `count` (null: one) of a type, in the function's entry block: what stands in a loop must not take more of
// the stack each time. `alignment` 0: the type's own.
llvm::AllocaInst* StackSlot(llvm::IRBuilder<>& b, llvm::Type* type, uint64_t alignment = 0,
                            llvm::Value* count = nullptr);

}  // namespace kiln::cpu

#endif  // KILN_CPU_LLVM_LOOP_H_
