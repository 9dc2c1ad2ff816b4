#include "src/cpu/code_shards.h"

#include <algorithm>
#include <utility>

#include "llvm/IR/Function.h"

namespace kiln::cpu {
namespace {

// A module costs about as much to compile as this many instructions, before its own.
constexpr int64_t kInstructionsPerModule = 150;

}  // namespace

CodeShards::CodeShards(std::string name, std::string triple, std::string data_layout, int limit)
    : name_(std::move(name)),
      triple_(std::move(triple)),
      data_layout_(std::move(data_layout)),
      limit_(static_cast<size_t>(std::max(limit, 1))) {
  Add();
}

void CodeShards::Add() {
  Counted& added = shards_.emplace_back();
  added.shard.context = std::make_unique<llvm::LLVMContext>();
  added.shard.module = std::make_unique<llvm::Module>(name_, *added.shard.context);
  added.shard.module->setTargetTriple(triple_);
  added.shard.module->setDataLayout(data_layout_);
}

llvm::Module& CodeShards::ForKernel() {
  if (limit_ == 1) return program();
  Counted* least = nullptr;
  for (Counted& counted : shards_) {
    llvm::Module::FunctionListType& functions = counted.shard.module->getFunctionList();
    auto next = counted.last == nullptr ? functions.begin() : std::next(counted.last->getIterator());
    for (; next != functions.end(); ++next) {
      counted.last = &*next;
      counted.instructions += next->getInstructionCount();
    }
    if (least == nullptr || counted.instructions < least->instructions) least = &counted;
  }
  if (least->instructions < kInstructionsPerModule || shards_.size() == limit_) return *least->shard.module;
  Add();
  return *shards_.back().shard.module;
}

std::vector<CodeShard> CodeShards::Take() && {
  std::vector<CodeShard> result;
  for (Counted& counted : shards_) result.push_back(std::move(counted.shard));
  return result;
}

}  // namespace kiln::cpu
