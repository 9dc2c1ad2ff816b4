#include "src/cpu/radix_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "src/base/thread_pool.h"
#include "src/cpu/top_rows.h"

namespace kiln::cpu {
namespace {

std::vector<uint8_t> RandomBytes(std::mt19937_64& random, int64_t count, uint64_t mask) {
  std::vector<uint8_t> bytes(count + 16);
  for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    const uint64_t word = random() & mask;
    std::memcpy(&bytes[i], &word, 8);
  }
  return bytes;
}

uint64_t KeyAt(const std::vector<uint8_t>& bytes, int64_t width, int64_t i) {
  uint64_t key = 0;
  std::memcpy(&key, &bytes[i * width], width);
  return key;
}

struct Case {
  int64_t rows, size;
  std::vector<int64_t> widths;
  uint64_t mask;  // of the keys' bits: few bits make many equal keys
};

void PrintTo(const Case& c, std::ostream* os) {
  *os << c.rows << "x" << c.size << " mask " << c.mask << " widths";
  for (int64_t width : c.widths) *os << " " << width;
}

class SortRowsTest : public testing::TestWithParam<Case> {};

TEST_P(SortRowsTest, SortsStablyAndCarriesTheOtherArrays) {
  const Case& c = GetParam();
  std::mt19937_64 random(7);
  std::vector<std::vector<uint8_t>> sources, results;
  for (size_t i = 0; i < c.widths.size(); ++i) {
    const int64_t bytes = c.rows * c.size * c.widths[i];
    sources.push_back(RandomBytes(random, bytes, i == 0 ? c.mask : ~uint64_t{0}));
    results.emplace_back(bytes + 16, 0xAA);
  }
  const RowSortShape shape = {c.rows, c.size, c.widths[0],    static_cast<int64_t>(c.widths.size()), {}, 0,
                              1,      2,      c.widths.data()};
  std::vector<const void*> arrays;
  for (auto& source : sources) arrays.push_back(source.data());
  for (auto& result : results) arrays.push_back(result.data());
  std::vector<uint64_t> scratch((RowSortScratchBytes(shape) + 64) / 8);
  ThreadPool pool(3);
  ProgramContext context;
  context.pool = &pool;
  SortRows(&context, &shape, arrays.data(), scratch.data());
  std::vector<std::vector<uint8_t>> in_place = sources;
  for (size_t i = 0; i < in_place.size(); ++i) {
    if (SortsInPlace(shape, static_cast<int64_t>(i))) arrays[i] = arrays[c.widths.size() + i] = in_place[i].data();
  }
  SortRows(&context, &shape, arrays.data(), scratch.data());
  for (size_t i = 0; i < in_place.size(); ++i) {
    if (arrays[i] != in_place[i].data()) continue;
    const int64_t bytes = c.rows * c.size * c.widths[i];
    EXPECT_EQ(std::memcmp(in_place[i].data(), results[i].data(), bytes), 0) << "array " << i << " in place";
  }
  for (int64_t row = 0; row < c.rows; ++row) {
    std::vector<int64_t> order(c.size);
    std::iota(order.begin(), order.end(), row * c.size);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return KeyAt(sources[0], c.widths[0], a) < KeyAt(sources[0], c.widths[0], b);
    });
    for (size_t array = 0; array < c.widths.size(); ++array) {
      const int64_t width = c.widths[array];
      for (int64_t i = 0; i < c.size; ++i) {
        ASSERT_EQ(std::memcmp(&results[array][(row * c.size + i) * width], &sources[array][order[i] * width], width), 0)
            << "array " << array << ", row " << row << ", element " << i;
      }
    }
  }
}

constexpr uint64_t kAll = ~uint64_t{0};

