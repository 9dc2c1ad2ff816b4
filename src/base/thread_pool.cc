#include "src/base/thread_pool.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <climits>
#include <cmath>
#include <optional>
#include <thread>
#include <vector>

#include "src/base/cpu_placement.h"
#include "src/base/cpu_tuning.h"
#include "src/base/float_environment.h"
#include "src/base/handover.h"
#include "src/base/job_queue.h"

namespace kiln {
namespace {

// Of one call; more threads than that begin in the shares of others.
constexpr int kMaxShares = 64;

// Threads of a pool that says where its workers wake up.
constexpr int kMaxPlaces = 16;

// Who waits says which of 32 groups it is in, and who wakes which groups it means.
constexpr uint32_t kAllGroups = ~uint32_t{0};

void FutexWait(std::atomic<uint32_t>& word, uint32_t expected, uint32_t group = kAllGroups) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_BITSET_PRIVATE, expected, nullptr, nullptr, group);
}

void FutexWake(std::atomic<uint32_t>& word, int threads, uint32_t groups = kAllGroups) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_BITSET_PRIVATE, threads, nullptr, nullptr, groups);
}

// Workers are groups of their own while there are groups enough; the rest is the last one.
constexpr uint32_t kLastGroup = 31;

uint32_t GroupOf(uint32_t worker) { return uint32_t{1} << std::min(worker, kLastGroup); }

// Of the workers with numbers up to `last`.
uint32_t GroupsUpTo(uint32_t last) { return last >= kLastGroup ? kAllGroups : (uint32_t{2} << last) - 1; }

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

using Time = std::chrono::steady_clock::time_point;

// When a thread sleeps that finds nothing to do from now on.
Time TimeToSleep() {
  return std::chrono::steady_clock::now() + std::chrono::nanoseconds(Tuning().threads.spin_nanoseconds);
}

// Polls `done` until it holds or it is time to sleep, giving the CPU away now and then. Returns done's last answer.
template <typename Predicate>
bool SpinUntil(Time deadline, Predicate done) {
  while (true) {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      Pause();
    }
    if (std::chrono::steady_clock::now() >= deadline) return done();
    sched_yield();
  }
}

// A part of a call's indices, which threads take from its front.
struct alignas(64) Share {
  std::atomic<uint64_t> next{0};
  uint64_t end = 0;
};

// One ParallelFor in progress. Slots outlive every call, so a worker that comes late touches valid memory.
struct alignas(64) Slot {
  std::atomic<bool> claimed{false};  // a caller owns the slot
  std::atomic<bool> open{false};     // the fields below hold a job that workers may join
  std::atomic<uint32_t> users{0};    // workers inside; the caller waits for zero before it gives the slot back
  std::atomic<uint32_t> caller_sleeps{0};
  std::atomic<uint32_t> helpers{0};  // the last worker that has a part
  ThreadPool::RangeTask task = nullptr;
  void* closure = nullptr;
  uint64_t chunk = 0;
  int64_t put_out = 0;  // when it was opened, as Handover::Now tells
  uint32_t share_count = 0;
  bool flushes_subnormals = false;  // as the caller does
  std::vector<Share> shares;

  // A thread begins with a share of its own, which in the next kernel over the same arrays is the same again and in its
  // cache, and then helps with the others.
  void Work(uint32_t own) {
    for (uint32_t i = 0; i < share_count; ++i) {
      Share& share = shares[(own + i) % share_count];
      // The load keeps `next` from growing without bound when idle workers look in again and again.
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        const uint64_t begin = share.next.fetch_add(chunk, std::memory_order_relaxed);
        if (begin >= share.end) break;
        task(closure, static_cast<int64_t>(begin), static_cast<int64_t>(std::min(begin + chunk, share.end)));
      }
    }
  }
};

}  // namespace

struct ThreadPool::State {
  explicit State(int threads)
      : threads(threads),
        spin(AvailableCpus() >= threads),
        places(threads <= kMaxPlaces ? threads : 0),
        parts(threads),
        lone_jobs(1),
        jobs(threads),
        computations(threads, {.may_block = false}) {
    for (Slot& slot : slots) slot.shares = std::vector<Share>(std::min(threads, kMaxShares));
  }

  const int threads;
  const bool spin;
  std::array<Slot, 32> slots;                  // more calls than this at once run on their callers alone
  alignas(64) std::atomic<uint32_t> epoch{0};  // counts ParallelFor calls: what workers wait on
  std::atomic<uint32_t> wanted{0};             // the last worker that the last call has a part for
  alignas(64) std::atomic<uint32_t> sleepers{0};
  std::atomic<uint32_t> sleeping{0};   // the groups of those that are alone in theirs
  std::atomic<int64_t> short_work{0};  // nanoseconds of it that found no worker awake
  Handover handover;                   // to workers that are awake
  std::atomic<bool> stopping{false};
  std::vector<std::thread> workers;
  std::vector<Sleeper> places;  // of workers by their numbers; empty where there are too many to go through
  JobQueue parts;               // outlives those that push to it
  JobQueue lone_jobs;
  JobQueue jobs;
  std::atomic<int> computing{0};  // jobs of the queue below that run
  JobQueue computations;

