#include "src/kernel/math/large_reduction.h"

#include <bit>
#include <cmath>
#include <limits>

#include "src/kernel/math/coefficients.h"

namespace kiln::kernel::math {

// EmitLargeReduction of trigonometric.cc, which explains the steps.
void ReduceLarge(double x, LargeReduction* result) {
  using Wide = unsigned __int128;
  const auto bits = std::bit_cast<uint64_t>(x);
  const int field = static_cast<int>(bits >> 52) & 0x7ff;
  if (field == 0x7ff) {
    *result = {0, std::numeric_limits<double>::quiet_NaN(), 0};
    return;
  }
  const Wide significand = (bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  const int start = field + (62 - 1075);
  const auto window = [&](int i) {
    const uint64_t* words = kTwoOverPiBits + start / 64 + i;
    return start % 64 == 0 ? words[0] : words[0] << (start % 64) | words[1] >> (64 - start % 64);
  };
  const Wide low = significand * window(2);
  const Wide middle = significand * window(1) + (low >> 64);
  const Wide top = significand * window(0) + (middle >> 64);
  const Wide product = top << 64 | static_cast<uint64_t>(middle);
  const int64_t quadrant = static_cast<int64_t>(static_cast<uint64_t>(product >> 126) + (product >> 125 & 1));
  const auto fraction = static_cast<__int128>(product << 2 | static_cast<uint64_t>(low) >> 62);
  const Wide size = (fraction < 0 ? -static_cast<Wide>(fraction) : static_cast<Wide>(fraction)) | 1;
  const auto high_word = static_cast<uint64_t>(size >> 64);
  const int zeros = high_word != 0 ? std::countl_zero(high_word) : 64 + std::countl_zero(static_cast<uint64_t>(size));
  const Wide normalized = size << zeros;
  const bool negative = (fraction < 0) != (static_cast<int64_t>(bits) < 0);
  const double unit = std::ldexp(negative ? -1.0 : 1.0, -zeros);
  const double head = static_cast<double>(static_cast<uint64_t>(normalized >> 75)) * 0x1p-53 * unit;
  const double tail = static_cast<double>(static_cast<uint64_t>(normalized >> 11)) * 0x1p-117 * unit;
  const double high = head * kHalfPiF64[0];
  const double rest = std::fma(head, kHalfPiF64[0], -high) + std::fma(head, kHalfPiF64[1], tail * kHalfPiF64[0]);
  const double sum = high + rest;
  *result = {static_cast<int64_t>(bits) < 0 ? -quadrant : quadrant, sum, rest - (sum - high)};
}

}  // namespace kiln::kernel::math
