#include "src/base/handover.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "src/base/cpu_tuning.h"

namespace kiln {
namespace {

// A measurement is the least of so many: a thread may have been held up, and at a distance none is quick.
constexpr int kNotes = 8;

// So much work is kept to its threads between two measurements, which take a hundred microseconds and more.
constexpr int64_t kKeptNanoseconds = 10'000'000;

}  // namespace

int64_t Handover::Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Handover::Note(int64_t put_out) {
  const int64_t least = std::min(least_.load(std::memory_order_relaxed), std::max<int64_t>(Now() - put_out, 0));
  if (notes_.fetch_add(1, std::memory_order_relaxed) + 1 < kNotes) {
    least_.store(least, std::memory_order_relaxed);
    return;
  }
  nanoseconds_.store(least, std::memory_order_relaxed);
  least_.store(kUnknown, std::memory_order_relaxed);
  notes_.store(0, std::memory_order_relaxed);
  kept_.store(0, std::memory_order_relaxed);
}

int Handover::Helpers(int64_t nanoseconds, int most) {
  const ThreadTuning& tuning = Tuning().threads;
  const int64_t measured = this->nanoseconds();
  // Each thread begins, and ends, after the one before: of n the last has its part after n handovers.
  const auto each = static_cast<double>(measured > 0 ? measured : tuning.near_nanoseconds);
  const auto threads = std::sqrt(static_cast<double>(nanoseconds) / each);
  const int helpers = std::clamp(static_cast<int>(std::min(threads, 1e6)) - 1, 1, most);
  if (measured <= tuning.near_nanoseconds) return helpers;
  const double distance = std::min(1.0, static_cast<double>(measured - tuning.near_nanoseconds) /
                                            static_cast<double>(tuning.far_nanoseconds - tuning.near_nanoseconds));
  const double least = tuning.share_nanoseconds + distance * (tuning.share_far_nanoseconds - tuning.share_nanoseconds);
  // Of two threads' work each keeps a half, of many threads' hardly any.
  if (static_cast<double>(nanoseconds) * 2 * helpers / (helpers + 1) >= least) return helpers;
  const int64_t kept = kept_.load(std::memory_order_relaxed) + nanoseconds;
  if (kept >= kKeptNanoseconds) return helpers;  // until the next measurement is done
  kept_.store(kept, std::memory_order_relaxed);
  return 0;
}

}  // namespace kiln
