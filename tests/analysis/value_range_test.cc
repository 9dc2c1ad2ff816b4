#include "src/analysis/value_range.h"

#include "gtest/gtest.h"
#include "src/analysis/shifted_rows.h"
#include "tests/hlo_test_util.h"

namespace kiln::analysis {
namespace {

// A module whose root is `operation` over x and y = f32[8,8], and rows with their largest elements beside them.
std::unique_ptr<hlo::Module> Program(const std::string& operation) {
  return ParseOrDie(
      "HloModule m\n"
      "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }\n"
      "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
      "ENTRY main { x = f32[8,8] parameter(0) y = f32[8,8] parameter(1) i = f32[] parameter(2)\n"
      "  zero = f32[] constant(0) lowest = f32[] constant(-inf) two = f32[] constant(-2)\n"
      "  zeros = f32[8] broadcast(zero), dimensions={} twos = f32[8,8] broadcast(two), dimensions={}\n"
      "  nothing = f32[8,8] broadcast(zero), dimensions={}\n"
      "  most = f32[8] reduce(x, i), dimensions={1}, to_apply=max  finite = pred[8] is-finite(most)\n"
      "  guarded = f32[8] select(finite, most, zeros)  guards = f32[8,8] broadcast(guarded), dimensions={0}\n"
      "  along = f32[8,8] broadcast(most), dimensions={0}  across = f32[8,8] broadcast(most), dimensions={1}\n"
      "  less = f32[8,8] subtract(x, along)  e = f32[8,8] exponential(less)  size = f32[8,8] abs(x)\n"
      "  finite_less = f32[8,8] subtract(x, guards)  g = f32[8,8] exponential(finite_less)\n"
      "  square = f32[8,8] multiply(y, y)  away = f32[8,8] negate(size)\n"
      "  all = f32[] reduce(x, i), dimensions={0,1}, to_apply=max  alls = f32[8,8] broadcast(all), dimensions={}\n"
      "  all_less = f32[8,8] subtract(x, alls)  of_all = f32[8,8] exponential(all_less)\n"
      "  ROOT r = " +
      operation + "\n}");
}

ValueRange RangeOfRoot(const std::string& operation) { return RangeOf(*Program(operation)->entry()->root()); }

TEST(ValueRangeTest, SignsOfProductsAndQuotients) {
  for (const char* below :
       {"multiply(size, twos)", "multiply(twos, square)", "multiply(away, square)", "divide(away, square)"}) {
    const ValueRange range = RangeOfRoot(std::string("f32[8,8] ") + below);
    EXPECT_EQ(range.high, 0) << below;
    EXPECT_TRUE(range.has_minus_zero && range.has_nan) << below;
  }
  EXPECT_EQ(RangeOfRoot("f32[8,8] multiply(size, nothing)").low, 0);
  EXPECT_GT(RangeOfRoot("f32[8,8] multiply(x, twos)").high, 0);
  EXPECT_GT(RangeOfRoot("f32[8,8] multiply(away, away)").high, 0);
  EXPECT_GT(RangeOfRoot("f32[8,8] multiply(away, twos)").high, 0);
  // By -0 it is infinite.
  EXPECT_GT(RangeOfRoot("f32[8,8] divide(away, twos)").high, 0);
}

TEST(ValueRangeTest, Powers) {
  EXPECT_EQ(RangeOfRoot("f32[8,8] exponential(away)").high, 1);
  EXPECT_TRUE(RangeOfRoot("f32[8,8] exponential(away)").has_nan);
  EXPECT_EQ(RangeOfRoot("f32[8,8] exponential(away)").low, 0);
  EXPECT_EQ(RangeOfRoot("f32[8,8] exponential(size)").low, 1);
  EXPECT_EQ(RangeOfRoot("f32[8,8] exponential(x)").low, 0);
  EXPECT_GT(RangeOfRoot("f32[8,8] exponential(x)").high, 1);
}

TEST(ValueRangeTest, RowsLessTheirLargestElement) {
  EXPECT_EQ(RangeOfRoot("f32[8,8] subtract(x, along)").high, 0);
  EXPECT_TRUE(RangeOfRoot("f32[8,8] subtract(x, along)").has_nan);
  EXPECT_GT(RangeOfRoot("f32[8,8] subtract(y, along)").high, 0);
  EXPECT_GT(RangeOfRoot("f32[8,8] subtract(x, across)").high, 0);
  EXPECT_GT(RangeOfRoot("f32[8,8] subtract(x, guards)").high, 0);
  EXPECT_EQ(RangeOfRoot("f32[8,8] subtract(x, alls)").high, 0);
}

TEST(ShiftedRowsTest, Kinds) {
  const auto kind = [](const std::string& operation) { return RowShiftOf(*Program(operation)->entry()->root()); };
  EXPECT_EQ(kind("f32[8,8] subtract(x, along)"), RowShift::kMaximum);
  EXPECT_EQ(kind("f32[8,8] subtract(x, guards)"), RowShift::kFiniteMaximum);
  EXPECT_EQ(kind("f32[8,8] subtract(x, across)"), RowShift::kNone);
  EXPECT_EQ(kind("f32[8,8] subtract(along, x)"), RowShift::kNone);
}

// One of the exponentials is 1 where all that have the same maximum are summed.
TEST(ShiftedRowsTest, Sums) {
  const auto is_sum = [](const std::string& operation) {
    return IsSumOfShiftedExponentials(*Program(operation)->entry()->root());
  };
  EXPECT_TRUE(is_sum("f32[8] reduce(e, zero), dimensions={1}, to_apply=sum"));
  EXPECT_TRUE(is_sum("f32[8] reduce(g, zero), dimensions={1}, to_apply=sum"));
  EXPECT_TRUE(is_sum("f32[] reduce(e, zero), dimensions={0,1}, to_apply=sum"));
  EXPECT_FALSE(is_sum("f32[8] reduce(e, zero), dimensions={0}, to_apply=sum"));
  EXPECT_FALSE(is_sum("f32[8] reduce(of_all, zero), dimensions={1}, to_apply=sum"));
  EXPECT_FALSE(is_sum("f32[8] reduce(e, two), dimensions={1}, to_apply=sum"));
  EXPECT_FALSE(is_sum("f32[8] reduce(e, lowest), dimensions={1}, to_apply=max"));
}

}  // namespace
}  // namespace kiln::analysis
