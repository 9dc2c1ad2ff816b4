#include "src/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/cpu_tuning.h"
#include "src/base/float_environment.h"

namespace kiln {
namespace {

template <typename Function>
void For(ThreadPool& pool, int64_t count, int64_t grain, Function function,
         int64_t nanoseconds = std::numeric_limits<int64_t>::max()) {
  pool.ParallelFor(
      count, grain, [](void* closure, int64_t begin, int64_t end) { (*static_cast<Function*>(closure))(begin, end); },
      &function, nanoseconds);
}

TEST(ThreadPool, CoversEveryIndexOnce) {
  for (int threads : {-3, 0, 1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), std::max(threads, 1));
    for (int64_t count : {0, 1, 2, 3, 15, 16, 17, 100, 1000, 4099}) {
      for (int64_t grain : {-1, 0, 1, 7, 64, 5000}) {
        std::vector<std::atomic<int>> hits(count);
        For(pool, count, grain, [&](int64_t begin, int64_t end) {
          EXPECT_LT(begin, end);
          if (end != count) EXPECT_GE(end - begin, grain);
          for (int64_t i = begin; i < end; ++i) hits[i].fetch_add(1);
        });
        for (int64_t i = 0; i < count; ++i)
          ASSERT_EQ(hits[i], 1) << threads << " " << count << " " << grain << " " << i;
      }
    }
  }
}

TEST(ThreadPool, WorkersRunOnOtherCpusThanCallers) {
  cpu_set_t all;
  CPU_ZERO(&all);
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "the process may use one CPU alone";
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all)) cpus.push_back(cpu);
  }
  ThreadPool pool(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the worker sleeps then
  const std::thread::id caller = std::this_thread::get_id();
  for (int round = 0; round < 20; ++round) {  // and is awake from the second round on
    const int cpu = cpus[round % 2];
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(cpu, &here);
    ASSERT_EQ(sched_setaffinity(0, sizeof(here), &here), 0);
    std::atomic<int> begun{0};
    std::atomic<int> worker_cpu{cpu};
    For(pool, 2, 1, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() != caller) worker_cpu = sched_getcpu();
      for (begun.fetch_add(1); begun < 2;) std::this_thread::yield();  // so that each thread has one
    });
    EXPECT_NE(worker_cpu, cpu) << round;
  }
  sched_setaffinity(0, sizeof(all), &all);
}

TEST(ThreadPool, NegativeCountRunsNothing) {
  ThreadPool pool(2);
  For(pool, -5, 1, [](int64_t, int64_t) { ADD_FAILURE(); });
}

TEST(ThreadPool, HugeCountsDoNotOverflow) {
  ThreadPool pool(3);
  const int64_t count = std::numeric_limits<int64_t>::max();
  for (int64_t grain : {int64_t{1}, count / 2 + 1, count}) {
    std::atomic<int64_t> covered{0};
    For(pool, count, grain, [&](int64_t begin, int64_t end) {
      ASSERT_GE(begin, 0);
      ASSERT_GT(end, begin);
      covered += end - begin;
    });
    EXPECT_EQ(covered, count);
  }
}

TEST(ThreadPool, WorkersTakePart) {
  ThreadPool pool(2);
  // Each of the two ranges waits for the other, so one thread alone never ends.
  std::atomic<int> arrived{0};
  For(pool, 2, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ++arrived;
      while (arrived < 2) sched_yield();
    }
  });
  EXPECT_EQ(arrived, 2);
}

// Whether two threads meet in work of so many nanoseconds; the first waits for the second for up to `patience`.
bool IsShared(ThreadPool& pool, int64_t nanoseconds, std::chrono::milliseconds patience) {
  std::atomic<int> arrived{0};
  std::atomic<bool> met{false};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto meet = [&](int64_t, int64_t) {
    ++arrived;
    while (!met && std::chrono::steady_clock::now() < deadline) {
      if (arrived == 2) met = true;
      sched_yield();
    }
    --arrived;
  };
  For(pool, 2, 1, meet, nanoseconds);
  return met;
}

