#include "src/cpu/row_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

namespace kiln::cpu {
namespace {

// A network sorts everything if it sorts all rows of zeros and ones.
TEST(RowNetwork, SortsAllZerosAndOnes) {
  for (int64_t size = 1; size <= 16; ++size) {
    const RowNetwork network(size);
    for (uint32_t row = 0; row < uint32_t{1} << size; ++row) {
      uint32_t sorted = row;
      for (const auto [first, second] : network) {
        const uint32_t swaps = (sorted >> first & 1) & ~(sorted >> second & 1);
        sorted ^= swaps << first | swaps << second;
      }
      const int ones = std::popcount(row);
      ASSERT_EQ(sorted, ((uint32_t{1} << ones) - 1) << (size - ones)) << size << ": " << row;
    }
  }
}

TEST(RowNetwork, ComparesAsOftenAsBatchersNetworks) {
  for (const auto& [size, count] : {std::pair(1, 0), {4, 5}, {8, 19}, {16, 63}, {32, 191}, {64, 543}}) {
    EXPECT_EQ(RowNetwork(size).comparisons(), count);
  }
}

template <typename Key>
class RowBlockTest : public testing::Test {};
using Keys = testing::Types<uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(RowBlockTest, Keys);

// Rows of every size and number: by themselves or side by side, alone or with positions, in place or not.
TYPED_TEST(RowBlockTest, SortsStably) {
  std::mt19937_64 random(3);
  const KeyMasks<TypeParam> masks{KeyCode()};
  for (int64_t size = 1; size <= kNetworkSize; ++size) {
    const RowNetwork network(size);
    for (const bool with_positions : {false, true}) {
      const int64_t most = NetworkRows(sizeof(TypeParam), with_positions);
      for (const int64_t count : {most, most - 1, int64_t{1}}) {
        for (const int64_t inner : {int64_t{1}, count + 3}) {
          if (inner > 1 && with_positions) continue;
          // Few values, so that many are equal, and the highest ones.
          std::vector<TypeParam> rows(inner > 1 ? size * inner : size * count);
          for (TypeParam& key : rows) key = static_cast<TypeParam>(random() % 5 - 2);
          std::vector<TypeParam> sorted(rows.size(), 7), in_place = rows;
          std::vector<uint32_t> positions(size * count + 1, 77);
          uint32_t* const places = with_positions ? positions.data() : nullptr;
          ASSERT_TRUE(SortRowBlock(network, {count, inner}, masks, rows.data(), sorted.data(), places));
          ASSERT_TRUE(SortRowBlock(network, {count, inner}, masks, in_place.data(), in_place.data(), places));
          const auto at = [&](int64_t r, int64_t i) { return inner > 1 ? i * inner + r : r * size + i; };
          for (int64_t r = 0; r < count; ++r) {
            std::vector<uint32_t> order(size);
            std::iota(order.begin(), order.end(), 0);
            std::ranges::stable_sort(order, {}, [&](uint32_t i) { return rows[at(r, i)]; });
            for (int64_t i = 0; i < size; ++i) {
              ASSERT_EQ(sorted[at(r, i)], rows[at(r, order[i])]) << size << " " << count << " " << inner;
              ASSERT_EQ(in_place[at(r, i)], sorted[at(r, i)]);
              if (with_positions) ASSERT_EQ(positions[r * size + i], order[i]) << size << " " << count;
            }
          }
          // What lies beside the rows stays.
          for (int64_t i = 0; inner > 1 && i < size; ++i) {
            for (int64_t r = count; r < inner; ++r) ASSERT_EQ(sorted[at(r, i)], 7);
          }
          ASSERT_EQ(positions.back(), 77u);
        }
      }
    }
  }
}

TEST(RowBlock, LeavesAloneWhatKeysMerge) {
  const KeyMasks<uint32_t> masks{{analysis::KeyOrder::kNumbers, 0, 0x7f800000}};
  const RowNetwork network(2);
  for (const uint32_t lost : {0x80000000u, 0xffc00000u, 0x7fc00001u}) {
    std::vector<uint32_t> rows(32, 0x3f800000), sorted(32, 5);
    ASSERT_TRUE(SortRowBlock(network, {16, 1}, masks, rows.data(), sorted.data(), nullptr));
    ASSERT_EQ(sorted, rows);
    rows[31] = lost;
    EXPECT_FALSE(SortRowBlock(network, {16, 1}, masks, rows.data(), sorted.data(), nullptr)) << std::hex << lost;
    EXPECT_EQ(sorted[31], 0x3f800000u);
  }
}

}  // namespace
}  // namespace kiln::cpu
