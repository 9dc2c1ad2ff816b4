#include "src/runtime/buffer.h"

#include <utility>

#include "src/base/status.h"

namespace kiln::runtime {

void Buffer::EndProduction() {
  const uint64_t before = state_.fetch_and(~kProduced, std::memory_order_acq_rel);
  if ((before & kDeleted) != 0) FreeIfUnheld();
}

RefPtr<Event> Buffer::ReadyEvent() const {
  if (IsDeleted()) {
    return Event::Settled(InvalidArgument("buffer ", type_->ToString(), " has been deleted or donated"));
  }
  return definition_ ? definition_ : Event::Ready();
}

void Buffer::Delete() {
  const uint64_t before = state_.fetch_or(kDeleted, std::memory_order_acq_rel);
  if ((before & kDeleted) == 0) FreeIfUnheld();
}

// Several droppers may come here at once; the exchange lets one of them free the content. A late Hold on a deleted
// buffer only delays that.
void Buffer::FreeIfUnheld() {
  uint64_t expected = kDeleted;
  if (state_.compare_exchange_strong(expected, kDeleted | kFreed, std::memory_order_acq_rel)) block_.Reset();
}

std::optional<MemoryBlock> Buffer::Donate() {
  // A producer that has not begun yet finds the address in the block that is left behind.
  if (block_.writable() && block_.is_aligned() && block_.data() != nullptr) {
    uint64_t expected = state_.load(std::memory_order_acquire);
    while ((expected & ~kProduced) == kHold) {
      const uint64_t taken = (expected & kProduced) | kDeleted | kFreed;
      if (state_.compare_exchange_weak(expected, taken, std::memory_order_acq_rel)) return std::move(block_);
    }
  }
  Delete();
  return std::nullopt;
}

absl::Status Buffer::AddPin() {
  if (!Hold()) return InvalidArgument("cannot pin buffer ", type_->ToString(), ": it has been deleted or donated");
  pins_.fetch_add(1, std::memory_order_acq_rel);
  return absl::OkStatus();
}

absl::Status Buffer::RemovePin() {
  int64_t pins = pins_.load(std::memory_order_acquire);
  do {
    if (pins <= 0) return InvalidArgument("buffer ", type_->ToString(), " has no external reference to take back");
  } while (!pins_.compare_exchange_weak(pins, pins - 1, std::memory_order_acq_rel));
  Drop();
  return absl::OkStatus();
}

}  // namespace kiln::runtime
