// Loops over blocks as tasks: each block goes through all rounds.
#include <utility>

#include "absl/strings/str_cat.h"
#include "llvm/IR/Function.h"
#include "src/base/status.h"
#include "src/cpu/block_loop.h"
#include "src/cpu/computation_emitter.h"
#include "src/cpu/llvm_loop.h"
#include "src/cpu/parallel_emitter.h"

namespace kiln::cpu {

absl::Status ComputationEmitter::EmitBlockLoop(const hlo::Instruction& loop, const BlockLoop& plan,
                                               bool flushes_subnormals) {
  const auto bytes = [&](int number) { return static_cast<uint64_t>(buffers_.buffer(number).bytes); };
  const auto copy = [&](llvm::Value* to, llvm::Value* from, int number) {
    b_.CreateMemCpy(to, llvm::Align(1), from, llvm::Align(1), bytes(number));
  };
  // The arrays; then, of each piece of state, where it is in the end, and what it is before the first round: a block
  // that is done must not change what others begin with.
  std::vector<llvm::Value*> closure;
  for (int number : plan.shared) closure.push_back(BufferPointer(number));
  for (int number : plan.state) {
    llvm::Value* initial = RoomySlot(buffers_.buffer(number).bytes);
    copy(initial, BufferPointer(number), number);
    closure.push_back(BufferPointer(number));
    closure.push_back(initial);
  }
  // All blocks turn alike: where arrays are in the end the first one says.
  const size_t first_rotated = closure.size();
  std::vector<llvm::Value*> rotated;
  for (const analysis::BufferRotation& rotation : buffers_.RotationsOf(&loop)) {
    for (size_t i = 0; i < rotation.state.size() + (rotation.spare_turns ? 1 : 0); ++i) {
      rotated.push_back(StackSlot(b_, b_.getPtrTy()));
    }
  }
  closure.insert(closure.end(), rotated.begin(), rotated.end());
  ParallelTask task(&b_, absl::StrCat(loop.name(), ".blocks"), std::move(closure));
  if (flushes_subnormals) task.FlushSubnormals();
  llvm::BasicBlock* rounds = llvm::BasicBlock::Create(output_.getContext(), "rounds", task.function());
  task.body().CreateBr(rounds);

  // From here on the emitter is inside the task.
  llvm::Function* const outer_function = std::exchange(function_, task.function());
  llvm::BasicBlock* const outer_block = b_.GetInsertBlock();
  llvm::Value* const outer_frame = std::exchange(frame_, nullptr);
  std::vector<llvm::Value*> outer_pointers(pointers_.size(), nullptr);
  outer_pointers.swap(pointers_);
  const int outer_loops = std::exchange(loops_, 0);
  const bool outer_flushes = std::exchange(flushes_subnormals_, flushes_subnormals_ || flushes_subnormals);
  block_loop_ = &plan;
  b_.SetInsertPoint(rounds);
  for (size_t i = 0; i < plan.shared.size(); ++i) {
    pointers_[static_cast<size_t>(plan.shared[i])] = task.closure(i);
  }
  for (const std::vector<int>* own : {&plan.state, &plan.temporaries}) {
    for (int number : *own) pointers_[static_cast<size_t>(number)] = RoomySlot(buffers_.buffer(number).bytes);
  }
  absl::Status status;
  EmitLoop(b_, task.begin(), task.end(), plan.blocks_together, "block", [&](llvm::Value* begin) {
    block_begin_ = begin;
    block_end_ = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                          b_.CreateAdd(begin, b_.getInt64(static_cast<uint64_t>(plan.blocks_together))),
                                          task.end());
    const auto slot = [&](size_t i, size_t which) { return task.closure(plan.shared.size() + 2 * i + which); };
    for (size_t i = 0; i < plan.state.size(); ++i) {
      copy(BufferPointer(plan.state[i]), slot(i, 1), plan.state[i]);
    }
    const absl::StatusOr<std::vector<llvm::Value*>> now = EmitRounds(loop);
    status = now.status();
    if (!status.ok()) return;
    EmitIf(b_, b_.CreateICmpEQ(begin, b_.getInt64(0)), "first", [&] {
      for (size_t i = 0; i < plan.state.size(); ++i) copy(slot(i, 0), BufferPointer(plan.state[i]), plan.state[i]);
      for (size_t i = 0; i < now->size(); ++i) b_.CreateStore((*now)[i], task.closure(first_rotated + i));
    });
  });
  task.body().SetInsertPoint(b_.GetInsertBlock());
  block_loop_ = nullptr;
  flushes_subnormals_ = outer_flushes;
  loops_ = outer_loops;
  pointers_.swap(outer_pointers);
  frame_ = outer_frame;
  function_ = outer_function;
  b_.SetInsertPoint(outer_block);
  KILN_RETURN_IF_ERROR(status);
  task.Call(function_->getArg(0), plan.blocks, plan.block_nanoseconds, plan.blocks_together);
  for (llvm::Value*& pointer : rotated) pointer = b_.CreateLoad(b_.getPtrTy(), pointer);
  PutBack(loop, rotated);
  return absl::OkStatus();
}

}  // namespace kiln::cpu
