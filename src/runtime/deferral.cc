#include "src/runtime/deferral.h"

#include <utility>

#include "absl/time/time.h"
#include "src/base/job_queue.h"

namespace kiln::runtime {
namespace {

constexpr absl::Duration kPatience = absl::Microseconds(300);
// Looks without a new run before the watcher sleeps: to wake it takes the caller longer than a look takes the watcher.
constexpr int kIdleLooks = 30;

}  // namespace

Deferral::~Deferral() {
  Start();
  {
    absl::MutexLock lock(&mutex_);
    ends_ = true;
    wake_.SignalAll();
  }
  if (watcher_.joinable()) watcher_.join();
}

void Deferral::Put(Run run) {
  bool has_watcher = false;
  {
    absl::MutexLock lock(&mutex_);
    std::swap(held_, run);
    holds_.store(true, std::memory_order_release);
    ++count_;
    if (!watcher_.joinable()) watcher_ = StartThread("kiln-watcher", [this] { Watch(); });
    if (!watches_) wake_.Signal();
    has_watcher = watcher_.joinable();
  }
  if (run) run();
  // Nobody else would see to it.
  if (!has_watcher) Start();
}

void Deferral::StartHeld() {
  Run run;
  {
    absl::MutexLock lock(&mutex_);
    run = std::exchange(held_, nullptr);
    holds_.store(false, std::memory_order_release);
  }
  if (run) run();
}

void Deferral::Watch() {
  absl::MutexLock lock(&mutex_);
  uint64_t seen = 0;
  int idle = 0;
  while (!ends_) {
    watches_ = held_ != nullptr || idle < kIdleLooks;
    if (!watches_) {
      wake_.Wait(&mutex_);
      idle = 0;
      continue;
    }
    wake_.WaitWithTimeout(&mutex_, kPatience);
    if (count_ != std::exchange(seen, count_)) {
      idle = 0;
    } else if (held_ == nullptr) {
      ++idle;
    } else {
      Run run = std::exchange(held_, nullptr);
      holds_.store(false, std::memory_order_release);
      mutex_.Unlock();
      run();
      mutex_.Lock();
    }
  }
}

}  // namespace kiln::runtime