INSTANTIATE_TEST_SUITE_P(
    Shapes, SortRowsTest,
    testing::Values(
        Case{1, 1, {4}, kAll}, Case{7, 33, {4}, kAll}, Case{500, 64, {4, 4}, 0x0f0f0f0f0f0f0f0f},
        Case{3, 65, {8, 8}, kAll}, Case{40, 1000, {2, 4}, kAll}, Case{40, 300, {1, 8}, kAll},
        Case{5, 1000, {4, 2}, 0x00ff00ff00ff00ff}, Case{3, 700, {8, 1, 16, 4}, kAll}, Case{2, 100000, {4}, kAll},
        Case{1, 70001, {4, 4}, 0x000000ff000000ff}, Case{1, 66000, {8, 8}, kAll},
        Case{1, 66000, {4, 2, 8}, 0xff0000ffff0000ff}, Case{1, 90000, {4, 4}, 0}, Case{1, 70000, {8}, kAll},
        Case{3, 70000, {2}, kAll},
        // Buckets of most keys, of all, and of a few that differ in their lowest bits alone.
        Case{1, 300000, {4}, 0x0003ffff0003ffff}, Case{1, 70000, {4}, 0}, Case{1, 200000, {8}, 0x80000000000fffff},
        Case{1, 150000, {4}, 0xc00000ffc00000ff},
        // The same with other arrays: positions in a result, or in none; more in a bucket than there is room.
        Case{1, 300000, {4, 8}, 0x00ffffff00ffffff}, Case{1, 600000, {4, 4}, 0xc00000ffc00000ff},
        Case{1, 500000, {8, 4, 16}, 0x80000000000fffff}, Case{2, 70000, {8, 2}, kAll},
        Case{1, 400000, {8, 8}, 0xe0ffffffffffffff}, Case{17, 66000, {4, 1}, kAll}, Case{1, 70000, {2, 4}, kAll},
        Case{64, 64, {1}, kAll}, Case{9, 17, {2, 16}, 0x0101010101010101},
        // Many short rows.
        Case{1000, 10, {1}, kAll}, Case{333, 2, {8, 8}, 0x0303030303030303},
        Case{70, 31, {4, 1, 16}, 0x0707070707070707}, Case{130, 48, {4, 4}, 0x0f0f0f0f0f0f0f0f},
        Case{67, 64, {8, 2}, 0x0707070707070707}));

// Columns, in place and not.
TEST(SortColumnsTest, SortsThemAsRows) {
  std::mt19937_64 random(3);
  for (const auto& [outer, size, inner] :
       {std::array<int64_t, 3>{1, 1000, 70}, {3, 65, 5}, {2, 40, 1}, {5, 300, 16}, {1, 66000, 3}}) {
    for (const bool in_place : {false, true}) {
      const int64_t count = outer * size * inner;
      std::vector<uint32_t> source(count), expected(count), result(count);
      for (uint32_t& key : source) key = static_cast<uint32_t>(random()) & 0x7FFFFFFF;
      for (int64_t row = 0; row < outer * inner; ++row) {
        std::vector<uint32_t> column(size);
        auto at = [&](int64_t i) { return (row / inner * size + i) * inner + row % inner; };
        for (int64_t i = 0; i < size; ++i) column[i] = source[at(i)];
        std::sort(column.begin(), column.end());
        for (int64_t i = 0; i < size; ++i) expected[at(i)] = column[i];
      }
      constexpr int64_t kWidths[] = {4};
      const RowSortShape shape = {outer * inner, size, 4,      1, {analysis::KeyOrder::kNumbers, 0, 0x7FFFFFFF}, 0,
                                  inner,         2,    kWidths};
      const void* pointers[] = {source.data(), in_place ? source.data() : result.data()};
      std::vector<uint64_t> scratch((RowSortScratchBytes(shape) + 64) / 8);
      ThreadPool pool(3);
      ProgramContext context;
      context.pool = &pool;
      SortRows(&context, &shape, pointers, scratch.data());
      EXPECT_EQ(pointers[1] == result.data() ? result : source, expected) << outer << "x" << size << "x" << inner;
    }
  }
}