  // Whether the worker had a part.
  bool Help(Slot& slot, uint32_t number, bool was_awake) {
    if (!slot.open.load(std::memory_order_relaxed) || number > slot.helpers.load(std::memory_order_relaxed)) {
      return false;
    }
    // The caller closes the slot and then reads users; this adds itself and then reads open: one of them sees the
    // other.
    slot.users.fetch_add(1, std::memory_order_seq_cst);
    const bool is_open = slot.open.load(std::memory_order_seq_cst);
    if (is_open) {
      if (was_awake) handover.Note(slot.put_out);
      std::optional<FlushedFloatEnvironment> environment;
      if (slot.flushes_subnormals) environment.emplace();
      slot.Work(number);
    }
    if (slot.users.fetch_sub(1, std::memory_order_seq_cst) == 1 && slot.caller_sleeps.load(std::memory_order_seq_cst)) {
      FutexWake(slot.users, 1);
    }
    return is_open;
  }

  // Workers with numbers up to `last` that sleep.
  uint32_t SleepersUpTo(uint32_t last) const {
    if (last >= kLastGroup) return sleepers.load(std::memory_order_seq_cst);
    return static_cast<uint32_t>(std::popcount(sleeping.load(std::memory_order_seq_cst) & GroupsUpTo(last)));
  }

