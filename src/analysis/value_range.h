// What is known of the elements of an array without running the program.
#ifndef KILN_ANALYSIS_VALUE_RANGE_H_
#define KILN_ANALYSIS_VALUE_RANGE_H_

#include <cstdint>
#include <limits>

#include "src/hlo/instruction.h"

namespace kiln::analysis {

// Rules are tried again and again: constants of more elements, which take long to look at, are left alone.
inline constexpr int64_t kMaxConstantElements = 1 << 12;

// All elements are from `low` to `high`, but for those that the flags allow besides.
struct ValueRange {
  long double low, high;
  bool has_minus_zero, has_nan;

  bool IsNonNegative() const { return low >= 0 && !has_minus_zero; }
  bool IsFinite() const { return !has_nan && low > -kInfinity && high < kInfinity; }

  static constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
};
static_assert(std::numeric_limits<long double>::digits >= 64, "has all integers of 64 bits");

// Of an array; looks so many steps back. Nothing is known of complex numbers.
ValueRange RangeOf(const hlo::Instruction& x, int steps = 3);

// No element of x is below, or above, that of y: the maximum, or minimum, of both is x. y is never NaN.
bool IsNeverBelow(const ValueRange& x, const ValueRange& y);
bool IsNeverAbove(const ValueRange& x, const ValueRange& y);

// Where the elements of `moved` come from, some steps back.
const hlo::Instruction& Source(const hlo::Instruction& moved);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_VALUE_RANGE_H_
