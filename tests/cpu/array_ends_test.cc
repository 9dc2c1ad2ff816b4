// Kernels that end amid vectors of several registers, over arrays of which some begin or end at pages that nobody may
// touch (guarded_memory.h): loads under conditions read no more than lanes ask for.
#include <cstdint>

#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"

namespace kiln::testing {
namespace {

// Differences of what divisions make, which are made in stages of an element more than the rows have: the last vector
// has that element alone.
constexpr char kDifferences[] = R"(
HloModule m

ENTRY main {
  x = $0[2,16384] parameter(0)
  y = $0[2,16384] parameter(1)
  one = $0[] constant(1)
  ones = $0[2,16384] broadcast(one), dimensions={}
  a = $0[2,16384] add(y, ones)
  d = $0[2,16384] divide(x, a)
  s = $0[2,$1] slice(d), slice={[0:2], [0:$1]}
  zero = $0[] constant(0)
  p = $0[2,16384] pad(s, zero), padding=0_0x$2_0
  ROOT r = $0[2,16384] subtract(d, p)
})";

// Windows of which each iteration of the reduction leaves out others.
constexpr char kWindows[] = R"(
HloModule m

f { a = $0[] parameter(0)  b = $0[] parameter(1)  ROOT r = $0[] minimum(a, b) }

ENTRY main {
  x = $0[$1] parameter(0)
  zero = $0[] constant(0)
  ROOT w = $0[$2] reduce-window(x, zero), window={size=2 pad=2_1 rhs_dilate=2}, to_apply=f
})";

// Elements of which lanes take every third, where there are any.
constexpr char kSpreadWindows[] = R"(
HloModule m

f { a = $0[] parameter(0)  b = $0[] parameter(1)  ROOT r = $0[] minimum(a, b) }

ENTRY main {
  x = $0[6,5,4,3] parameter(0)
  zero = $0[] constant(0)
  ROOT w = $0[11,5,4,1] reduce-window(x, zero), window={size=1x1x1x4 pad=0_0x0_0x0_0x0_-1 lhs_dilate=2x1x1x2}, to_apply=f
})";

class ArrayEndsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ArrayEndsTest, NothingBehindThemIsRead) {
  for (const int64_t shift : {1, 7, 9, 17, 20, 31}) {
    Program program;
    program.text = absl::Substitute(kDifferences, GetParam(), 16384 - shift, shift);
    program.data = {Data{}, Data{.kind = Data::Kind::kReal, .low = 1, .high = 4}};
    // Where arrays stand is drawn for each seed.
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      ASSERT_EQ(Check(program, seed, CheckOptions{}), absl::OkStatus()) << program.text;
    }
  }
}

TEST_P(ArrayEndsTest, NothingBehindWindowsIsRead) {
  for (const int64_t size : {19, 35, 40, 67, 130}) {
    Program program;
    program.text = absl::Substitute(kWindows, GetParam(), size, size + 1);
    program.data = {Data{}};
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      ASSERT_EQ(Check(program, seed, CheckOptions{}), absl::OkStatus()) << program.text;
    }
  }
}

TEST_P(ArrayEndsTest, NothingBehindSpreadElementsIsRead) {
  Program program;
  program.text = absl::Substitute(kSpreadWindows, GetParam());
  program.data = {Data{}};
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    ASSERT_EQ(Check(program, seed, CheckOptions{}), absl::OkStatus()) << program.text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ArrayEndsTest, ::testing::Values("f32", "f64", "s32", "bf16"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::testing