  void Sleep(uint32_t number, uint32_t seen) {
    const uint32_t group = GroupOf(number), own = number < kLastGroup ? group : 0;
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    sleeping.fetch_or(own, std::memory_order_seq_cst);
    FutexWait(epoch, seen, group);
    sleeping.fetch_and(~own, std::memory_order_seq_cst);
    sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

  // The caller counts as thread 0.
  void Worker(uint32_t number) {
    // Threads begin with the environment of the one that starts them.
    const DefaultFloatEnvironment environment;
    if (number < places.size()) places[number].Begin();
    bool was_awake = false;
    Time deadline = TimeToSleep();
    while (true) {
      // First the epoch, then the flag: whoever sets the flag advances the epoch after it, so a worker that misses the
      // flag holds an old epoch and does not fall asleep on it.
      const uint32_t seen = epoch.load(std::memory_order_seq_cst);
      if (stopping.load(std::memory_order_seq_cst)) break;
      if (number < places.size()) places[number].Look();
      // Of calls for fewer threads it has no part, and need not stay awake.
      bool has_part = !was_awake || number <= wanted.load(std::memory_order_relaxed);
      for (Slot& slot : slots) has_part |= Help(slot, number, was_awake);
      const auto is_new = [&] { return epoch.load(std::memory_order_relaxed) != seen; };
      was_awake = is_new();
      if (!was_awake && spin) {
        if (has_part) deadline = TimeToSleep();
        was_awake = SpinUntil(deadline, is_new);
      }
      if (!was_awake) Sleep(number, seen);
    }
    if (number < places.size()) places[number].End();
  }

  Slot* Claim() {
    for (Slot& slot : slots) {
      if (!slot.claimed.load(std::memory_order_relaxed) && !slot.claimed.exchange(true, std::memory_order_acquire)) {
        return &slot;
      }
    }
    return nullptr;
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>(std::clamp(threads, 1, 4096))) {
  for (int i = 1; i < state_->threads; ++i) {
    std::thread thread =
        StartThread("kiln-worker", [state = state_.get(), i] { state->Worker(static_cast<uint32_t>(i)); });
    if (!thread.joinable()) break;  // Fewer workers are slower, not wrong.
    state_->workers.push_back(std::move(thread));
  }
}

ThreadPool::~ThreadPool() {
  // Scheduled work may still call ParallelFor, and is done when the queue's destructor returns: after the workers' end
  // those calls run on their callers alone.
  state_->stopping.store(true, std::memory_order_seq_cst);
  state_->epoch.fetch_add(1, std::memory_order_seq_cst);
  FutexWake(state_->epoch, INT_MAX);
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return state_->threads; }
int64_t ThreadPool::handover_nanoseconds() const { return state_->handover.nanoseconds(); }

void ThreadPool::Schedule(std::function<void()> work) { state_->jobs.Push(std::move(work)); }
void ThreadPool::ScheduleComputation(std::function<void()> work, std::function<void()> then) {
  state_->computations.Push([state = state_.get(), work = std::move(work), then = std::move(then)] {
    state->computing.fetch_add(1, std::memory_order_relaxed);
    work();
    state->computing.fetch_sub(1, std::memory_order_relaxed);
    JobQueue::MayBlock();
    then();
  });
}
void ThreadPool::ScheduleAlone(std::function<void()> work) { state_->lone_jobs.Push(std::move(work)); }
void ThreadPool::SchedulePart(std::function<void()> work) { state_->parts.Push(std::move(work)); }

void ThreadPool::ParallelFor(int64_t count, int64_t grain, RangeTask task, void* closure, int64_t nanoseconds) {
  if (count <= 0) return;
  State& state = *state_;
  const uint64_t total = static_cast<uint64_t>(count);
  const uint64_t least = static_cast<uint64_t>(std::clamp<int64_t>(grain, 1, count));
  const int free = state.threads - std::max(state.computing.load(std::memory_order_relaxed), 1);
  if (least >= total || state.workers.empty() || free <= 0) return task(closure, 0, count);
  const auto helpers = static_cast<uint32_t>(state.handover.Helpers(nanoseconds, state.threads - 1));
  if (helpers == 0) return task(closure, 0, count);
  // Eight chunks per thread even out threads of unequal speed at the price of a few atomic additions.
  const uint64_t pieces = (uint64_t{helpers} + 1) * 8;
  const uint64_t chunk = std::max(least, (total + pieces - 1) / pieces);
  bool wakes = true;
  if (const auto worth = static_cast<int64_t>(Tuning().threads.wake_nanoseconds); nanoseconds < worth) {
    const bool any_awake = state.SleepersUpTo(helpers) < helpers;
    // A lost addition only delays the next wake-up.
    const int64_t gone_by = state.short_work.load(std::memory_order_relaxed) + nanoseconds;
    wakes = !any_awake && gone_by >= worth;
    state.short_work.store(any_awake || wakes ? 0 : gone_by, std::memory_order_relaxed);
    if (!any_awake && !wakes) return task(closure, 0, count);
  }
  Slot* slot = state.Claim();
  if (slot == nullptr) return task(closure, 0, count);

  slot->task = task;
  slot->closure = closure;
  slot->chunk = chunk;
  slot->flushes_subnormals = FlushedFloatEnvironment::IsHere();
  const uint64_t chunks = (total + chunk - 1) / chunk;
  slot->share_count = static_cast<uint32_t>(std::min<uint64_t>({slot->shares.size(), chunks, uint64_t{helpers} + 1}));
  for (uint64_t i = 0; i < slot->share_count; ++i) {
    // Whole chunks.
    slot->shares[i].next.store(chunks * i / slot->share_count * chunk, std::memory_order_relaxed);
    slot->shares[i].end = std::min(chunks * (i + 1) / slot->share_count * chunk, total);
  }
  const int cpu = sched_getcpu();
  for (Sleeper& place : state.places) {
    if (place.IsOn(cpu)) place.KeepOff(cpu);
  }
  slot->put_out = Handover::Now();
  slot->helpers.store(helpers, std::memory_order_relaxed);
  state.wanted.store(helpers, std::memory_order_relaxed);
  slot->open.store(true, std::memory_order_seq_cst);
  state.epoch.fetch_add(1, std::memory_order_seq_cst);
  if (const uint64_t sleepers = wakes ? state.SleepersUpTo(helpers) : 0; sleepers > 0) {
    // One after the other is woken, and the caller begins after the last.
    const double each = Tuning().threads.wake_each_nanoseconds;
    const auto paid = static_cast<uint64_t>(std::max(std::sqrt(static_cast<double>(nanoseconds) / each), 1.0));
    const auto wake = static_cast<uint32_t>(std::min({sleepers, chunks - 1, static_cast<uint64_t>(free), paid}));
    for (uint32_t i = 1; i < state.places.size() && i <= helpers; ++i) state.places[i].KeepOff(cpu);
    FutexWake(state.epoch, static_cast<int>(wake), GroupsUpTo(helpers));
  }

  slot->Work(0);
  slot->open.store(false, std::memory_order_seq_cst);
  const auto left = [&] { return slot->users.load(std::memory_order_seq_cst) == 0; };
  if (!left() && !(state.spin && SpinUntil(TimeToSleep(), left))) {
    slot->caller_sleeps.store(1, std::memory_order_seq_cst);
    for (uint32_t users; (users = slot->users.load(std::memory_order_seq_cst)) != 0;) FutexWait(slot->users, users);
    slot->caller_sleeps.store(0, std::memory_order_relaxed);
  }
  slot->claimed.store(false, std::memory_order_release);
}

}  // namespace kiln
