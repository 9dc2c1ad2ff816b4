// Keeps threads that work at the same time on CPUs of their own, and wakes them on others than their wakers'.
// Schedulers do so where they see which CPUs are idle; in a virtual machine Linux takes a CPU that the hypervisor has
// put to sleep for a busy one, and has a thread that is woken wait for its turn on the waker's CPU, for a millisecond
// and more, while another CPU has nothing to do.
#ifndef KILN_BASE_CPU_PLACEMENT_H_
#define KILN_BASE_CPU_PLACEMENT_H_

#include <sched.h>
#include <sys/types.h>

#include <atomic>

namespace kiln {

// A thread that others wake.
class Sleeper {
 public:
  // By the thread itself: when it begins, and before it ends.
  void Begin();
  void End();
  // And while it is awake and looks for work.
  void Look() { cpu_.store(sched_getcpu(), std::memory_order_relaxed); }

  // By any thread: whether this one looked for work there, where it now waits for its turn behind who runs there.
  bool IsOn(int cpu) const { return cpu_.load(std::memory_order_relaxed) == cpu; }
  // By any thread, before it wakes this one, which then may run on all CPUs that the host program allows it but `cpu`;
  // on that as well when there is no other. Two system calls where it is not the last call's.
  void KeepOff(int cpu);
  // By the thread itself, when it is awake: lets it run on the avoided CPU again.
  void Roam();

 private:
  std::atomic<pid_t> thread_{0};   // 0 while there is none
  std::atomic<int> cpu_{-1};       // where it looked last
  std::atomic<bool> busy_{false};  // somebody is at the fields below
  std::atomic<int> avoided_{-1};   // the CPU
  cpu_set_t allowed_;              // with the avoided one
  cpu_set_t others_;               // without: what this set last
};

}  // namespace kiln

#endif  // KILN_BASE_CPU_PLACEMENT_H_
