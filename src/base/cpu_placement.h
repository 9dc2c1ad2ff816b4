// Wakes threads on other CPUs than their wakers'. Schedulers do so where they see which CPUs are idle; in a virtual
// machine Linux takes a CPU that the hypervisor has put to sleep for a busy one, and has a thread that is woken wait
// for its turn on the waker's CPU, for a millisecond and more, while another CPU has nothing to do.
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

  // By any thread, before it wakes this one, which then may run on all CPUs that the host program allows it but the
  // caller's; on that as well when there is no other. Two system calls where the caller's CPU is not the last one's.
  void KeepOffCaller();
  // By the thread itself, when it is awake: lets it run on the avoided CPU again.
  void Roam();

 private:
  std::atomic<pid_t> thread_{0};   // 0 while there is none
  std::atomic<bool> busy_{false};  // somebody is at the fields below
  std::atomic<int> avoided_{-1};   // the CPU
  cpu_set_t allowed_;              // with the avoided one
  cpu_set_t others_;               // without: what this set last
};

}  // namespace kiln

#endif  // KILN_BASE_CPU_PLACEMENT_H_
