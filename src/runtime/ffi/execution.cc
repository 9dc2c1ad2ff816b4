#include "src/runtime/ffi/execution.h"

#include <atomic>
#include <utility>

#include "src/base/status.h"
#include "src/runtime/ffi/registry.h"

namespace kiln::runtime::ffi {
namespace {

int64_t NextRunId() {
  static std::atomic<int64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

State::~State() {
  if (data_ != nullptr && deleter_ != nullptr) deleter_(data_);
}

absl::Status State::Set(int64_t type, void* data) {
  KILN_ASSIGN_OR_RETURN(auto deleter, FindDeleter(type));
  absl::MutexLock lock(&mutex_);
  if (type_ != 0) return FailedPrecondition("the state is set already, with type id ", type_);
  type_ = type;
  data_ = data;
  deleter_ = deleter;
  return absl::OkStatus();
}

absl::StatusOr<void*> State::Get(int64_t type) const {
  absl::MutexLock lock(&mutex_);
  if (type_ == 0) return NotFound("the state is not set");
  if (type_ != type) return InvalidArgument("the state has type id ", type_, ", asked for was ", type);
  return data_;
}

absl::Status UserData::Add(int64_t type, void* data) {
  absl::MutexLock lock(&mutex_);
  auto [it, is_new] = states_.try_emplace(type);
  if (!is_new) return absl::AlreadyExistsError(absl::StrCat("user data of type id ", type, " is there already"));
  it->second = std::make_unique<State>();
  absl::Status status = it->second->Set(type, data);
  if (!status.ok()) states_.erase(it);
  return status;
}

absl::StatusOr<void*> UserData::Find(int64_t type) const {
  absl::MutexLock lock(&mutex_);
  const auto it = states_.find(type);
  if (it == states_.end()) return NotFound("the execution has no user data of type id ", type);
  return it->second->Get(type);
}

Execution::Execution(ExecutionOptions options, int64_t custom_call_count)
    : options_(std::move(options)), run_id_(NextRunId()), states_(custom_call_count) {}

absl::StatusOr<void*> Execution::Allocate(size_t bytes, size_t alignment) {
  if (alignment == 0) alignment = 1;
  if ((alignment & (alignment - 1)) != 0) {
    return InvalidArgument("an alignment is a power of two, found ", alignment);
  }
  const size_t extra = alignment > Allocator::kAlignment ? alignment : 0;
  if (bytes + extra < bytes) return ResourceExhausted("cannot allocate ", bytes, " bytes of scratch memory");
  KILN_ASSIGN_OR_RETURN(MemoryBlock block, MemoryBlock::Allocate(options_.allocator, bytes + extra));
  const uintptr_t address = (reinterpret_cast<uintptr_t>(block.data()) + alignment - 1) & ~(alignment - 1);
  void* data = reinterpret_cast<void*>(address);
  absl::MutexLock lock(&mutex_);
  scratch_.emplace(data, std::move(block));
  return data;
}

absl::Status Execution::Free(void* data) {
  absl::MutexLock lock(&mutex_);
  if (data != nullptr && scratch_.erase(data) == 0) {
    return InvalidArgument("the memory to free is no scratch memory of this execution");
  }
  return absl::OkStatus();
}

}  // namespace kiln::runtime::ffi
