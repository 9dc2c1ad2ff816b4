#include "src/runtime/event.h"

#include <utility>

#include "src/runtime/deferral.h"

namespace kiln::runtime {

struct Event::Waiter {
  Callback callback;
  Waiter* next = nullptr;
};

Event::Waiter* Event::SettledMark() {
  static constinit char mark = 0;
  return reinterpret_cast<Waiter*>(&mark);
}

RefPtr<Event> Event::Create(Deferral* deferral) {
  return RefPtr<Event>::Adopt(new Event(/*immortal=*/false, deferral));
}

RefPtr<Event> Event::Ready() {
  static Event* const ready = [] {
    Event* event = new Event(/*immortal=*/true);
    event->Set(absl::OkStatus());
    return event;
  }();
  return RefPtr<Event>::Adopt(ready);
}

RefPtr<Event> Event::Settled(absl::Status status) {
  if (status.ok()) return Ready();
  RefPtr<Event> event = Create();
  event->Set(std::move(status));
  return event;
}

// Waiters of an event that nobody settles any more are dropped without a call.
Event::~Event() {
  Waiter* waiter = head_.load(std::memory_order_acquire);
  if (waiter == SettledMark()) return;
  while (waiter != nullptr) delete std::exchange(waiter, waiter->next);
}

void Event::AddRef() const {
  if (!immortal_) references_.fetch_add(1, std::memory_order_relaxed);
}

void Event::Release() const {
  if (!immortal_ && references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

bool Event::Set(absl::Status status) {
  if (claimed_.exchange(true, std::memory_order_acq_rel)) return false;
  // A callback may drop the last outside reference.
  RefPtr<Event> self = RefPtr<Event>::Share(this);
  status_ = std::move(status);
  Waiter* waiter = head_.exchange(SettledMark(), std::memory_order_acq_rel);
  settled_.store(1, std::memory_order_release);
  settled_.notify_all();
  Waiter* in_order = nullptr;
  while (waiter != nullptr) {
    Waiter* next = waiter->next;
    waiter->next = in_order;
    in_order = waiter;
    waiter = next;
  }
  while (in_order != nullptr) {
    in_order->callback(status_);
    delete std::exchange(in_order, in_order->next);
  }
  return true;
}

void Event::Want() {
  if (deferral_ != nullptr && !IsSettled()) deferral_->Start();
}

const absl::Status& Event::Await() {
  Want();
  if (!IsSettled()) settled_.wait(0, std::memory_order_acquire);
  return status_;
}

void Event::OnSettled(Callback callback) {
  Waiter* head = head_.load(std::memory_order_acquire);
  if (head == SettledMark()) {
    callback(status_);
    return;
  }
  Waiter* waiter = new Waiter{std::move(callback), head};
  while (!head_.compare_exchange_weak(waiter->next, waiter, std::memory_order_acq_rel, std::memory_order_acquire)) {
    if (waiter->next == SettledMark()) {
      waiter->callback(status_);
      delete waiter;
      return;
    }
  }
}

}  // namespace kiln::runtime
