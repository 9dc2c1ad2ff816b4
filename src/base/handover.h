// How long it takes until a thread that looks for work begins with what another has put out: the distance between their
// CPUs. Between those of one cache it is a quarter of what it is between those of two, and a virtual machine's CPUs are
// the one now and the other a second later. A loop of kernels of some microseconds takes half the time on two near
// threads, and two to four times as long on two that are far apart.
#ifndef KILN_BASE_HANDOVER_H_
#define KILN_BASE_HANDOVER_H_

#include <atomic>
#include <cstdint>
#include <limits>

namespace kiln {

// Thread-safe; what is lost where threads meet only delays the next measurement.
class Handover {
 public:
  // Nanoseconds of a clock that all threads share.
  static int64_t Now();

  // By a thread that was awake when it found work, which was put out at `put_out` on that clock.
  void Note(int64_t put_out);

  // By a thread that may put out work that takes it `nanoseconds` alone: how many of at most `most` others should have
  // a part in it, so that it takes least; 0: it takes less without any. Some as well while nobody knows, and now and
  // then, so that others note.
  int Helpers(int64_t nanoseconds, int most);

  // As last measured; 0 before.
  int64_t nanoseconds() const { return nanoseconds_.load(std::memory_order_relaxed); }

 private:
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

  // Read by who puts out work each time, and seldom written.
  alignas(64) std::atomic<int64_t> nanoseconds_{0};
  std::atomic<int64_t> kept_{0};  // nanoseconds of work that was not put out since the last measurement
  // By who finds it: of the measurement in progress.
  alignas(64) std::atomic<int64_t> least_{kUnknown};
  std::atomic<int> notes_{0};
};

}  // namespace kiln

#endif  // KILN_BASE_HANDOVER_H_
