// Runs that wait in the calling thread until somebody wants what they make.
#ifndef KILN_RUNTIME_DEFERRAL_H_
#define KILN_RUNTIME_DEFERRAL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace kiln::runtime {

// Programs call a function over and over, and give up what it made before only once they have what it makes now: large
// results of two calls then take turns, of which the cache holds one. A run that would take the calling thread anyway
// begins when the next one is handed in, or when somebody waits for it: by then the memory of the one before is free.
// What nobody asks for in some tenths of a millisecond begins in a thread of its own.
//
// Thread-safe. Holds one run at a time, and no lock while it runs.
class Deferral {
 public:
  using Run = std::function<void()>;

  Deferral() = default;
  Deferral(const Deferral&) = delete;
  Deferral& operator=(const Deferral&) = delete;
  // Starts what is held.
  ~Deferral();

  // Holds `run`, and runs what was held before.
  void Put(Run run);

  // Runs what is held in this thread, if anything is.
  void Start() {
    if (holds_.load(std::memory_order_acquire)) StartHeld();
  }

 private:
  void StartHeld();
  // Looks at times whether a run has been held since it looked last.
  void Watch();

  std::atomic<bool> holds_{false};
  absl::Mutex mutex_;
  absl::CondVar wake_;
  Run held_ ABSL_GUARDED_BY(mutex_);
  uint64_t count_ ABSL_GUARDED_BY(mutex_) = 0;  // of runs put
  bool watches_ ABSL_GUARDED_BY(mutex_) = false;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread watcher_;
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_DEFERRAL_H_
