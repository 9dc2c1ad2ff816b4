// The client: devices, their memory, the thread pool, and everything that makes buffers and executables.
#ifndef KILN_RUNTIME_CLIENT_H_
#define KILN_RUNTIME_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/base/thread_pool.h"
#include "src/cpu/compile_observer.h"
#include "src/runtime/allocator.h"
#include "src/runtime/buffer.h"
#include "src/runtime/debug_flags.h"
#include "src/runtime/deferral.h"
#include "src/runtime/device.h"

namespace kiln::runtime {

struct ClientOptions {
  int64_t device_count = 1;
  int64_t max_threads = 0;         // 0: as many as affinity and cgroup allow
  int64_t memory_limit_bytes = 0;  // 0: the machine's memory
  int64_t cache_limit_bytes = 0;   // freed memory kept for reuse; 0: an eighth of the limit
  // Programs whose inputs are ready and that are estimated to run no longer than this on one thread run in the calling
  // thread, and so do those of up to eight times as much that threads share and that do not call out; below 0: than the
  // machine's tuning says (base/cpu_tuning.h).
  int64_t inline_nanoseconds = -1;
  // Makes the compiler ready in the background, for the process's first program. Not done where there is one CPU.
  bool warm_up = false;
  // Makes who watches a compilation under these flags, or null for nobody.
  std::function<std::unique_ptr<cpu::CompileObserver>(const DebugFlags& flags)> observe;
};

// What may be done with host memory given to BufferFromHost.
enum class HostBufferSemantics {
  kImmutableOnlyDuringCall = 0,
  kImmutableUntilTransferCompletes = 1,
  kImmutableZeroCopy = 2,
  kMutableZeroCopy = 3,
};

// Thread-safe. Buffers and executables must not be used after the client is gone, but may be released then.
class Client {
 public:
  static absl::StatusOr<std::unique_ptr<Client>> Create(const ClientOptions& options);
  // Waits for the work in flight.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const ClientOptions& options() const { return options_; }
  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  // Null when there is none of this id.
  Device* device(int64_t id) const;
  Allocator* allocator() const { return allocator_.get(); }
  ThreadPool* pool() const { return pool_.get(); }
  Deferral* deferral() { return &deferral_; }

  // A buffer from host memory. `strides` are the host's, in bytes, or null for dense row-major; `done` is called once
  // when the host memory is no longer needed, possibly before this returns (null: not wanted). Host memory that is
  // dense in the buffer's layout and aligned to 64 bytes is borrowed when the semantics allow it, and copied otherwise.
  absl::StatusOr<RefPtr<Buffer>> BufferFromHost(const void* data, RefPtr<const BufferType> type,
                                                const absl::Span<const int64_t>* strides, HostBufferSemantics semantics,
                                                Memory* memory, std::function<void()> done);
  // Content is not defined; `definition` as in Buffer.
  absl::StatusOr<RefPtr<Buffer>> CreateUninitialized(RefPtr<const BufferType> type, Memory* memory,
                                                     RefPtr<Event> definition = nullptr);
  // A buffer without memory that fails with `error` wherever it is used.
  RefPtr<Buffer> CreateError(RefPtr<const BufferType> type, Memory* memory, absl::Status error);
  // A buffer over memory of somebody else, of type.byte_count() bytes; `release` is called when it is given up.
  absl::StatusOr<RefPtr<Buffer>> CreateView(void* data, RefPtr<const BufferType> type, Memory* memory, bool writable,
                                            std::function<void()> release);
  // Copies to another (or the same) memory, once the source is ready.
  absl::StatusOr<RefPtr<Buffer>> Copy(Buffer* source, Memory* memory);
  // Copies the array to `destination` with the given byte strides (null: dense row-major). The event settles when done.
  absl::StatusOr<RefPtr<Event>> CopyToHost(Buffer* source, void* destination, const absl::Span<const int64_t>* strides);
  // Copies raw bytes [offset, offset + size).
  absl::StatusOr<RefPtr<Event>> CopyRawToHost(Buffer* source, void* destination, int64_t offset, int64_t size);

  // Wants `dependency` (null: nothing), runs `work` when it has settled with success, and settles the returned event
  // with the outcome. Work that is `quick` runs in the calling thread if nothing has to be waited for.
  RefPtr<Event> RunAfter(const RefPtr<Event>& dependency, bool quick, std::function<absl::Status()> work);

  // Work that is counted here is waited for when the client goes.
  void BeginWork() { work_in_flight_.fetch_add(1, std::memory_order_relaxed); }
  void EndWork();

 private:
  explicit Client(const ClientOptions& options);

  ClientOptions options_;
  RefPtr<Allocator> allocator_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::atomic<int64_t> work_in_flight_{0};
  Deferral deferral_;
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_CLIENT_H_
