#include "src/cpu/gemm_pad.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace kiln::cpu {
namespace {

// Element `index` of the copy, which has zeros where `from`, of row-major dimensions, has none.
int32_t PaddedElement(const std::vector<GemmPadding>& padding, const std::vector<int32_t>& from, int64_t index) {
  int64_t offset = 0, stride = 1;
  for (size_t i = padding.size(); i-- > 0;) {
    const GemmPadding& d = padding[i];
    const int64_t position = index % d.padded - d.low;
    index /= d.padded;
    if (position < 0 || position % d.dilation != 0 || position / d.dilation >= d.size) return 0;
    offset += position / d.dilation * stride;
    stride *= d.size;
  }
  return from[offset];
}

TEST(GemmPad, AnyRowsOfTheCopyHaveTheirElements) {
  std::mt19937 random(3);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 500; ++round) {
    std::vector<GemmPadding> padding(draw(1, 4));
    int64_t size = 1;
    for (GemmPadding& d : padding) {
      // Rows as they are, padded, cropped and spread.
      d.size = draw(1, 5);
      d.padded = d.size;
      if (draw(0, 2) > 0) {
        d.low = draw(-2, 3);
        d.dilation = draw(0, 2) == 0 ? draw(2, 3) : 1;
        d.padded = draw(1, 12);
      }
      size *= d.size;
    }
    std::vector<int32_t> from(size);
    for (int64_t i = 0; i < size; ++i) from[i] = static_cast<int32_t>(i + 1);
    const std::vector<int64_t> words = DescribeGemmPad(padding, sizeof(int32_t));
    const auto* pad = reinterpret_cast<const GemmPad*>(words.data());
    const int64_t row = padding.back().padded;
    const int64_t first = draw(0, static_cast<int>(pad->rows) - 1), begin = draw(0, 3), end = begin + draw(0, 40);
    constexpr int32_t kUntouched = -1;
    std::vector<int32_t> to((end + 1) * row, kUntouched);
    PadGemmRows(pad, reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(to.data()), first, begin, end);
    for (int64_t i = 0; i < static_cast<int64_t>(to.size()); ++i) {
      const bool is_made = i / row >= begin && i / row < std::min(end, pad->rows - first);
      ASSERT_EQ(to[i], is_made ? PaddedElement(padding, from, first * row + i) : kUntouched) << round << " " << i;
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
