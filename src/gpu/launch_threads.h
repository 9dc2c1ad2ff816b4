// Threads, warps and blocks of an NVIDIA GPU as a nest's threads.
#ifndef KILN_GPU_LAUNCH_THREADS_H_
#define KILN_GPU_LAUNCH_THREADS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "llvm/IR/IRBuilder.h"
#include "src/gpu/schedule.h"
#include "src/kernel/thread_mapping.h"

namespace kiln::gpu {

// For one kernel function: made with the builder in its entry block, where it puts the thread's numbers.
class LaunchThreads : public kernel::ThreadMapping {
 public:
  LaunchThreads(llvm::IRBuilder<>* builder, const LaunchSchedule& schedule);

  kernel::LoopShare OverThreads() override;
  kernel::LoopShare OverGroups() override;
  kernel::LoopShare OverGroup() override;
  kernel::LoopShare OverBlocks() override;
  llvm::Value* IsFirstOfGroup() override;
  absl::StatusOr<std::vector<kernel::Value>> CombineOverGroup(std::vector<kernel::Value> values, bool commutative,
                                                              const kernel::CombineValues& combine) override;
  llvm::Value* ThreadInBlock() override { return thread_; }
  int block_threads() const override { return block_threads_; }
  llvm::Value* SharedMemory(llvm::Type* type, const std::string& name) override;
  void Barrier() override;

 private:
  llvm::Value* ThreadInGroup();
  // The values of the thread whose number differs in the bit `distance` of the warp's lane number.
  std::vector<kernel::Value> Exchange(const std::vector<kernel::Value>& values, int distance);
  llvm::Value* ExchangePart(llvm::Value* part, int distance);
  absl::StatusOr<std::vector<kernel::Value>> Butterfly(std::vector<kernel::Value> values, int lanes, bool commutative,
                                                       const kernel::CombineValues& combine);
  // An array of `threads` elements in shared memory for every part of the values.
  struct Slot {
    kernel::Value* owner;
    llvm::Value** part;
    llvm::Type* type;
    llvm::Value* memory;
  };
  std::vector<Slot> SlotsFor(std::vector<kernel::Value>* values, int threads);
  void Write(const std::vector<Slot>& slots, llvm::Value* index);
  // Into the slots' owners.
  void Read(const std::vector<Slot>& slots, llvm::Value* index);
  absl::StatusOr<std::vector<kernel::Value>> CombineColumns(std::vector<kernel::Value> values,
                                                            const kernel::CombineValues& combine);
  // Combined values of each warp to all threads: thread l gets those of warp l mod `warps`.
  std::vector<kernel::Value> ShareOverWarps(std::vector<kernel::Value> values, int warps);

  llvm::IRBuilder<>& b_;
  const int group_threads_;
  const int columns_;
  const int block_threads_;
  llvm::Value* thread_;  // i64, in the block
  llvm::Value* block_;
  llvm::Value* blocks_;
  // Exchange memory by type and number of the value, used again by every reduction.
  absl::flat_hash_map<std::pair<llvm::Type*, int>, llvm::Value*> exchange_;
};

}  // namespace kiln::gpu

#endif  // KILN_GPU_LAUNCH_THREADS_H_
