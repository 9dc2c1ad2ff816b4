#include "src/cpu/code_shards.h"

#include <algorithm>
#include <utility>

#include "llvm/IR/Function.h"

namespace kiln::cpu {
namespace {

// A module costs about as much to compile as this many instructions, before its own.
constexpr int64_t kInstructionsPerModule = 150;

// When shared objects take more memory than this, all are forgotten.
constexpr size_t kMaxSharedBytes = 16 << 20;

}  // namespace

std::shared_ptr<const std::string> SharedObjects::Find(const std::string& name) const {
  absl::MutexLock lock(&mutex_);
  const auto found = objects_.find(name);
  return found == objects_.end() ? nullptr : found->second;
}

void SharedObjects::Add(const std::string& name, const std::string& object) {
  absl::MutexLock lock(&mutex_);
  if (bytes_ + object.size() > kMaxSharedBytes) {
    objects_.clear();
    bytes_ = 0;
  }
  if (objects_.emplace(name, std::make_shared<const std::string>(object)).second) bytes_ += object.size();
}

CodeShards::CodeShards(std::string name, std::string triple, std::string data_layout, int limit,
                       const SharedObjects* shared)
    : name_(std::move(name)),
      triple_(std::move(triple)),
      data_layout_(std::move(data_layout)),
      limit_(static_cast<size_t>(std::max(limit, 1))),
      shared_(shared) {
  Add();
}

CodeShard CodeShards::NewShard() const {
  CodeShard shard;
  shard.context = std::make_unique<llvm::LLVMContext>();
  shard.module = std::make_unique<llvm::Module>(name_, *shard.context);
  shard.module->setTargetTriple(triple_);
  shard.module->setDataLayout(data_layout_);
  return shard;
}

void CodeShards::Add() { shards_.emplace_back().shard = NewShard(); }

llvm::Module* CodeShards::ForShared(const std::string& name) {
  if (shared_ == nullptr) return &program();
  CodeShard& shard = shared_shards_.emplace_back();
  if (std::shared_ptr<const std::string> object = shared_->Find(name); object != nullptr) {
    shard.object = std::move(object);
    return nullptr;
  }
  shard = NewShard();
  shard.shared_name = name;
  return shard.module.get();
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
  for (CodeShard& shard : shared_shards_) result.push_back(std::move(shard));
  return result;
}

}  // namespace kiln::cpu
