// A small work-sharing pool: one per process, bounded by the CPUs that affinity and the cgroup quota allow.
#ifndef KILN_BASE_THREAD_POOL_H_
#define KILN_BASE_THREAD_POOL_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

namespace kiln {

// Thread-safe. Workers sleep when idle after a short spin, so that a burst of small kernels does not pay for wake-ups.
// ParallelFor and Schedule have threads of their own: scheduled work may block on anything, and the ParallelFor calls
// that it makes find the workers free.
class ThreadPool {
 public:
  // `threads` counts the calling thread: ThreadPool(2) starts one worker for ParallelFor. Values below 1 mean 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();  // Waits for scheduled work. No call may be in progress on, or begin from, another thread.
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Threads that one ParallelFor may use, the caller counted in.
  int threads() const;

  // Runs `work` on another thread, in order of submission; up to threads() of them run at once, and more when these
  // seem to block (nothing started or ended for a millisecond or more), so that scheduled work may wait for work
  // scheduled after it. Never runs it inline, so a caller that holds locks is safe; the one exception is a process that
  // cannot start a single thread.
  void Schedule(std::function<void()> work);
  // As Schedule, on further threads, for work that waits for nothing: never more than threads() at once, and
  // ParallelFor shares work with as many threads as these leave, since two computations beside each other on two CPUs
  // take less time than one after the other on both. `then` follows on the same thread, and may block.
  void ScheduleComputation(std::function<void()> work, std::function<void()> then);
  // As Schedule, on further threads: for work that brings threads of its own, as libraries do, and gains nothing from
  // another of its kind beside it. One at a time, unless that seems to block.
  void ScheduleAlone(std::function<void()> work);
  // As Schedule, on further threads: for parts of scheduled work that it waits for. They do not queue up behind whole
  // pieces of work that were scheduled before them.
  void SchedulePart(std::function<void()> work);

  // Calls task(closure, begin, end) over disjoint ranges that cover [0, count), each of at least `grain` indices but
  // the last, from the calling thread and idle workers, and returns when all are done. May be called from inside a task
  // (nested calls share the same workers and cannot deadlock: the caller always makes progress by itself).
  // `nanoseconds` is what all of it takes one thread: work shorter than waking a thread is shared with workers that are
  // still awake, and wakes them only now and then, when much of it has gone by. As many workers have a part in it as it
  // repays, the first ones by number, and none in short work where they begin late since their CPUs are far from the
  // caller's (Handover).
  using RangeTask = void (*)(void* closure, int64_t begin, int64_t end);
  void ParallelFor(int64_t count, int64_t grain, RangeTask task, void* closure,
                   int64_t nanoseconds = std::numeric_limits<int64_t>::max());

  // How long it took lately until a worker that was awake began with a call, in nanoseconds; 0 before any did.
  int64_t handover_nanoseconds() const;

  // CPUs this process may use: the smaller of the affinity mask and the cgroup's quota rounded up, at least 1. The
  // quota is that of the first call.
  static int AvailableCpus();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln

#endif  // KILN_BASE_THREAD_POOL_H_
