// Memory of buffers and arenas: a pool of size classes over the system's allocator.
#ifndef KILN_RUNTIME_ALLOCATOR_H_
#define KILN_RUNTIME_ALLOCATOR_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/ref_counted.h"
#include "src/base/spin_lock.h"
#include "src/runtime/guarded_block.h"

namespace kiln::runtime {

struct AllocatorStatistics {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;
  int64_t allocation_count = 0;
  int64_t largest_allocation = 0;
  int64_t cached_bytes = 0;
  int64_t limit = 0;  // bytes that may be in use at once
};

// Thread-safe. Freed blocks stay in their class, four classes per power of two, until the cache is full; then blocks of
// other classes go back to the system. Blocks are aligned to 64 bytes, large ones consist of huge pages.
class Allocator : public RefCounted<Allocator> {
 public:
  static constexpr size_t kAlignment = 64;

  struct Options {
    int64_t limit = 0;                       // bytes in use; 0: the memory of the machine or of the cgroup
    int64_t cache_limit = 0;                 // bytes kept for reuse; 0: an eighth of `limit`
    GuardedEnd guarded = GuardedEnd::kNone;  // otherwise nothing is kept for reuse
  };
  explicit Allocator(const Options& options);
  ~Allocator();

  // At least `bytes` bytes (0 gives a block as well). RESOURCE_EXHAUSTED when the limit or the system says no. The
  // block keeps the allocator alive until Deallocate.
  absl::StatusOr<void*> Allocate(size_t bytes);
  // `bytes` as given to Allocate.
  void Deallocate(void* block, size_t bytes);

  // Allocate in two steps: counts the bytes as in use, and takes the block later (null when the system has no memory).
  absl::Status Reserve(size_t bytes);
  void* Take(size_t bytes);
  // Deallocate in two steps.
  void Return(void* block, size_t bytes);
  void Unreserve(size_t bytes);

  AllocatorStatistics statistics() const;
  // Sets the peaks to the present values.
  void ResetPeaks();

 private:
  struct FreeBlock {
    FreeBlock* next;
  };
  struct alignas(64) SizeClass {
    SpinLock lock;
    FreeBlock* head ABSL_GUARDED_BY(lock) = nullptr;
    int64_t kept ABSL_GUARDED_BY(lock) = 0;   // free blocks
    int64_t taken ABSL_GUARDED_BY(lock) = 0;  // how often a block of the class was asked for
  };
  static constexpr int kClassCount = 256;
  // Of blocks of up to a kilobyte each class keeps a little, whatever others keep: no count is shared by all.
  static constexpr int kSmallClasses = 12;
  static constexpr int64_t kSmallBytes = int64_t{256} << 10;

  static int ClassOf(size_t bytes);
  static size_t ClassBytes(int size_class);
  // A block of `bytes`; huge pages are for the first `wanted` of them. Of large blocks each begins a line of the cache
  // nearer to the start of a page than the one before it. Were they to begin at pages, what a kernel reads and writes
  // at a time would be in one set of the first cache, which has room for 8 to 12 lines. Nearer, since what is allocated
  // later is mostly written: Intel's processors let loads wait for stores before them whose addresses end alike.
  void* SystemAllocate(size_t bytes, size_t wanted);
  static void SystemFree(void* block, int size_class);
  FreeBlock* Pop(int size_class, bool is_taken);
  // Returns cached blocks to the system, class by class, until those that are not small are at most `target` bytes.
  void EvictTo(int64_t target);
  void EvictAll();

  const int64_t limit_;
  const int64_t small_limit_;  // bytes that a class of small blocks keeps
  const int64_t cache_limit_;  // bytes that all others keep
  const GuardedEnd guarded_;
  std::atomic<int64_t> in_use_{0};  // as long as there are any, they are a reference
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> largest_{0};
  std::atomic<int64_t> cached_{0};  // small blocks aside
  std::atomic<uint32_t> eviction_cursor_{0};
  std::atomic<uint32_t> large_blocks_{0};
  mutable std::array<SizeClass, kClassCount> classes_;
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_ALLOCATOR_H_
