#include "src/base/handover.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"
#include "src/base/cpu_tuning.h"

namespace kiln {
namespace {

constexpr int kNotes = 8;  // of one measurement

// As threads note that begin `nanoseconds` or more after work is put out.
void NoteAfter(Handover& handover, int64_t nanoseconds, int notes = kNotes) {
  for (int i = 0; i < notes; ++i) handover.Note(Handover::Now() - nanoseconds);
}

TEST(Handover, SmallWorkIsWorthwhileUntilOthersAreKnownToBeFar) {
  Handover handover;
  EXPECT_TRUE(handover.IsWorthwhile(1));
  NoteAfter(handover, 100'000, kNotes - 1);
  EXPECT_TRUE(handover.IsWorthwhile(1));
  NoteAfter(handover, 100'000, 1);
  EXPECT_GE(handover.nanoseconds(), 100'000);
  const int64_t enough = Tuning().threads.share_far_nanoseconds;
  EXPECT_FALSE(handover.IsWorthwhile(enough - 1));
  EXPECT_TRUE(handover.IsWorthwhile(enough));
  EXPECT_TRUE(handover.IsWorthwhile(std::numeric_limits<int64_t>::max()));
}

TEST(Handover, OneThreadInTimeIsNear) {
  Handover handover;
  NoteAfter(handover, 100'000, kNotes - 1);
  handover.Note(Handover::Now() + 1'000'000);  // as clocks that differ would tell
  EXPECT_EQ(handover.nanoseconds(), 0);
  EXPECT_TRUE(handover.IsWorthwhile(1));
}

TEST(Handover, IsMeasuredAgainAfterMuchWork) {
  Handover handover;
  NoteAfter(handover, 100'000);
  const int64_t work = Tuning().threads.share_far_nanoseconds - 1;
  int kept = 0;
  while (!handover.IsWorthwhile(work)) ASSERT_LT(++kept, 100'000);
  EXPECT_GT(kept * work, 5'000'000);
  // All work is shared until others have noted.
  NoteAfter(handover, 100'000, kNotes - 1);
  EXPECT_TRUE(handover.IsWorthwhile(work));
  NoteAfter(handover, 100'000, 1);
  EXPECT_FALSE(handover.IsWorthwhile(work));
  while (!handover.IsWorthwhile(work)) continue;
  NoteAfter(handover, -1'000'000);
  EXPECT_TRUE(handover.IsWorthwhile(1));
}

}  // namespace
}  // namespace kiln
