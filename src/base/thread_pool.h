// A small work-sharing pool: one per process, bounded by the CPUs that affinity and the cgroup quota allow.
#ifndef KILN_BASE_THREAD_POOL_H_
#define KILN_BASE_THREAD_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>

namespace kiln {

// Thread-safe. Workers sleep when idle after a short spin, so that a burst of small kernels does not pay for wake-ups.
class ThreadPool {
 public:
  // `threads` counts the calling thread: ThreadPool(2) starts one worker for ParallelFor. Values below 1 mean 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();  // Waits for scheduled work.
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Runs `work` on a worker, in order of submission as far as workers are free. Never runs it inline, so a caller that
  // holds locks is safe. Work may block.
  void Schedule(std::function<void()> work);

  // Calls task(closure, begin, end) over disjoint ranges that cover [0, count), each of at least `grain` indices but the
  // last, from the calling thread and idle workers, and returns when all are done. May be called from inside a
  // task (nested calls share the same workers and cannot deadlock: the caller always makes progress by itself).
  using RangeTask = void (*)(void* closure, int64_t begin, int64_t end);
  void ParallelFor(int64_t count, int64_t grain, RangeTask task, void* closure);

  // CPUs this process may use: the smaller of the affinity mask and the cgroup's quota rounded up, at least 1.
  static int AvailableCpus();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln

#endif  // KILN_BASE_THREAD_POOL_H_