TEST(ThreadPool, ShortWorkWakesNobodyUntilThereIsMuchOfIt) {
  ThreadPool pool(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the worker falls asleep
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(IsShared(pool, 0, std::chrono::milliseconds(1)));
  const auto half = static_cast<int64_t>(Tuning().threads.wake_nanoseconds / 2);
  EXPECT_FALSE(IsShared(pool, half, std::chrono::milliseconds(1)));
  EXPECT_TRUE(IsShared(pool, half, std::chrono::seconds(20)));
}

TEST(ThreadPool, ShortWorkIsSharedWithWorkersThatAreAwake) {
  ThreadPool pool(2);
  bool shared = false;
  for (int i = 0; i < 1000 && !shared; ++i) {
    ASSERT_TRUE(IsShared(pool, std::numeric_limits<int64_t>::max(), std::chrono::seconds(20)));
    shared = IsShared(pool, 0, std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(shared);
}

// Threads that had a part in some work of so many nanoseconds, of which each index takes a millisecond.
size_t ThreadsWithAPart(ThreadPool& pool, int64_t nanoseconds) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for (int i = 0; i < 5; ++i) {
    For(
        pool, pool.threads(), 1,
        [&](int64_t, int64_t) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          const std::lock_guard<std::mutex> lock(mutex);
          threads.insert(std::this_thread::get_id());
        },
        nanoseconds);
  }
  return threads.size();
}

TEST(ThreadPool, ShortWorkIsForFewThreads) {
  // More than there are groups of sleepers. How many depends on how soon they begin, which takes 25 ns and more.
  ThreadPool pool(64);
  EXPECT_LE(ThreadsWithAPart(pool, static_cast<int64_t>(Tuning().threads.wake_nanoseconds)), 30);
  EXPECT_GT(ThreadsWithAPart(pool, std::numeric_limits<int64_t>::max()), 32);
}

TEST(ThreadPool, ThreadsBeginInSharesOfTheirOwn) {
  ThreadPool pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int64_t> first{-1};
  For(pool, 1600, 1, [&](int64_t begin, int64_t) {
    int64_t none = -1;
    if (std::this_thread::get_id() != caller) first.compare_exchange_strong(none, begin);
    while (begin == 0 && first < 0) sched_yield();
  });
  EXPECT_EQ(first, 800);
}

TEST(ThreadPool, NestedCallsAddUp) {
  ThreadPool pool(4);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int64_t> sum{0};
    For(pool, 13, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        For(pool, 17, 1, [&](int64_t begin, int64_t end) {
          for (int64_t j = begin; j < end; ++j) {
            For(pool, 5, 1, [&](int64_t begin, int64_t end) { sum += (end - begin) * (i * 17 + j); });
          }
        });
      }
    });
    EXPECT_EQ(sum, 5 * (13 * 17) * (13 * 17 - 1) / 2);
  }
}

TEST(ThreadPool, ManyCallersAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::vector<int64_t> values(257, 0);  // Plain memory: the return of ParallelFor must publish it.
        For(pool, 257, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) values[i] += i;
        });
        for (int64_t i = 0; i < 257; ++i) wrong += values[i] != i;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, SleepingWorkersWake) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> arrived{0};
    For(pool, 2, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        ++arrived;
        while (arrived < 2) sched_yield();
      }
    });
  }
}

TEST(ThreadPool, ScheduleNeverRunsInline) {
  for (int threads : {1, 2}) {
    ThreadPool pool(threads);
    std::mutex mutex;
    std::promise<std::thread::id> ran;
    {
      std::lock_guard<std::mutex> lock(mutex);
      pool.Schedule([&] {
        std::lock_guard<std::mutex> lock(mutex);
        ran.set_value(std::this_thread::get_id());
      });
    }
    EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
  }
}

TEST(ThreadPool, WorkersTakeSubnormalsForZerosWhereTheCallerDoes) {
  ThreadPool pool(4);
  const auto tasks_that_flush = [&] {
    std::atomic<int> flushing = 0;
    const auto task = [](void* closure, int64_t begin, int64_t end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // others come to help
      if (FlushedFloatEnvironment::IsHere()) *static_cast<std::atomic<int>*>(closure) += static_cast<int>(end - begin);
    };
    pool.ParallelFor(32, 1, task, &flushing);
    return flushing.load();
  };
  EXPECT_EQ(tasks_that_flush(), 0);
  {
    const FlushedFloatEnvironment environment;
    EXPECT_EQ(tasks_that_flush(), 32);
  }
  EXPECT_EQ(tasks_that_flush(), 0);
}

