#include "src/base/job_queue.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace kiln {
namespace {

int64_t CpuNanoseconds(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

thread_local JobQueue* JobQueue::queue_of_thread = nullptr;
thread_local JobQueue::Job* JobQueue::job_of_thread = nullptr;

std::thread StartThread(const char* name, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(std::move(body));
    pthread_setname_np(thread.native_handle(), name);
  } catch (const std::exception&) {
    // Neither threads nor memory left: the caller copes with fewer threads.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

JobQueue::~JobQueue() {
  // Jobs in progress may push more, and each may start a thread, so the list of threads grows while it is joined.
  std::unique_lock<std::mutex> lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  while (!threads_.empty()) {
    std::thread thread = std::move(threads_.back());
    threads_.pop_back();
    lock.unlock();
    thread.join();
    lock.lock();
  }
}

void JobQueue::Push(std::function<void()> job) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (queue_.empty()) last_progress_ = Clock::now();
  queue_.push_back(std::move(job));
  if (EnsureWatcher()) return;
  std::function<void()> work = std::move(queue_.back());
  queue_.pop_back();
  lock.unlock();
  work();
}

void JobQueue::MayBlock() {
  if (job_of_thread == nullptr || job_of_thread->may_block) return;
  const std::lock_guard<std::mutex> lock(queue_of_thread->mutex_);
  job_of_thread->may_block = true;
}

bool JobQueue::EnsureWatcher() {
  if (polling_ > 0 && Computes()) return true;
  if (!idle_.empty()) {
    // Off the caller's CPU, or that of the last job that computes, which it would wait for.
    const int busy = options_.beside_caller ? sched_getcpu()
                     : options_.may_block || running_.empty() ? -1 : running_.back().cpu;
    for (Sleeper* sleeper : idle_) sleeper->KeepOff(busy);
    changed_.notify_one();
    return true;
  }
  if (threads_.size() < kMaxThreads) {
    std::thread thread = StartThread("kiln-job", [this] { Serve(); });
    if (thread.joinable()) threads_.push_back(std::move(thread));
  }
  // A busy thread looks at the queue again when its job ends.
  return !threads_.empty() || !running_.empty();
}

bool JobQueue::Computes() const {
  return std::count_if(running_.begin(), running_.end(), [](const Job& job) { return !job.may_block; }) >= concurrency_;
}

bool JobQueue::KeepsBusy(Clock::time_point now) {
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_look_).count();
  if (now - last_look_ < kPatience / 2) return true;  // too short to tell
  last_look_ = now;
  int busy = 0;
  for (Job& job : running_) {
    const int64_t before = std::exchange(job.nanoseconds, CpuNanoseconds(job.clock));
    if (job.nanoseconds - before > elapsed / 4) ++busy;
  }
  return busy >= concurrency_;
}

JobQueue::Clock::time_point JobQueue::Due() const {
  const int beyond = static_cast<int>(running_.size()) - concurrency_;
  return last_progress_ + kPatience * (1 << std::clamp(beyond, 0, kMaxDoublings));
}

void JobQueue::Sleep(std::unique_lock<std::mutex>& lock, Sleeper* sleeper, Clock::time_point until) {
  idle_.push_back(sleeper);
  if (until == Clock::time_point::max()) {
    changed_.wait(lock);
  } else {
    changed_.wait_until(lock, until);
  }
  idle_.erase(std::find(idle_.begin(), idle_.end(), sleeper));
}

void JobQueue::Serve() {
  Sleeper sleeper;
  sleeper.Begin();
  clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
  pthread_getcpuclockid(pthread_self(), &clock);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    if (queue_.empty()) {
      if (stopping_) return;
      Sleep(lock, &sleeper, Clock::time_point::max());
      continue;
    }
    if (running_.size() >= static_cast<size_t>(concurrency_)) {
      if (Computes()) {
        // Who computes takes the next job. That it blocks at its end is seen soon enough: nobody is woken for it.
        ++polling_;
        Sleep(lock, &sleeper, Clock::now() + kBusyPatience * kPatience);
        --polling_;
        continue;
      }
      const Clock::time_point due = Due(), now = Clock::now();
      const Clock::time_point last = last_progress_ + (due - last_progress_) * kBusyPatience;
      if (now < due || (now < last && KeepsBusy(now))) {
        Sleep(lock, &sleeper, std::max(due, now + kPatience));
        continue;
      }
    }
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    const auto job = running_.insert(running_.end(), {.clock = clock,
                                                      .nanoseconds = CpuNanoseconds(clock),
                                                      .may_block = options_.may_block,
                                                      .cpu = sched_getcpu()});
    queue_of_thread = this;
    job_of_thread = &*job;
    last_progress_ = last_look_ = Clock::now();
    if (!queue_.empty()) EnsureWatcher();
    lock.unlock();
    sleeper.Roam();
    work();
    work = nullptr;  // What the closure owns dies before the job counts as done.
    lock.lock();
    job_of_thread = nullptr;
    running_.erase(job);
    last_progress_ = last_look_ = Clock::now();
  }
}

}  // namespace kiln
