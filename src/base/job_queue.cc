#include "src/base/job_queue.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace kiln {

std::thread StartThread(const char* name, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(std::move(body));
    pthread_setname_np(thread.native_handle(), name);
  } catch (const std::system_error&) {
    // The caller copes with fewer threads.
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

bool JobQueue::EnsureWatcher() {
  if (idle_ > 0) {
    changed_.notify_one();
    return true;
  }
  if (threads_.size() < kMaxThreads) {
    std::thread thread = StartThread("kiln-job", [this] { Serve(); });
    if (thread.joinable()) threads_.push_back(std::move(thread));
  }
  // A busy thread looks at the queue again when its job ends.
  return !threads_.empty() || running_ > 0;
}

JobQueue::Clock::time_point JobQueue::Due() const {
  return last_progress_ + kPatience * (1 << std::clamp(running_ - concurrency_, 0, kMaxDoublings));
}

void JobQueue::Serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    if (queue_.empty()) {
      if (stopping_) return;
      ++idle_;
      changed_.wait(lock);
      --idle_;
      continue;
    }
    const Clock::time_point due = Due();
    if (running_ >= concurrency_ && Clock::now() < due) {
      ++idle_;
      changed_.wait_until(lock, due);
      --idle_;
      continue;
    }
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    last_progress_ = Clock::now();
    if (!queue_.empty()) EnsureWatcher();
    lock.unlock();
    work();
    work = nullptr;  // What the closure owns dies before the job counts as done.
    lock.lock();
    --running_;
    last_progress_ = Clock::now();
  }
}

}  // namespace kiln
