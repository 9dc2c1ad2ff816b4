// No two ranges that live at one time share memory, and the arena is no larger than it must be in simple cases.
#include "src/analysis/arena_packing.h"

#include <random>
#include <set>

#include "gtest/gtest.h"

namespace kiln::analysis {
namespace {

TEST(ArenaPackingTest, RandomRangesNeverMeet) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<LiveRange> ranges(random() % 60 + 1);
    int64_t total = 0, peak = 0;
    for (LiveRange& range : ranges) {
      range.bytes = static_cast<int64_t>(random() % 5 == 0 ? random() % 100000 : random() % 300);
      if (round % 3 == 0) range.bytes = 4096 * static_cast<int64_t>(random() % 8);
      range.first = static_cast<int64_t>(random() % 40);
      range.last = range.first + static_cast<int64_t>(random() % 10);
      total += (range.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    }
    for (int64_t time = 0; time < 50; ++time) {
      int64_t live = 0;
      for (const LiveRange& range : ranges) live += range.first <= time && time <= range.last ? range.bytes : 0;
      peak = std::max(peak, live);
    }
    const int64_t bytes = PackArena(&ranges);
    EXPECT_LE(bytes, round % 3 == 0 ? total + total / 60 : total);
    EXPECT_GE(bytes, peak);
    for (size_t i = 0; i < ranges.size(); ++i) {
      const LiveRange& a = ranges[i];
      EXPECT_EQ(a.offset % kArenaAlignment, 0);
      EXPECT_GE(a.offset, 0);
      EXPECT_LE(a.offset + a.bytes, bytes);
      for (size_t j = 0; j < i; ++j) {
        const LiveRange& b = ranges[j];
        if (a.bytes == 0 || b.bytes == 0 || a.last < b.first || b.last < a.first) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
            << "round " << round << ": ranges " << i << " and " << j;
      }
    }
  }
}

TEST(ArenaPackingTest, ReusesMemoryOfTheDead) {
  std::vector<LiveRange> ranges = {{640, 0, 1}, {640, 2, 3}, {640, 4, 5}};
  EXPECT_EQ(PackArena(&ranges), 640);
}

// In the sets of a cache by 64 lines of 64 bytes there is room for few of each.
TEST(ArenaPackingTest, ManyRangesOfPagesBeginALineApart) {
  std::vector<LiveRange> ranges(12, {16384, 0, 1});
  EXPECT_EQ(PackArena(&ranges), 12 * 16384 + 11 * 64);
  std::set<int64_t> places;
  for (const LiveRange& range : ranges) places.insert(range.offset % 4096);
  EXPECT_EQ(places.size(), 12u);

  std::vector<LiveRange> few(8, {16384, 0, 1});
  EXPECT_EQ(PackArena(&few), 8 * 16384);
  // Where all but one were free, lines between would take more than they are worth.
  std::vector<LiveRange> in_results(12, {16384, 0, 1});
  const std::vector<FreeSpace> spaces(11, {16384, 2});
  EXPECT_EQ(PackArena(&in_results, spaces), 16384);
}

TEST(ArenaPackingTest, UsesFreeSpacesWhileTheyAreFree) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const std::vector<FreeSpace> spaces = {{5000, static_cast<int64_t>(random() % 40)}, {900, 20}};
    std::vector<LiveRange> ranges(random() % 40 + 1);
    for (LiveRange& range : ranges) {
      range.bytes = static_cast<int64_t>(random() % 2000 + 1);
      range.first = static_cast<int64_t>(random() % 40);
      range.last = range.first + static_cast<int64_t>(random() % 10);
    }
    const int64_t bytes = PackArena(&ranges, spaces);
    for (size_t i = 0; i < ranges.size(); ++i) {
      const LiveRange& a = ranges[i];
      EXPECT_LE(a.offset + a.bytes, a.space < 0 ? bytes : spaces[a.space].bytes);
      if (a.space >= 0) EXPECT_LT(a.last, spaces[a.space].until);
      for (size_t j = 0; j < i; ++j) {
        const LiveRange& b = ranges[j];
        if (a.space != b.space || a.last < b.first || b.last < a.first) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) << "round " << round;
      }
    }
  }
}

// One that lives long goes there in place of one that does not, whose memory in the arena another takes over.
TEST(ArenaPackingTest, TriesWhatElseSpacesHaveRoomFor) {
  std::vector<LiveRange> ranges = {{640, 2, 3}, {640, 1, 8}, {640, 8, 9}};
  EXPECT_EQ(PackArena(&ranges, {{640, 9}}), 640);
}

TEST(ArenaPackingTest, ManyShortRangesArePackedFast) {
  std::vector<LiveRange> ranges(200000);
  for (size_t i = 0; i < ranges.size(); ++i) {
    ranges[i] = {static_cast<int64_t>(64 + i % 1000), static_cast<int64_t>(i), static_cast<int64_t>(i + 3)};
  }
  EXPECT_LE(PackArena(&ranges), 4 * 2048);
}

// An index of each would take 64 megabytes.
TEST(ArenaPackingTest, SpacesThatStayEmptyTakeNothing) {
  std::vector<LiveRange> ranges = {{640, 0, 1}, {128, 1 << 20, 1 << 20}};
  EXPECT_EQ(PackArena(&ranges, std::vector<FreeSpace>(10000, {64, 1})), 640);
}

}  // namespace
}  // namespace kiln::analysis
