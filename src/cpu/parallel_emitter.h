// A task function under construction, and the call that divides its work over threads.
#ifndef KILN_CPU_PARALLEL_EMITTER_H_
#define KILN_CPU_PARALLEL_EMITTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "llvm/IR/IRBuilder.h"

namespace kiln::cpu {

// Emit the work of iterations [begin(), end()) with body(), then Call(). Values of the surrounding function reach the
// task through the closure only.
class ParallelTask {
 public:
  // `builder` is where the call will stand; `pointers` become the closure. The task goes into `module`, in whose
  // context body() then makes its values, or, when that is null, to where the builder is.
  ParallelTask(llvm::IRBuilder<>* builder, const std::string& name, std::vector<llvm::Value*> pointers,
               llvm::Module* module = nullptr);
  // Another call of a task that was ended with Call() before, over other pointers: only Call() is left to do.
  ParallelTask(llvm::IRBuilder<>* builder, llvm::Function* task, std::vector<llvm::Value*> pointers);

  // As the builder's module knows it.
  llvm::Function* function() const { return function_; }
  llvm::IRBuilder<>& body() { return body_; }
  llvm::Value* begin() const;
  llvm::Value* end() const;
  // Pointer number `index`, inside the task.
  llvm::Value* closure(size_t index) const { return loaded_[index]; }

  // Where that pointer stands, inside the task: those from it on are an array of pointers.
  llvm::Value* ClosureSlot(size_t index);

  // Lets the processor take subnormal numbers for zeros from here to the end of the task.
  void FlushSubnormals();

  // Ends the task and emits the call over [0, count); small work stays on the calling thread. `context` is the
  // ProgramContext. A range has at least `min_grain` iterations.
  void Call(llvm::Value* context, int64_t count, double nanoseconds_per_iteration, int64_t min_grain = 1);
  // Ends the task and emits the call over [begin, end), on the calling thread.
  void CallOver(llvm::Value* begin, llvm::Value* end);

 private:
  // Behind what the task does.
  void End();

  llvm::IRBuilder<>& outer_;
  llvm::Function* definition_;  // null for another call
  llvm::Function* function_;
  llvm::IRBuilder<> body_;
  std::vector<llvm::Value*> pointers_;
  std::vector<llvm::Value*> loaded_;
  llvm::Value* float_environment_ = nullptr;  // before FlushSubnormals()
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_PARALLEL_EMITTER_H_
