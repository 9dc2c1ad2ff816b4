#include "src/cpu/gemm_kernels.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cpu/isa_limit.h"

namespace kiln::cpu {
namespace {

uint16_t BrainBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

uint16_t HalfBits(float value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }

class NarrowingTest : public ::testing::TestWithParam<GemmWidening> {
 protected:
  // Of all exponents; ties, NaN with payloads in low bits only, infinities and zeros among them.
  float Next() {
    constexpr uint32_t kSpecial[] = {0x7f800000, 0xff800000, 0x7f800001, 0xffc00000, 0x80000000, 0x00000001,
                                     0x3f808000, 0x3f818000, 0x7f7fffff, 0x477fefff, 0x477ff000, 0x33000000};
    if (random_() % 16 == 0) return std::bit_cast<float>(kSpecial[random_() % std::size(kSpecial)]);
    return std::bit_cast<float>(static_cast<uint32_t>(random_()));
  }
  std::mt19937 random_{7};
};

TEST_P(NarrowingTest, RoundsTiles) {
  const GemmKernels* kernels = FindGemmKernels(GemmKernelKind::kF32);
  if (kernels == nullptr) GTEST_SKIP() << "no kernels for this host";
  GemmStore* narrow = kernels->narrow[static_cast<int>(GetParam())];
  ASSERT_NE(narrow, nullptr);
  constexpr uint16_t kUntouched = 0xabcd;
  for (int64_t columns = 1; columns <= 70; ++columns) {
    for (const int64_t out_column : {1, 3}) {
      const int64_t rows = 1 + columns % 4, sums_row = columns + 5, out_row = columns * out_column + 7;
      std::vector<float> sums(static_cast<size_t>(rows * sums_row));
      for (float& sum : sums) sum = Next();
      std::vector<uint16_t> expected(static_cast<size_t>(rows * out_row), kUntouched), found = expected;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t n = 0; n < columns; ++n) {
          const float sum = sums[static_cast<size_t>(row * sums_row + n)];
          expected[static_cast<size_t>(row * out_row + n * out_column)] =
              GetParam() == GemmWidening::kBrain ? BrainBits(sum) : HalfBits(sum);
        }
      }
      narrow(reinterpret_cast<const char*>(sums.data()), reinterpret_cast<char*>(found.data()), sums_row * 4,
             out_row * 2, out_column * 2, rows, columns);
      EXPECT_EQ(found, expected) << rows << " x " << columns << ", " << out_column << " elements apart";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NarrowingTest, ::testing::Values(GemmWidening::kBrain, GemmWidening::kHalf),
                         [](const auto& info) { return info.param == GemmWidening::kBrain ? "Brain" : "Half"; });

}  // namespace
}  // namespace kiln::cpu
