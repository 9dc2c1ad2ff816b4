// Buffers: one array (or token) in the memory of a device.
#ifndef KILN_RUNTIME_BUFFER_H_
#define KILN_RUNTIME_BUFFER_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "src/base/recycled.h"
#include "src/base/ref_counted.h"
#include "src/runtime/buffer_type.h"
#include "src/runtime/device.h"
#include "src/runtime/event.h"
#include "src/runtime/memory_block.h"

namespace kiln::runtime {

// Thread-safe. Content lives until Delete, donation or the last reference, and then on while somebody holds it: a
// running program, a copy, or an outside user of the address. Holding and deleting are lock-free.
class Buffer final : public RefCounted<Buffer>, public Recycled<Buffer> {
 public:
  // `definition` settles when the content is there (null: it is). With `produced`, the content is being written and
  // stays until EndProduction; a definition that settles before that would be wrong.
  Buffer(RefPtr<const BufferType> type, Memory* memory, MemoryBlock&& block, RefPtr<Event> definition,
         bool produced = false)
      : type_(std::move(type)),
        memory_(memory),
        definition_(std::move(definition)),
        state_(produced ? kProduced : 0),
        block_(std::move(block)) {}
  // The producer no longer touches the memory. To be called before `definition` settles.
  void EndProduction();

  const BufferType& type() const { return *type_; }
  const RefPtr<const BufferType>& shared_type() const { return type_; }
  Memory* memory() const { return memory_; }
  Device* device() const { return memory_->device(); }

  // The event that settles when the content is there or could not be made; an error when the buffer is deleted.
  RefPtr<Event> ReadyEvent() const;
  // True when the content is there and may be read.
  bool IsReady() const { return definition_ == nullptr || (definition_->IsSettled() && definition_->status().ok()); }
  // Null when the buffer was ready from the start.
  const RefPtr<Event>& definition() const { return definition_; }

  // Keeps the content from being freed or given to an output until Drop. False when the buffer is deleted.
  bool Hold() {
    if ((state_.fetch_add(kHold, std::memory_order_acq_rel) & kDeleted) == 0) return true;
    Drop();
    return false;
  }
  void Drop() {
    const uint64_t before = state_.fetch_sub(kHold, std::memory_order_acq_rel);
    if ((before & kDeleted) != 0) FreeIfUnheld();
  }
  // For a holder.
  void* data() const { return block_.data(); }

  // For a holder: whether the content is in memory of somebody else.
  bool is_foreign() const { return block_.is_foreign(); }

  // Marks the buffer deleted; the content goes with the last holder.
  void Delete();
  // How many hold the content at this moment.
  int64_t HoldCount() const { return static_cast<int64_t>(state_.load(std::memory_order_acquire) / kHold); }
  bool IsDeleted() const { return (state_.load(std::memory_order_acquire) & kDeleted) != 0; }

  // For a holder: marks the buffer deleted and, when nobody else holds it and the memory may be written, hands over the
  // memory in place of the hold (then no Drop follows). Nothing when the memory has to stay. The producer may still be
  // writing: whoever takes the memory keeps it until `definition` has settled.
  std::optional<MemoryBlock> Donate();

  // Pins for outside users of the address; a decrement without an increment fails.
  absl::Status AddPin();
  absl::Status RemovePin();
  bool IsPinned() const { return pins_.load(std::memory_order_acquire) > 0; }

 private:
  friend class RefCounted<Buffer>;
  ~Buffer() = default;

  static constexpr uint64_t kDeleted = 1;   // content is on its way out
  static constexpr uint64_t kFreed = 2;     // somebody took on to free the content
  static constexpr uint64_t kProduced = 4;  // the producer is at work
  static constexpr uint64_t kHold = 8;      // one holder
  void FreeIfUnheld();

  RefPtr<const BufferType> type_;
  Memory* memory_;
  RefPtr<Event> definition_;
  std::atomic<uint64_t> state_;
  std::atomic<int64_t> pins_{0};
  MemoryBlock block_;
};

// Owns one hold (and one reference) on a buffer.
class BufferHold {
 public:
  BufferHold() = default;
  // Null when the buffer is deleted.
  static BufferHold Acquire(Buffer* buffer) {
    BufferHold hold;
    if (buffer->Hold()) hold.buffer_ = RefPtr<Buffer>::Share(buffer);
    return hold;
  }
  BufferHold(BufferHold&& other) noexcept = default;
  BufferHold& operator=(BufferHold&& other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferHold() {
    if (buffer_) buffer_->Drop();
  }
  explicit operator bool() const { return static_cast<bool>(buffer_); }
  Buffer* get() const { return buffer_.get(); }
  Buffer* operator->() const { return buffer_.get(); }

 private:
  RefPtr<Buffer> buffer_;
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_BUFFER_H_
