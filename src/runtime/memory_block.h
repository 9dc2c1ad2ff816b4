// One piece of memory and the duty to give it back.
#ifndef KILN_RUNTIME_MEMORY_BLOCK_H_
#define KILN_RUNTIME_MEMORY_BLOCK_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "src/base/status.h"
#include "src/runtime/allocator.h"

namespace kiln::runtime {

// Memory of somebody else; its destructor tells the owner that Kiln no longer uses it.
class ForeignMemory {
 public:
  virtual ~ForeignMemory() = default;
};

// Move-only owner of pool memory, or of the use of foreign memory.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  static absl::StatusOr<MemoryBlock> Allocate(Allocator* allocator, size_t bytes) {
    KILN_ASSIGN_OR_RETURN(void* data, allocator->Allocate(bytes));
    return MemoryBlock(data, bytes, allocator);
  }
  // Memory that is taken when somebody asks for its address, such as the program that writes it: what runs one after
  // the other then finds the memory of what has ended, still in the cache.
  static absl::StatusOr<MemoryBlock> Reserve(Allocator* allocator, size_t bytes) {
    KILN_RETURN_IF_ERROR(allocator->Reserve(bytes));
    return MemoryBlock(nullptr, bytes, allocator);
  }
  // `writable`: donation may hand the memory to an output.
  static MemoryBlock Borrow(void* data, size_t bytes, bool writable, std::unique_ptr<ForeignMemory> owner) {
    MemoryBlock block(data, bytes, nullptr);
    block.writable_ = writable;
    block.foreign_ = std::move(owner);
    return block;
  }
  MemoryBlock(MemoryBlock&& other) noexcept
      : data_(other.data_.load(std::memory_order_relaxed)),
        bytes_(std::exchange(other.bytes_, 0)),
        writable_(other.writable_),
        allocator_(std::exchange(other.allocator_, nullptr)),
        foreign_(std::move(other.foreign_)) {}
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    if (this == &other) return *this;
    Reset();
    data_.store(other.data_.load(std::memory_order_relaxed), std::memory_order_release);
    bytes_ = std::exchange(other.bytes_, 0);
    writable_ = other.writable_;
    allocator_ = std::exchange(other.allocator_, nullptr);
    foreign_ = std::move(other.foreign_);
    return *this;
  }
  ~MemoryBlock() { Reset(); }

  // Null when reserved memory cannot be had. A block that has been moved from still says where it was.
  void* data() const {
    void* data = data_.load(std::memory_order_acquire);
    return data != nullptr ? data : Take();
  }
  size_t bytes() const { return bytes_; }
  bool writable() const { return writable_; }
  bool is_foreign() const { return foreign_ != nullptr; }
  bool is_aligned() const { return reinterpret_cast<uintptr_t>(data()) % Allocator::kAlignment == 0; }

  // For the owner, once nobody else asks for the address.
  void Reset() {
    if (allocator_ != nullptr || foreign_ != nullptr) GiveBack();
  }

 private:
  MemoryBlock(void* data, size_t bytes, Allocator* allocator) : data_(data), bytes_(bytes), allocator_(allocator) {}

  void GiveBack() {
    void* data = data_.load(std::memory_order_relaxed);
    data_.store(nullptr, std::memory_order_relaxed);
    if (allocator_ != nullptr) {
      if (data != nullptr) allocator_->Return(data, bytes_);
      std::exchange(allocator_, nullptr)->Unreserve(bytes_);
    }
    foreign_.reset();
    bytes_ = 0;
  }

  // Producers ask while others may give the memory away, after they have asked as well (Buffer::Donate).
  void* Take() const {
    absl::MutexLock lock(&taking_);
    if (data_.load(std::memory_order_relaxed) == nullptr && allocator_ != nullptr) {
      data_.store(allocator_->Take(bytes_), std::memory_order_release);
    }
    return data_.load(std::memory_order_relaxed);
  }

  ABSL_CONST_INIT static inline absl::Mutex taking_{absl::kConstInit};
  mutable std::atomic<void*> data_{nullptr};
  size_t bytes_ = 0;
  bool writable_ = true;
  Allocator* allocator_ = nullptr;
  std::unique_ptr<ForeignMemory> foreign_;
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_MEMORY_BLOCK_H_
