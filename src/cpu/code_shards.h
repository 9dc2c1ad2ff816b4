// The LLVM modules of one program: its kernels are spread over several, which compile side by side.
#ifndef KILN_CPU_CODE_SHARDS_H_
#define KILN_CPU_CODE_SHARDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace kiln::cpu {

// A module with the context that it lives in, so that a thread of its own may compile it.
struct CodeShard {
  CodeShard() = default;
  CodeShard(std::unique_ptr<llvm::LLVMContext> its_context, std::unique_ptr<llvm::Module> its_module)
      : context(std::move(its_context)), module(std::move(its_module)) {}

  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

// Not thread-safe.
class CodeShards {
 public:
  // `data_layout` and `triple` are the target's; at most `limit` modules, at least one.
  CodeShards(std::string name, std::string triple, std::string data_layout, int limit);

  // The first module, with the program function in it.
  llvm::Module& program() { return *shards_[0].shard.module; }
  // Where the next kernel goes: the module with the least code, or a new one when even that has enough to be worth a
  // thread's while.
  llvm::Module& ForKernel();
  // All modules, the program's first.
  std::vector<CodeShard> Take() &&;

 private:
  struct Counted {
    CodeShard shard;
    llvm::Function* last = nullptr;  // functions up to here are in the count
    int64_t instructions = 0;
  };
  void Add();

  const std::string name_, triple_, data_layout_;
  const size_t limit_;
  std::vector<Counted> shards_;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_CODE_SHARDS_H_
