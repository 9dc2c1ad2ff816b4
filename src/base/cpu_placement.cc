#include "src/base/cpu_placement.h"

#include <unistd.h>

namespace kiln {

void Sleeper::Begin() { thread_.store(gettid(), std::memory_order_release); }
void Sleeper::End() { thread_.store(0, std::memory_order_release); }

void Sleeper::KeepOff(int cpu) {
  const pid_t thread = thread_.load(std::memory_order_acquire);
  // Who finds somebody at it leaves the thread as it is, which may be slower but is never wrong.
  if (thread == 0 || cpu < 0 || cpu >= CPU_SETSIZE || avoided_.load(std::memory_order_relaxed) == cpu) return;
  if (busy_.exchange(true, std::memory_order_acquire)) return;
  cpu_set_t current;
  CPU_ZERO(&current);
  if (sched_getaffinity(thread, sizeof(current), &current) == 0) {
    // What differs from what was set here is the host program's wish.
    if (avoided_.load(std::memory_order_relaxed) < 0 || !CPU_EQUAL(&current, &others_)) allowed_ = current;
    others_ = allowed_;
    CPU_CLR(cpu, &others_);
    if (CPU_COUNT(&others_) == 0) others_ = allowed_;
    sched_setaffinity(thread, sizeof(others_), &others_);
    avoided_.store(cpu, std::memory_order_relaxed);
  }
  busy_.store(false, std::memory_order_release);
}

void Sleeper::Roam() {
  if (avoided_.load(std::memory_order_relaxed) < 0 || busy_.exchange(true, std::memory_order_acquire)) return;
  cpu_set_t current;
  CPU_ZERO(&current);
  if (sched_getaffinity(0, sizeof(current), &current) == 0 && CPU_EQUAL(&current, &others_)) {
    sched_setaffinity(0, sizeof(allowed_), &allowed_);
  }
  avoided_.store(-1, std::memory_order_relaxed);
  busy_.store(false, std::memory_order_release);
}

}  // namespace kiln