// Floats and integers, by their own bits: zeros of both signs, NaNs of several, and what a comparator says of them.
class KeyCodeTest : public testing::TestWithParam<std::tuple<analysis::KeyOrder, bool, int64_t>> {};

TEST_P(KeyCodeTest, OrdersElementsAsTheirTypeDoes) {
  using analysis::KeyOrder;
  const auto& [order, descending, size] = GetParam();
  constexpr uint32_t kSpecial[] = {0,          0x80000000, 0x7FC00000, 0xFFC00000, 0x7F800001,
                                   0x7F800000, 0xFF800000, 1,          0x80000001};
  std::mt19937_64 random(5);
  std::vector<uint32_t> elements(size), sorted(size);
  std::vector<int32_t> positions(size), places(size);
  for (int64_t i = 0; i < size; ++i) {
    elements[i] = random() % 3 == 0 ? kSpecial[random() % 9] : static_cast<uint32_t>(random());
    positions[i] = static_cast<int32_t>(i);
  }
  auto value = [&, order = order](uint32_t bits) -> int64_t {
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    if (order == KeyOrder::kUnsigned) return bits;
    if (order == KeyOrder::kSigned) return static_cast<int32_t>(bits);
    if (order == KeyOrder::kNumbers && magnitude > 0x7F800000) return int64_t{1} << 32;
    if (order != KeyOrder::kTotal && magnitude == 0) return 0;
    return bits >> 31 != 0 ? -1 - int64_t{magnitude} : magnitude;
  };
  std::vector<int32_t> expected = positions;
  std::stable_sort(expected.begin(), expected.end(), [&, descending = descending](int32_t a, int32_t b) {
    return descending ? value(elements[a]) > value(elements[b]) : value(elements[a]) < value(elements[b]);
  });
  ThreadPool pool(3);
  ProgramContext context;
  context.pool = &pool;
  const KeyCode code = {order, descending, 0x7F800000};
  constexpr int64_t kWidths[] = {4, 4};
  for (const int64_t arrays : {1, 2}) {
    const RowSortShape shape = {1, size, 4, arrays, code, 0, 1, 2, kWidths};
    const void* pointers[4] = {elements.data(), sorted.data()};
    if (arrays == 2) {
      pointers[1] = positions.data();
      pointers[2] = sorted.data();
      pointers[3] = places.data();
    }
    std::vector<uint64_t> scratch((RowSortScratchBytes(shape) + 64) / 8);
    SortRows(&context, &shape, pointers, scratch.data());
    for (int64_t i = 0; i < size; ++i)
      ASSERT_EQ(sorted[i], elements[expected[i]]) << arrays << " arrays, element " << i;
    std::vector<uint32_t> in_place = elements;
    pointers[0] = pointers[arrays] = in_place.data();
    SortRows(&context, &shape, pointers, scratch.data());
    EXPECT_EQ(in_place, sorted) << arrays << " arrays";
  }
  EXPECT_EQ(places, expected);
}

INSTANTIATE_TEST_SUITE_P(Orders, KeyCodeTest,
                         testing::Combine(testing::Values(analysis::KeyOrder::kUnsigned, analysis::KeyOrder::kSigned,
                                                          analysis::KeyOrder::kTotal, analysis::KeyOrder::kZerosEqual,
                                                          analysis::KeyOrder::kNumbers),
                                          testing::Bool(), testing::Values(50, 1000, 70000)));

