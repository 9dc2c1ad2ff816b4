// The LLVM modules of one program: its kernels are spread over several, which compile side by side.
#ifndef KILN_CPU_CODE_SHARDS_H_
#define KILN_CPU_CODE_SHARDS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace kiln::cpu {

// Compiled functions that are the same in all programs, by name, for as long as the process lives. Thread-safe.
class SharedObjects {
 public:
  // Null when there is none.
  std::shared_ptr<const std::string> Find(const std::string& name) const;
  void Add(const std::string& name, const std::string& object);

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<const std::string>> objects_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A module with the context that it lives in, so that a thread of its own may compile it.
struct CodeShard {
  CodeShard() = default;
  CodeShard(std::unique_ptr<llvm::LLVMContext> its_context, std::unique_ptr<llvm::Module> its_module)
      : context(std::move(its_context)), module(std::move(its_module)) {}

  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::string shared_name;                    // of the one function in it that other programs may have as well
  std::shared_ptr<const std::string> object;  // instead of a module, when it has been compiled before
};

// Not thread-safe.
class CodeShards {
 public:
  // `data_layout` and `triple` are the target's; at most `limit` modules, at least one.
  // `shared` outlives this; without it there is one module for all, as people may want to read it.
  CodeShards(std::string name, std::string triple, std::string data_layout, int limit, const SharedObjects* shared);

  // The first module, with the program function in it.
  llvm::Module& program() { return *shards_[0].shard.module; }
  // Where the next kernel goes: the module with the least code, or a new one when even that has enough to be worth a
  // thread's while.
  llvm::Module& ForKernel();
  // Where a function goes that any program with a function of this name has just so; null when it is compiled already.
  llvm::Module* ForShared(const std::string& name);
  // All modules, the program's first.
  std::vector<CodeShard> Take() &&;

 private:
  struct Counted {
    CodeShard shard;
    llvm::Function* last = nullptr;  // functions up to here are in the count
    int64_t instructions = 0;
  };
  CodeShard NewShard() const;
  void Add();

  const std::string name_, triple_, data_layout_;
  const size_t limit_;
  const SharedObjects* const shared_;
  std::vector<Counted> shards_;
  std::vector<CodeShard> shared_shards_;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_CODE_SHARDS_H_
