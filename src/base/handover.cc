#include "src/base/handover.h"

#include <algorithm>
#include <chrono>

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

bool Handover::IsWorthwhile(int64_t nanoseconds) {
  const ThreadTuning& tuning = Tuning().threads;
  if (nanoseconds >= tuning.share_far_nanoseconds || this->nanoseconds() <= tuning.near_nanoseconds) return true;
  const int64_t kept = kept_.load(std::memory_order_relaxed) + nanoseconds;
  if (kept >= kKeptNanoseconds) return true;  // until the next measurement is done
  kept_.store(kept, std::memory_order_relaxed);
  return false;
}

}  // namespace kiln
