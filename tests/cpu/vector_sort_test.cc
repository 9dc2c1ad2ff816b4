#include "src/cpu/vector_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace kiln::cpu {
namespace {

struct Pattern {
  std::string name;
  std::function<uint64_t(std::mt19937_64& random, int64_t i, int64_t size)> key;
};

const Pattern kPatterns[] = {
    {"random", [](auto& random, int64_t, int64_t) { return random(); }},
    {"few", [](auto& random, int64_t, int64_t) { return random() % 3; }},
    {"largest", [](auto& random, int64_t, int64_t) { return ~(random() % 2); }},
    {"equal", [](auto&, int64_t, int64_t) { return uint64_t{5}; }},
    {"zero", [](auto&, int64_t, int64_t) { return uint64_t{0}; }},
    {"ascending", [](auto&, int64_t i, int64_t) { return static_cast<uint64_t>(i); }},
    {"descending", [](auto&, int64_t i, int64_t size) { return static_cast<uint64_t>(size - i); }},
    {"pipes", [](auto&, int64_t i, int64_t size) { return static_cast<uint64_t>(std::min(i, size - i)); }},
    // The pivot is taken of so many keys at equal distances, all of which are the smallest here.
    {"unlucky", [](auto&, int64_t i,
                   int64_t size) { return i % std::max<int64_t>(size / 16, 1) < size / 24 ? 1 + i : 1ull << 31 | i; }},
};

template <typename Key>
class VectorSortTest : public testing::Test {};
using Keys = testing::Types<uint32_t, uint64_t>;
TYPED_TEST_SUITE(VectorSortTest, Keys);

TYPED_TEST(VectorSortTest, SortsAndStaysWithinItsArrays) {
  if (!SortsInVectors()) GTEST_SKIP() << "This processor has no instruction set for it.";
  constexpr int64_t kGuard = 32;
  const TypeParam guard = static_cast<TypeParam>(0xA5A5A5A5A5A5A5A5);
  std::mt19937_64 random(7);
  for (const Pattern& pattern : kPatterns) {
    for (int64_t size : {0,  1,   2,   7,   8,   9,   15,  16,  17,  31,   33,   63,   64,
                         65, 100, 127, 128, 129, 200, 255, 256, 257, 1000, 1024, 5000, 70000}) {
      SCOPED_TRACE(pattern.name + " of " + std::to_string(size));
      std::vector<TypeParam> keys(size + 2 * kGuard, guard), spare = keys;
      for (int64_t i = 0; i < size; ++i) keys[kGuard + i] = static_cast<TypeParam>(pattern.key(random, i, size));
      std::vector<TypeParam> expected = keys;
      std::sort(expected.begin() + kGuard, expected.end() - kGuard);
      SortInVectors(keys.data() + kGuard, spare.data() + kGuard, size);
      ASSERT_EQ(keys, expected);
      ASSERT_TRUE(std::all_of(spare.begin(), spare.begin() + kGuard, [&](TypeParam key) { return key == guard; }));
      ASSERT_TRUE(std::all_of(spare.end() - kGuard, spare.end(), [&](TypeParam key) { return key == guard; }));
    }
  }
}

// Keys of which every pivot is among the least: after each part the others keep their order, so that what the next
// pivot is taken of is known. More rounds than the sort lets pivots fail.
TYPED_TEST(VectorSortTest, BadPivotsEnd) {
  if (!SortsInVectors()) GTEST_SKIP() << "This processor has no instruction set for it.";
  constexpr int64_t kSize = 20000, kLanes = 64 / sizeof(TypeParam), kRounds = 100;
  std::vector<int64_t> left(kSize);
  std::iota(left.begin(), left.end(), 0);
  std::vector<TypeParam> keys(kSize), spare(kSize);
  TypeParam next = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t distance = static_cast<int64_t>(left.size()) / kLanes;
    // From the last, so that the others stay where they are.
    for (int64_t i = kLanes / 2; i-- > 0;) {
      const auto at = left.begin() + i * distance + distance / 2;
      keys[*at] = next++;
      left.erase(at);
    }
  }
  for (int64_t i : left) keys[i] = next + static_cast<TypeParam>(i * 7919 % kSize);
  std::vector<TypeParam> expected = keys;
  std::sort(expected.begin(), expected.end());
  SortInVectors(keys.data(), spare.data(), kSize);
  EXPECT_EQ(keys, expected);
}

}  // namespace
}  // namespace kiln::cpu
