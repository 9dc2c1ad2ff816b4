// What one run of a program keeps for its custom calls: states, user data, scratch memory.
#ifndef KILN_RUNTIME_FFI_EXECUTION_H_
#define KILN_RUNTIME_FFI_EXECUTION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "src/base/thread_pool.h"
#include "src/cpu/custom_call.h"
#include "src/runtime/ffi/ffi_abi.h"
#include "src/runtime/memory_block.h"

namespace kiln::runtime::ffi {

// One typed pointer, owned through the deleter of its type. Thread-safe.
class State {
 public:
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  // Fails, without taking `data` over, when the state is set or the type is not registered.
  absl::Status Set(int64_t type, void* data);
  // Fails when the state is not set, or has another type.
  absl::StatusOr<void*> Get(int64_t type) const;

 private:
  mutable absl::Mutex mutex_;
  int64_t type_ ABSL_GUARDED_BY(mutex_) = 0;
  void* data_ ABSL_GUARDED_BY(mutex_) = nullptr;
  void (*deleter_)(void*) ABSL_GUARDED_BY(mutex_) = nullptr;
};

// Data that a caller attaches to executions, by type. Owned through the deleters of the types. Thread-safe.
class UserData {
 public:
  // Fails when the type is not registered or has data already.
  absl::Status Add(int64_t type, void* data);
  absl::StatusOr<void*> Find(int64_t type) const;

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<int64_t, std::unique_ptr<State>> states_ ABSL_GUARDED_BY(mutex_);
};

struct ExecutionOptions {
  int32_t device_ordinal = 0;
  ThreadPool* pool = nullptr;
  Allocator* allocator = nullptr;
  std::shared_ptr<const UserData> user_data;  // may be null
};

// Thread-safe: handlers use it from threads of their own.
class Execution : public cpu::CustomCallRun {
 public:
  // States of one call site, by stage; that of the instantiate stage lives with the executable.
  using States = std::array<State, 4>;

  Execution(ExecutionOptions options, int64_t custom_call_count);

  const ExecutionOptions& options() const { return options_; }
  // Unique in the process.
  int64_t run_id() const { return run_id_; }
  States& states(int64_t number) { return states_[number]; }

  // Memory that is freed with this object unless it is given back before.
  absl::StatusOr<void*> Allocate(size_t bytes, size_t alignment);
  absl::Status Free(void* data);

 private:
  const ExecutionOptions options_;
  const int64_t run_id_;
  std::vector<States> states_;
  absl::Mutex mutex_;
  absl::flat_hash_map<void*, MemoryBlock> scratch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::runtime::ffi

#endif  // KILN_RUNTIME_FFI_EXECUTION_H_
