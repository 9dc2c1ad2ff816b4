// A lock for a few instructions that are rarely waited for: one locked instruction, where a mutex takes two.
#ifndef KILN_BASE_SPIN_LOCK_H_
#define KILN_BASE_SPIN_LOCK_H_

#include <sched.h>

#include <atomic>

#include "absl/base/thread_annotations.h"

namespace kiln {

class ABSL_LOCKABLE SpinLock {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    while (is_held_.exchange(true, std::memory_order_acquire)) {
      // The holder may have lost its processor.
      for (int i = 0; is_held_.load(std::memory_order_relaxed); ++i) {
        if (i >= kPolls) sched_yield();
      }
    }
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() { is_held_.store(false, std::memory_order_release); }

 private:
  static constexpr int kPolls = 64;
  std::atomic<bool> is_held_{false};
};

class ABSL_SCOPED_LOCKABLE SpinLockHold {
 public:
  explicit SpinLockHold(SpinLock* lock) ABSL_EXCLUSIVE_LOCK_FUNCTION(lock) : lock_(*lock) { lock_.Lock(); }
  SpinLockHold(const SpinLockHold&) = delete;
  SpinLockHold& operator=(const SpinLockHold&) = delete;
  ~SpinLockHold() ABSL_UNLOCK_FUNCTION() { lock_.Unlock(); }

 private:
  SpinLock& lock_;
};

}  // namespace kiln

#endif  // KILN_BASE_SPIN_LOCK_H_
