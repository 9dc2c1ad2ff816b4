#include "src/runtime/strided_copy.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace kiln::runtime {
namespace {

// Copies element by element; the oracle.
void SlowCopy(int64_t bytes, const std::vector<int64_t>& dimensions, const char* source,
              const std::vector<int64_t>& source_strides, char* destination, const std::vector<int64_t>& strides) {
  int64_t count = 1;
  for (int64_t size : dimensions) count *= size;
  for (int64_t linear = 0; linear < count; ++linear) {
    int64_t rest = linear, from = 0, to = 0;
    for (int i = static_cast<int>(dimensions.size()) - 1; i >= 0; --i) {
      from += rest % dimensions[i] * source_strides[i];
      to += rest % dimensions[i] * strides[i];
      rest /= dimensions[i];
    }
    std::copy_n(source + from, bytes, destination + to);
  }
}

TEST(StridedCopyTest, RandomLayoutsAgreeWithTheSlowCopy) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    const int64_t bytes = std::vector<int64_t>{1, 2, 4, 8, 16, 3}[pick(0, 5)];
    const int rank = static_cast<int>(pick(0, 5));
    std::vector<int64_t> dimensions(rank);
    for (int64_t& size : dimensions) size = pick(0, 9) == 0 ? 0 : pick(1, rank > 3 ? 6 : 40);
    const auto strides_of = [&](bool host) {
      std::vector<int> order(rank);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      std::vector<int64_t> strides(rank);
      int64_t stride = bytes;
      for (int dimension : order) {
        strides[dimension] = stride;
        stride *= std::max<int64_t>(dimensions[dimension], 1) * (host && pick(0, 3) == 0 ? 2 : 1);
        if (host && pick(0, 3) == 0) strides[dimension] = -strides[dimension];
        if (host && pick(0, 9) == 0) strides[dimension] = 0;
      }
      return std::make_pair(strides, stride);
    };
    const auto [source_strides, source_extent] = strides_of(true);
    const auto [strides, extent] = strides_of(false);
    std::vector<char> source(2 * source_extent + 64);
    for (char& c : source) c = static_cast<char>(random());
    std::vector<char> fast(extent, 0), slow(extent, 0);
    const char* origin = source.data() + source_extent;
    StridedCopy(bytes, dimensions, origin, source_strides, fast.data(), strides);
    SlowCopy(bytes, dimensions, origin, source_strides, slow.data(), strides);
    ASSERT_EQ(fast, slow) << "round " << round;
  }
}

}  // namespace
}  // namespace kiln::runtime