// Complex numbers by their parts: with zeros and NaNs of any kind, and where all zeros are alike.
TEST(ComplexSortTest, OrdersByRealPartsThenByImaginaryOnes) {
  constexpr uint32_t kSpecial[] = {0, 0x80000000, 0x7FC00000, 0xFFC00000, 0x7F800000, 0xFF800000, 0x3F800000};
  std::mt19937_64 random(9);
  const auto rank = [](uint64_t part) -> int64_t {
    const uint32_t bits = static_cast<uint32_t>(part), magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return int64_t{1} << 32;
    return magnitude == 0 ? 0 : bits >> 31 != 0 ? -int64_t{magnitude} : int64_t{magnitude};
  };
  for (const int64_t size : {5, 50, 1000, 70000}) {
    for (const bool descending : {false, true}) {
      for (const bool alike : {false, true}) {
        std::vector<uint64_t> elements(size), result(size);
        for (uint64_t& element : elements) {
          const auto part = [&] {
            return random() % 2 == 0 ? kSpecial[random() % 7] : static_cast<uint32_t>(random());
          };
          element = alike ? uint64_t{0x80000000} << 32 | (random() & 0x3FFFFFFF) : uint64_t{part()} << 32 | part();
        }
        std::vector<uint64_t> expected = elements;
        std::stable_sort(expected.begin(), expected.end(), [&](uint64_t a, uint64_t b) {
          if (descending) std::swap(a, b);
          return std::pair(rank(a), rank(a >> 32)) < std::pair(rank(b), rank(b >> 32));
        });
        constexpr int64_t kWidths[] = {8};
        const RowSortShape shape = {1, size, 8, 1,      {analysis::KeyOrder::kComplex, descending, 0x7F800000},
                                    0, 1,    2, kWidths};
        std::vector<uint64_t> scratch((RowSortScratchBytes(shape) + 64) / 8);
        ThreadPool pool(3);
        ProgramContext context;
        context.pool = &pool;
        const void* pointers[] = {elements.data(), result.data()};
        SortRows(&context, &shape, pointers, scratch.data());
        EXPECT_EQ(result, expected) << size << " elements, alike " << alike << ", descending " << descending;
        pointers[1] = elements.data();
        SortRows(&context, &shape, pointers, scratch.data());
        EXPECT_EQ(elements, expected) << size << " elements in place, alike " << alike;
      }
    }
  }
}

class TopRowsTest : public testing::TestWithParam<std::tuple<int64_t, int64_t, int64_t, int64_t, uint64_t>> {};

TEST_P(TopRowsTest, SelectsTheLargestAndOfEqualOnesTheFirst) {
  const auto& [rows, size, width, k, mask] = GetParam();
  std::mt19937_64 random(11);
  const std::vector<uint8_t> keys = RandomBytes(random, rows * size * width, mask);
  std::vector<uint8_t> top(rows * k * width + 8);
  std::vector<int32_t> positions(rows * k);
  const TopRowsShape shape = {rows, size, width, k, {}};
  std::vector<uint64_t> scratch((TopRowsScratchBytes(shape) + 64) / 8);
  ThreadPool pool(3);
  ProgramContext context;
  context.pool = &pool;
  TopRows(&context, &shape, keys.data(), top.data(), positions.data(), scratch.data());
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int64_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return KeyAt(keys, width, row * size + a) > KeyAt(keys, width, row * size + b);
    });
    for (int64_t i = 0; i < k; ++i) {
      ASSERT_EQ(positions[row * k + i], order[i]) << "row " << row << ", rank " << i;
      ASSERT_EQ(KeyAt(top, width, row * k + i), KeyAt(keys, width, row * size + order[i]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TopRowsTest,
                         testing::Values(std::tuple(1, 1, 4, 1, kAll), std::tuple(3, 100000, 4, 10, kAll),
                                         std::tuple(100, 999, 2, 7, kAll), std::tuple(2, 5000, 1, 100, kAll),
                                         std::tuple(2, 5000, 8, 5000, kAll),
                                         std::tuple(4, 3000, 4, 64, 0x0303030303030303),
                                         std::tuple(1000, 10, 4, 5, 0x0303030303030303),
                                         std::tuple(77, 16, 1, 16, 0x0303030303030303), std::tuple(20, 2, 8, 1, kAll),
                                         std::tuple(50, 64, 2, 30, kAll)));

}  // namespace
}  // namespace kiln::cpu
