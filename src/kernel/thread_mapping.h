// How the code of a nest, which runs on many threads at once, shares the nest's iterations among them.
#ifndef KILN_KERNEL_THREAD_MAPPING_H_
#define KILN_KERNEL_THREAD_MAPPING_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/IR/IRBuilder.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::kernel {

// Iterations `first`, `first + step`, ... of a loop belong to the running thread; i64.
struct LoopShare {
  llvm::Value* first = nullptr;
  llvm::Value* step = nullptr;
  // So many neighbouring iterations, from a multiple of it on, are run at the same time by threads that wait for each
  // other. Where the loop's end cuts them short, the threads past it go along on the last iteration and store nothing.
  int64_t together = 1;
};

// Combines two sets of scalars, one value per accumulator.
using CombineValues =
    std::function<absl::StatusOr<std::vector<Value>>(const std::vector<Value>& a, const std::vector<Value>& b)>;

// A target gives one to LowerNest for a nest whose code every thread of a launch runs. Threads form groups of equal
// size (one thread, a warp, a block), groups form blocks, which share memory. All functions emit at the builder's
// position.
class ThreadMapping {
 public:
  virtual ~ThreadMapping() = default;

  // The share of the running thread where all threads divide a loop, where all groups do, where the threads of a group
  // do, and where all blocks do.
  virtual LoopShare OverThreads() = 0;
  virtual LoopShare OverGroups() = 0;
  virtual LoopShare OverGroup() = 0;
  virtual LoopShare OverBlocks() = 0;

  // i1: the running thread is the first of its group.
  virtual llvm::Value* IsFirstOfGroup() = 0;
  // The values of all threads of the group combined, in every one of them. Reached by all threads of the group. When
  // not `commutative`, values of lower threads come first.
  virtual absl::StatusOr<std::vector<Value>> CombineOverGroup(std::vector<Value> values, bool commutative,
                                                              const CombineValues& combine) = 0;

  // Number of the running thread in its block, i64, and how many threads a block has.
  virtual llvm::Value* ThreadInBlock() = 0;
  virtual int block_threads() const = 0;
  // Pointer to memory of this type that the threads of a block share.
  virtual llvm::Value* SharedMemory(llvm::Type* type, const std::string& name) = 0;
  // Waits until all threads of the block are here and see each other's writes.
  virtual void Barrier() = 0;
};

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_THREAD_MAPPING_H_
