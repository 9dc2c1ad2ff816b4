// One piece of memory and the duty to give it back.
#ifndef KILN_RUNTIME_MEMORY_BLOCK_H_
#define KILN_RUNTIME_MEMORY_BLOCK_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
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
    auto data = allocator->Allocate(bytes);
    if (!data.ok()) return data.status();
    MemoryBlock block;
    block.data_ = *data;
    block.bytes_ = bytes;
    block.allocator_ = allocator;
    return block;
  }
  // `writable`: donation may hand the memory to an output.
  static MemoryBlock Borrow(void* data, size_t bytes, bool writable, std::unique_ptr<ForeignMemory> owner) {
    MemoryBlock block;
    block.data_ = data;
    block.bytes_ = bytes;
    block.writable_ = writable;
    block.foreign_ = std::move(owner);
    return block;
  }
  MemoryBlock(MemoryBlock&& other) noexcept { *this = std::move(other); }
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    if (this == &other) return *this;
    Reset();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    writable_ = other.writable_;
    allocator_ = std::exchange(other.allocator_, nullptr);
    foreign_ = std::move(other.foreign_);
    return *this;
  }
  ~MemoryBlock() { Reset(); }

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool writable() const { return writable_; }
  bool is_aligned() const { return reinterpret_cast<uintptr_t>(data_) % Allocator::kAlignment == 0; }

  void Reset() {
    if (allocator_ != nullptr) std::exchange(allocator_, nullptr)->Deallocate(data_, bytes_);
    foreign_.reset();
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  bool writable_ = true;
  Allocator* allocator_ = nullptr;
  std::unique_ptr<ForeignMemory> foreign_;
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_MEMORY_BLOCK_H_
