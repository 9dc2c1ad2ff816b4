#include "src/runtime/allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

#include "src/base/status.h"

namespace kiln::runtime {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kPage = 4096;
constexpr size_t kLargestBlock = size_t{1} << 48;

// The smaller of the machine's memory and the cgroup's limit (version 2).
int64_t AvailableMemory() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (bytes <= 0) bytes = std::numeric_limits<int64_t>::max() / 2;
  if (std::FILE* file = std::fopen("/sys/fs/cgroup/memory.max", "r")) {
    long long limit = 0;
    if (std::fscanf(file, "%lld", &limit) == 1 && limit > 0) bytes = std::min<int64_t>(bytes, limit);
    std::fclose(file);
  }
  return bytes;
}

void RaiseTo(std::atomic<int64_t>* peak, int64_t value) {
  int64_t seen = peak->load(std::memory_order_relaxed);
  while (seen < value && !peak->compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

Allocator::Allocator(const Options& options)
    : limit_(options.limit > 0 ? options.limit : AvailableMemory()),
      small_limit_(std::min(kSmallBytes, (options.cache_limit > 0 ? options.cache_limit : limit_ / 8) / 64)),
      cache_limit_((options.cache_limit > 0 ? options.cache_limit : limit_ / 8) - kSmallClasses * small_limit_),
      guarded_(options.guarded) {}

Allocator::~Allocator() { EvictAll(); }

// Classes 0 to 3 are 64, 128, 192 and 256 bytes; from there on each power of two has four steps.
int Allocator::ClassOf(size_t bytes) {
  const size_t units = std::max<size_t>((bytes + kAlignment - 1) / kAlignment, 1);
  if (units <= 4) return static_cast<int>(units) - 1;
  const int exponent = std::bit_width(units - 1) - 1;  // 2^exponent < units <= 2^(exponent + 1), exponent >= 2
  const size_t step = size_t{1} << (exponent - 2);
  return 4 * (exponent - 1) + static_cast<int>((units - (size_t{1} << exponent) + step - 1) / step) - 1;
}

size_t Allocator::ClassBytes(int size_class) {
  if (size_class < 4) return kAlignment * (size_class + 1);
  const int exponent = size_class / 4 + 1;
  return kAlignment * ((size_t{1} << exponent) + (size_t{1} << (exponent - 2)) * (size_class % 4 + 1));
}

void* Allocator::SystemAllocate(size_t bytes, size_t wanted) {
  if (bytes < kHugePage) return std::aligned_alloc(kAlignment, bytes);
  const size_t size = (bytes + kPage + kHugePage - 1) / kHugePage * kHugePage;
  void* memory = std::aligned_alloc(kHugePage, size);
  if (memory == nullptr) return nullptr;
  // What is left behind the last whole huge page would take one of its own.
  if (wanted >= kHugePage) madvise(memory, wanted / kHugePage * kHugePage, MADV_HUGEPAGE);
  const uint32_t turn = large_blocks_.fetch_add(1, std::memory_order_relaxed);
  return static_cast<char*>(memory) + (kPage - kAlignment - turn * kAlignment % kPage);
}

void Allocator::SystemFree(void* block, int size_class) {
  const size_t into = ClassBytes(size_class) < kHugePage ? 0 : reinterpret_cast<uintptr_t>(block) % kHugePage;
  std::free(static_cast<char*>(block) - into);
}

Allocator::FreeBlock* Allocator::Pop(int size_class, bool is_taken) {
  SizeClass& entry = classes_[size_class];
  FreeBlock* block;
  {
    SpinLockHold hold(&entry.lock);
    entry.taken += is_taken ? 1 : 0;
    block = entry.head;
    if (block == nullptr) return nullptr;
    entry.head = block->next;
    --entry.kept;
  }
  if (size_class >= kSmallClasses) {
    cached_.fetch_sub(static_cast<int64_t>(ClassBytes(size_class)), std::memory_order_relaxed);
  }
  return block;
}

absl::Status Allocator::Reserve(size_t bytes) {
  if (bytes > kLargestBlock) {
    return ResourceExhausted("Out of memory allocating ", bytes, " bytes: larger than any block");
  }
  const int64_t size = static_cast<int64_t>(ClassBytes(ClassOf(bytes)));
  const int64_t in_use = in_use_.fetch_add(size, std::memory_order_acq_rel) + size;
  if (in_use > limit_) {
    if (in_use == size) AddRef();
    Unreserve(bytes);
    return ResourceExhausted("Out of memory allocating ", bytes, " bytes: ", in_use - size, " of ", limit_,
                             " are in use");
  }
  if (in_use == size) AddRef();
  RaiseTo(&peak_, in_use);
  RaiseTo(&largest_, size);
  return absl::OkStatus();
}

void* Allocator::Take(size_t bytes) {
  const int size_class = ClassOf(bytes);
  FreeBlock* kept = Pop(size_class, /*is_taken=*/true);
  if (guarded_ != GuardedEnd::kNone) return AllocateGuarded(bytes, guarded_);
  if (kept != nullptr) return kept;
  void* block = SystemAllocate(ClassBytes(size_class), bytes);
  if (block != nullptr) return block;
  EvictAll();
  return SystemAllocate(ClassBytes(size_class), bytes);
}

absl::StatusOr<void*> Allocator::Allocate(size_t bytes) {
  KILN_RETURN_IF_ERROR(Reserve(bytes));
  void* block = Take(bytes);
  if (block != nullptr) return block;
  Unreserve(bytes);
  return ResourceExhausted("Out of memory allocating ", bytes, " bytes: the system has no memory left");
}

void Allocator::Return(void* block, size_t bytes) {
  if (guarded_ != GuardedEnd::kNone) return FreeGuarded(block, bytes, guarded_);
  const int size_class = ClassOf(bytes);
  const int64_t size = static_cast<int64_t>(ClassBytes(size_class));
  const bool is_small = size_class < kSmallClasses;
  if (size > (is_small ? small_limit_ : cache_limit_)) return SystemFree(block, size_class);
  if (!is_small && cached_.fetch_add(size, std::memory_order_relaxed) + size > cache_limit_) EvictTo(cache_limit_);
  SizeClass& entry = classes_[size_class];
  FreeBlock* free_block = static_cast<FreeBlock*>(block);
  {
    SpinLockHold hold(&entry.lock);
    if (!is_small || (entry.kept + 1) * size <= small_limit_) {
      free_block->next = std::exchange(entry.head, free_block);
      ++entry.kept;
      return;
    }
  }
  SystemFree(block, size_class);
}

void Allocator::Unreserve(size_t bytes) {
  const auto size = static_cast<int64_t>(ClassBytes(ClassOf(bytes)));
  if (in_use_.fetch_sub(size, std::memory_order_acq_rel) == size) Release();
}

void Allocator::Deallocate(void* block, size_t bytes) {
  Return(block, bytes);
  Unreserve(bytes);
}

void Allocator::EvictTo(int64_t target) {
  for (int visited = 0; visited < kClassCount && cached_.load(std::memory_order_relaxed) > target; ++visited) {
    // Going round from the large classes down frees memory in few calls and treats no class as a favourite.
    const uint32_t turn = eviction_cursor_.fetch_add(1, std::memory_order_relaxed) % kClassCount;
    const int size_class = kClassCount - 1 - static_cast<int>(turn);
    while (cached_.load(std::memory_order_relaxed) > target) {
      FreeBlock* block = Pop(size_class, /*is_taken=*/false);
      if (block == nullptr) break;
      SystemFree(block, size_class);
    }
  }
}

void Allocator::EvictAll() {
  EvictTo(0);
  for (int size_class = 0; size_class < kSmallClasses; ++size_class) {
    while (FreeBlock* block = Pop(size_class, /*is_taken=*/false)) SystemFree(block, size_class);
  }
}

AllocatorStatistics Allocator::statistics() const {
  AllocatorStatistics statistics;
  statistics.bytes_in_use = in_use_.load(std::memory_order_relaxed);
  statistics.peak_bytes_in_use = std::max(peak_.load(std::memory_order_relaxed), statistics.bytes_in_use);
  statistics.largest_allocation = largest_.load(std::memory_order_relaxed);
  statistics.cached_bytes = std::max<int64_t>(cached_.load(std::memory_order_relaxed), 0);
  for (int size_class = 0; size_class < kClassCount; ++size_class) {
    SizeClass& entry = classes_[size_class];
    SpinLockHold hold(&entry.lock);
    statistics.allocation_count += entry.taken;
    if (size_class < kSmallClasses) statistics.cached_bytes += entry.kept * static_cast<int64_t>(ClassBytes(size_class));
  }
  statistics.limit = limit_;
  return statistics;
}

void Allocator::ResetPeaks() {
  peak_.store(in_use_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  largest_.store(0, std::memory_order_relaxed);
}

}  // namespace kiln::runtime
