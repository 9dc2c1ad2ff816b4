// Threads for work that may block: the other half of ThreadPool.
#ifndef KILN_BASE_JOB_QUEUE_H_
#define KILN_BASE_JOB_QUEUE_H_

#include <time.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "src/base/cpu_placement.h"

namespace kiln {

// Starts a thread with every signal blocked, so that the host's handlers run on the host's threads. Returns a thread
// that is not joinable when the system has none to give.
std::thread StartThread(const char* name, std::function<void()> body);

// Runs jobs in order of submission, `concurrency` at once. Where jobs may block, and none has started or ended for a
// while and one is queued, the running ones are taken for blocked, and it gets a thread beyond that number: jobs may
// wait for jobs that were pushed later. The while doubles with each further thread, and is longer when as many as may
// run keep a CPU busy, so that jobs that are merely long do not crowd the CPUs. Thread-safe.
class JobQueue {
 public:
  struct Options {
    // Whether jobs may wait for anything but a CPU. Otherwise no more than `concurrency` run, up to MayBlock.
    bool may_block = true;
    // Whether threads that sleep are woken on other CPUs than that of the caller of Push, who goes on with work of its
    // own.
    bool beside_caller = false;
  };
  explicit JobQueue(int concurrency) : JobQueue(concurrency, Options()) {}
  JobQueue(int concurrency, const Options& options) : concurrency_(concurrency), options_(options) {}
  ~JobQueue();  // Runs what is queued and waits for it.

  void Push(std::function<void()> job);

  // By a job: from here on it may block, if it may not anyway.
  static void MayBlock();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kPatience = std::chrono::milliseconds(1);
  static constexpr int kMaxDoublings = 6;
  static constexpr size_t kMaxThreads = 512;
  static constexpr int kBusyPatience = 32;  // times as long

  // A job in progress.
  struct Job {
    clockid_t clock;          // of its thread's CPU time
    int64_t nanoseconds = 0;  // on that clock, when last looked at
    bool may_block = true;
    int cpu = -1;  // where it began
  };

  // What the calling thread works for and on; null when it is no thread of a queue, or between jobs.
  static thread_local JobQueue* queue_of_thread;
  static thread_local Job* job_of_thread;

  // When the job at the head may start. Needs mutex_.
  Clock::time_point Due() const;
  // Whether as many jobs as may run cannot block. Needs mutex_.
  bool Computes() const;
  // Whether as many jobs as may run have used a CPU since this was last asked. Needs mutex_.
  bool KeepsBusy(Clock::time_point now);
  void Serve();
  // Makes sure that a thread watches the queue, which must not be empty. Needs mutex_. False when there is no thread.
  bool EnsureWatcher();

  // Until there may be something to do, or `until`. Needs `lock` on mutex_.
  void Sleep(std::unique_lock<std::mutex>& lock, Sleeper* sleeper, Clock::time_point until);

  const int concurrency_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  Clock::time_point last_progress_;
  std::vector<std::thread> threads_;
  std::list<Job> running_;  // in progress
  Clock::time_point last_look_;
  std::vector<Sleeper*> idle_;  // threads that wait on changed_
  int polling_ = 0;             // of these, those that look again in a while
  bool stopping_ = false;
};

}  // namespace kiln

#endif  // KILN_BASE_JOB_QUEUE_H_
