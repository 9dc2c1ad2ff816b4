#include "src/base/cpu_placement.h"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace kiln {
namespace {

cpu_set_t AllowedCpus(pid_t thread) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  EXPECT_EQ(sched_getaffinity(thread, sizeof(allowed), &allowed), 0);
  return allowed;
}

std::vector<int> Cpus(const cpu_set_t& set) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void RunOn(pid_t thread, const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) CPU_SET(cpu, &set);
  ASSERT_EQ(sched_setaffinity(thread, sizeof(set), &set), 0);
}

std::vector<int> Without(std::vector<int> cpus, int cpu) {
  std::erase(cpus, cpu);
  return cpus;
}

// A thread that roams when it is told to, on a system with several CPUs; the test's own thread stays on the first one.
class CpuPlacement : public testing::Test {
 protected:
  void SetUp() override {
    before_ = AllowedCpus(0);
    all_ = Cpus(before_);
    if (all_.size() < 2) GTEST_SKIP() << "the process may use one CPU alone";
    thread_ = std::thread([this] {
      sleeper_.Begin();
      id_ = gettid();
      step_ = 1;
      step_.notify_all();
      for (int step = 1; (step_.wait(step), step = step_) != kStop;) {
        if (step == kRoam) sleeper_.Roam();
        step_ = 1;
        step_.notify_all();
      }
      sleeper_.End();
    });
    step_.wait(0);
    RunOn(0, {all_[0]});
  }

  void TearDown() override {
    if (!thread_.joinable()) return;
    step_ = kStop;
    step_.notify_all();
    thread_.join();
    sleeper_.KeepOff(sched_getcpu());  // of a thread that has ended: nothing happens
    EXPECT_EQ(Cpus(AllowedCpus(0)), std::vector<int>({all_[0]}));
    sched_setaffinity(0, sizeof(before_), &before_);
  }

  void Roam() {
    step_ = kRoam;
    step_.notify_all();
    step_.wait(kRoam);
  }

  std::vector<int> ThreadCpus() { return Cpus(AllowedCpus(id_)); }

  static constexpr int kRoam = 2, kStop = 3;
  std::vector<int> all_;
  Sleeper sleeper_;
  std::atomic<int> step_{0};
  pid_t id_ = 0;

 private:
  cpu_set_t before_;
  std::thread thread_;
};

TEST_F(CpuPlacement, AvoidsTheCallersCpuUntilItRoams) {
  sleeper_.KeepOff(sched_getcpu());
  EXPECT_EQ(ThreadCpus(), Without(all_, all_[0]));
  sleeper_.KeepOff(sched_getcpu());
  EXPECT_EQ(ThreadCpus(), Without(all_, all_[0]));
  RunOn(0, {all_[1]});
  sleeper_.KeepOff(sched_getcpu());
  EXPECT_EQ(ThreadCpus(), Without(all_, all_[1]));
  RunOn(0, {all_[0]});
  Roam();
  EXPECT_EQ(ThreadCpus(), all_);
  Roam();
  EXPECT_EQ(ThreadCpus(), all_);
}

TEST_F(CpuPlacement, ObeysTheHostProgram) {
  sleeper_.KeepOff(sched_getcpu());
  RunOn(id_, {all_[0]});
  RunOn(0, {all_[1]});
  sleeper_.KeepOff(sched_getcpu());
  EXPECT_EQ(ThreadCpus(), std::vector<int>({all_[0]}));
  RunOn(0, {all_[0]});
  sleeper_.KeepOff(sched_getcpu());  // there is no other
  EXPECT_EQ(ThreadCpus(), std::vector<int>({all_[0]}));
  RunOn(id_, all_);
  Roam();
  EXPECT_EQ(ThreadCpus(), all_);
}

}  // namespace
}  // namespace kiln
