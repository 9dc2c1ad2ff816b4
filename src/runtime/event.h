// Events: outcomes of asynchronous work, settled exactly once.
#ifndef KILN_RUNTIME_EVENT_H_
#define KILN_RUNTIME_EVENT_H_

#include <atomic>
#include <functional>

#include "absl/status/status.h"
#include "src/base/ref_counted.h"

namespace kiln::runtime {

class Deferral;

// Thread-safe and lock-free. Callbacks run without any lock held. Where an event is optional (Buffer::definition), null
// stands for "settled with success".
class Event {
 public:
  // Called with the outcome, once.
  using Callback = std::function<void(const absl::Status&)>;

  // `deferral`, which outlives the time until the event is settled, may hold the work that settles it.
  static RefPtr<Event> Create(Deferral* deferral = nullptr);
  // The shared event that is settled with success; it is never freed, and costs no allocation.
  static RefPtr<Event> Ready();
  static RefPtr<Event> Settled(absl::Status status);

  bool IsSettled() const { return head_.load(std::memory_order_acquire) == SettledMark(); }
  // Only when settled.
  const absl::Status& status() const { return status_; }
  // Settles the event and runs the callbacks in the order they were added, in this thread. False, without effect, when
  // the event is already settled or being settled.
  bool Set(absl::Status status);
  // Somebody waits for the event: has work begin that a Deferral holds, in this thread.
  void Want();
  // Wants the event, and blocks until it is settled.
  const absl::Status& Await();
  // Calls `callback` at once when the event is settled, from the settling thread otherwise.
  void OnSettled(Callback callback);

  void AddRef() const;
  void Release() const;

 private:
  struct Waiter;
  explicit Event(bool immortal, Deferral* deferral = nullptr) : immortal_(immortal), deferral_(deferral) {}
  ~Event();
  // A value of `head_` that no waiter has.
  static Waiter* SettledMark();

  const bool immortal_;
  Deferral* const deferral_;
  std::atomic<bool> claimed_{false};  // by the one Set that counts
  std::atomic<int> settled_{0};       // for blocking waits
  mutable std::atomic<int> references_{1};
  std::atomic<Waiter*> head_{nullptr};
  absl::Status status_;
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_EVENT_H_