TEST(ThreadPool, PartsDoNotQueueBehindOtherWork) {
  std::promise<void> release, waits;
  ThreadPool pool(1);  // gone before what its job waits for
  pool.Schedule([&] {
    std::promise<void> part;
    // Stands in the queue, and may not run while this does.
    pool.Schedule([] {});
    pool.SchedulePart([&] { part.set_value(); });
    part.get_future().wait();
    waits.set_value();
    release.get_future().wait();
  });
  EXPECT_EQ(waits.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  release.set_value();
}

// When jobs began and ended. A queue takes one that stands still for its patience for blocked, and begins another.
class Progress {
 public:
  void Mark() {
    const auto now = std::chrono::steady_clock::now();
    std::lock_guard<std::mutex> lock(mutex_);
    stood_still_ |= now - std::exchange(last_, now) >= kPatience;
  }
  bool stood_still() const { return stood_still_; }

 private:
  static constexpr auto kPatience = std::chrono::milliseconds(1);  // JobQueue's
  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool stood_still_ = false;
};

// Tries again only where the machine, busy with other things, let a job stand still.
bool Holds(const std::function<bool(Progress&)>& attempt) {
  for (int i = 0; i < 50; ++i) {
    Progress progress;
    if (attempt(progress)) return true;
    if (!progress.stood_still()) return false;
  }
  return false;
}

bool LoneWorkRunsOneByOneBesideOtherWork(Progress& progress) {
  std::atomic<int> running{0}, most{0}, ran{0};
  std::promise<void> all, other;
  ThreadPool pool(4);
  for (int i = 0; i < 50; ++i) {
    pool.ScheduleAlone([&] {
      most = std::max(most.load(), ++running);
      progress.Mark();
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
      while (std::chrono::steady_clock::now() < end) continue;
      progress.Mark();
      --running;
      if (++ran == 50) all.set_value();
    });
  }
  pool.Schedule([&] { other.set_value(); });
  other.get_future().wait();
  all.get_future().wait();
  return most == 1;
}

TEST(ThreadPool, LoneWorkRunsOneByOneBesideOtherWork) { EXPECT_TRUE(Holds(LoneWorkRunsOneByOneBesideOtherWork)); }

bool OneByOneKeepsOrder(Progress& progress) {
  std::promise<void> all;
  std::atomic<int> started{0}, ended{0};
  std::vector<int> order(50, -1);
  ThreadPool pool(1);
  for (int i = 0; i < 50; ++i) {
    pool.Schedule([&, i] {
      order[started++] = i;
      progress.Mark();
      if (++ended == 50) all.set_value();
    });
  }
  all.get_future().get();
  return std::is_sorted(order.begin(), order.end());
}

TEST(ThreadPool, OneByOneKeepsOrder) { EXPECT_TRUE(Holds(OneByOneKeepsOrder)); }

TEST(ThreadPool, JobsMayWaitForLaterJobs) {
  ThreadPool pool(2);
  constexpr int kDepth = 6;
  std::vector<std::promise<void>> done(kDepth + 1);
  for (int i = 0; i < kDepth; ++i) {
    pool.Schedule([&, i] {
      done[i + 1].get_future().wait();
      done[i].set_value();
    });
  }
  pool.Schedule([&] { done[kDepth].set_value(); });
  EXPECT_EQ(done[0].get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST(ThreadPool, ComputationsLeaveCpusToEachOther) {
  ThreadPool pool(2);
  std::atomic<int> running{0}, most{0}, alone{0}, ended{0};
  std::promise<void> last;
  constexpr int kCount = 6;
  for (int i = 0; i < kCount; ++i) {
    const auto compute = [&] {
      const int now = ++running;
      for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
      }
      // Longer than a job that may block may keep others waiting.
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
      while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
      --running;
    };
    pool.ScheduleComputation(compute, [&] {
      if (++ended == kCount) last.set_value();
    });
  }
  last.get_future().wait();
  EXPECT_EQ(most, 2);

  std::atomic<int> begun{0}, shared{0}, done{0};
  std::promise<void> both;
  const auto compute = [&] {
    for (++begun; begun < 2;) std::this_thread::yield();
    const std::thread::id caller = std::this_thread::get_id();
    For(pool, 100, 1, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() == caller) {
        ++alone;
      } else {
        ++shared;
      }
    });
    for (++done; done < 2;) std::this_thread::yield();
  };
  pool.ScheduleComputation(compute, [] {});
  pool.ScheduleComputation(compute, [&] { both.set_value(); });
  both.get_future().wait();
  EXPECT_EQ(alone, 2);  // each in one piece
  EXPECT_EQ(shared, 0);

  // What is alone has all CPUs.
  std::atomic<int> arrived{0};
  std::promise<void> end;
  const auto meet = [&] {
    For(pool, 2, 1, [&](int64_t begin, int64_t end) {
      for (arrived += static_cast<int>(end - begin); arrived < 2;) std::this_thread::yield();
    });
  };
  pool.ScheduleComputation(meet, [&] { end.set_value(); });
  EXPECT_EQ(end.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST(ThreadPool, ComputationsBeginOnCpusOfTheirOwn) {
  if (ThreadPool::AvailableCpus() < 2) GTEST_SKIP() << "the process may use one CPU alone";
  ThreadPool pool(2);
  constexpr int kRounds = 50;
  int own = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> cpus[2] = {-1, -1}, begun{0}, ended{0};
    std::promise<void> both;
    for (std::atomic<int>& cpu : cpus) {
      const auto compute = [&] {
        cpu = sched_getcpu();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        for (++begun; begun < 2 && std::chrono::steady_clock::now() < end;) {  // so that each thread has one
        }
      };
      pool.ScheduleComputation(compute, [&] {
        if (++ended == 2) both.set_value();
      });
    }
    both.get_future().wait();
    own += cpus[0] != cpus[1] ? 1 : 0;
  }
  EXPECT_GE(own, kRounds * 3 / 4);  // others may move them in between
}

TEST(ThreadPool, EndsOfComputationsMayWaitForLaterOnes) {
  ThreadPool pool(2);
  constexpr int kDepth = 4;
  std::vector<std::promise<void>> done(kDepth + 1);
  for (int i = 0; i < kDepth; ++i) {
    pool.ScheduleComputation([] {},
                             [&, i] {
                               done[i + 1].get_future().wait();
                               done[i].set_value();
                             });
  }
  pool.ScheduleComputation([] {}, [&] { done[kDepth].set_value(); });
  EXPECT_EQ(done[0].get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST(ThreadPool, BlockedJobsDoNotStarveParallelFor) {
  ThreadPool pool(2);
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  for (int i = 0; i < 4; ++i) pool.Schedule([open] { open.wait(); });
  std::atomic<int> arrived{0};
  For(pool, 2, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ++arrived;
      while (arrived < 2) sched_yield();
    }
  });
  EXPECT_EQ(arrived, 2);
  gate.set_value();
}

// The end of a pool meets workers at every point of their loop.
TEST(ThreadPool, ComesAndGoes) {
  for (int round = 0; round < 1500; ++round) {
    ThreadPool pool(3);
    if (round % 3 == 0) continue;
    std::atomic<int64_t> sum{0};
    For(pool, 64, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    ASSERT_EQ(sum, 64);
    if (round % 3 == 1) std::this_thread::sleep_for(std::chrono::microseconds(round % 97));
  }
}

TEST(ThreadPool, DestructorWaitsForScheduledWork) {
  std::atomic<int> done{0};
  {
    ThreadPool pool(2);
    for (int i = 0; i < 20; ++i) {
      pool.Schedule([&] {
        For(pool, 100, 1, [&](int64_t begin, int64_t end) { done += end - begin; });
        pool.Schedule([&] { done += 1000; });
      });
    }
  }
  EXPECT_EQ(done, 20 * 1100);
}

TEST(ThreadPool, AvailableCpusIsWithinAffinity) {
  const int before = ThreadPool::AvailableCpus();
  EXPECT_GE(before, 1);
  cpu_set_t saved;
  ASSERT_EQ(sched_getaffinity(0, sizeof(saved), &saved), 0);
  EXPECT_LE(before, CPU_COUNT(&saved));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &saved)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(ThreadPool::AvailableCpus(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(saved), &saved), 0);
}

// Not an assertion on time, which a shared machine cannot hold: the number is for the reader of the log.
TEST(ThreadPool, ReportsFanOutTime) {
  ThreadPool pool(2);
  std::atomic<int64_t> sink{0};
  const auto call = [&] { For(pool, 2, 1, [&](int64_t begin, int64_t end) { sink += end - begin; }); };
  for (int i = 0; i < 100; ++i) call();
  const auto start = std::chrono::steady_clock::now();
  constexpr int kCalls = 5000;
  for (int i = 0; i < kCalls; ++i) call();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("nanoseconds_per_call", static_cast<int>(seconds / kCalls * 1e9));
  printf("ParallelFor of 2 on 2 threads: %.0f ns, a worker begins after %d ns\n", seconds / kCalls * 1e9,
         static_cast<int>(pool.handover_nanoseconds()));
  EXPECT_EQ(sink, 2 * (kCalls + 100));
}

}  // namespace
}  // namespace kiln
