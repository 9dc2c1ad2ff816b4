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
  EXPECT_EQ(handover.Helpers(1, 1), 1);
  NoteAfter(handover, 100'000, kNotes - 1);
  EXPECT_EQ(handover.Helpers(1, 1), 1);
  NoteAfter(handover, 100'000, 1);
  EXPECT_GE(handover.nanoseconds(), 100'000);
  const auto enough = static_cast<int64_t>(Tuning().threads.share_far_nanoseconds);
  EXPECT_EQ(handover.Helpers(enough - 1, 1), 0);
  EXPECT_EQ(handover.Helpers(enough, 1), 1);
  EXPECT_EQ(handover.Helpers(std::numeric_limits<int64_t>::max(), 1), 1);
}

TEST(Handover, WhatIsWorthwhileGrowsWithTheDistance) {
  const ThreadTuning& tuning = Tuning().threads;
  const int64_t middle = (tuning.near_nanoseconds + tuning.far_nanoseconds) / 2;
  Handover handover;
  NoteAfter(handover, middle);
  ASSERT_LT(handover.nanoseconds(), tuning.far_nanoseconds);  // else this thread was held up eight times
  EXPECT_EQ(handover.Helpers(static_cast<int64_t>(tuning.share_nanoseconds), 1), 0);
  EXPECT_EQ(handover.Helpers(static_cast<int64_t>(tuning.share_far_nanoseconds), 1), 1);
}

TEST(Handover, ManyThreadsHaveAPartInMuchWork) {
  Handover handover;
  NoteAfter(handover, 100'000);
  const int64_t each = handover.nanoseconds();
  EXPECT_EQ(handover.Helpers(25 * each, 63), 4);
  EXPECT_EQ(handover.Helpers(25 * each, 3), 3);
  EXPECT_EQ(handover.Helpers(1000 * each, 63), 30);
  EXPECT_EQ(handover.Helpers(std::numeric_limits<int64_t>::max(), 63), 63);
}

TEST(Handover, OneThreadInTimeIsNear) {
  Handover handover;
  NoteAfter(handover, 100'000, kNotes - 1);
  handover.Note(Handover::Now() + 1'000'000);  // as clocks that differ would tell
  EXPECT_EQ(handover.nanoseconds(), 0);
  EXPECT_EQ(handover.Helpers(1, 1), 1);
}

TEST(Handover, IsMeasuredAgainAfterMuchWork) {
  Handover handover;
  NoteAfter(handover, 100'000);
  const auto work = static_cast<int64_t>(Tuning().threads.share_far_nanoseconds) - 1;
  int kept = 0;
  while (handover.Helpers(work, 1) == 0) ASSERT_LT(++kept, 100'000);
  EXPECT_GT(kept * work, 5'000'000);
  // All work is shared until others have noted.
  NoteAfter(handover, 100'000, kNotes - 1);
  EXPECT_EQ(handover.Helpers(work, 1), 1);
  NoteAfter(handover, 100'000, 1);
  EXPECT_EQ(handover.Helpers(work, 1), 0);
  while (handover.Helpers(work, 1) == 0) continue;
  NoteAfter(handover, -1'000'000);
  EXPECT_EQ(handover.Helpers(1, 1), 1);
}

}  // namespace
}  // namespace kiln
