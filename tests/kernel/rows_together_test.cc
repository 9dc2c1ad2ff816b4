// Rows of large arrays that are reduced side by side, for threads that each have a block of them.
#include "src/kernel/rows_together.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "src/base/cpu_tuning.h"
#include "src/kernel/kernel_builder.h"
#include "tests/hlo_test_util.h"

namespace kiln::kernel {
namespace {

class RowsTogetherTest : public testing::Test {
 protected:
  RowsTogetherTest() { EXPECT_TRUE(UseCpuTuning("avx2")); }
  ~RowsTogetherTest() override { UseCpuTuning(tuning_); }

  // The kernel that adds up rows of 1000 numbers.
  static std::string SumsOfRows(int64_t rows, int threads) {
    auto module = ParseOrDie(absl::Substitute(R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY main {
  x = f32[$0,1000] parameter(0)
  z = f32[] constant(0)
  ROOT sums = f32[$0] reduce(x, z), dimensions={1}, to_apply=add
})",
                                              rows));
    auto kernel = BuildKernel(*module->entry()->root());
    if (!kernel.ok()) return kernel.status().ToString();
    ReduceRowsTogether(&*kernel, threads);
    return ToString(*kernel);
  }

 private:
  const std::string tuning_{Tuning().name};
};

TEST_F(RowsTogetherTest, FourRowsOfAThreadsBlock) {
  EXPECT_EQ(SumsOfRows(4000, 2), R"(kernel sums (p0: f32[4000,1000], p1: f32[]) -> (p2: f32[4000])
  nest parallel i2 in 2 parallel i3 in 500
    v0: f32 = constant 0
    reduce i1 in 1000 -> v2, v6, v7, v8 = add, add, add, add of v1, v3, v4, v5 from v0, v0, v0, v0
      v1: f32 = load p0[i1 + 2000000*i2 + 1000*i3]
      v3: f32 = load p0[i1 + 2000000*i2 + 1000*i3 + 500000]
      v4: f32 = load p0[i1 + 2000000*i2 + 1000*i3 + 1000000]
      v5: f32 = load p0[i1 + 2000000*i2 + 1000*i3 + 1500000]
    store p2[2000*i2 + i3] = v2
    store p2[2000*i2 + i3 + 500] = v6
    store p2[2000*i2 + i3 + 1000] = v7
    store p2[2000*i2 + i3 + 1500] = v8
)");
}

TEST_F(RowsTogetherTest, AsManyAsDivideTheRowsAndLeaveWorkForAllThreads) {
  const auto has = [](const std::string& kernel, const std::string& sums) {
    return kernel.find(absl::StrCat(" = ", sums, " of")) != std::string::npos;
  };
  EXPECT_TRUE(has(SumsOfRows(4002, 2), "add, add"));
  EXPECT_TRUE(has(SumsOfRows(4001, 2), "add"));
  EXPECT_TRUE(has(SumsOfRows(4000, 1500), "add, add"));
  EXPECT_TRUE(has(SumsOfRows(4000, 3000), "add"));
  // An array that the last cache gives as soon one row at a time.
  EXPECT_TRUE(has(SumsOfRows(1000, 2), "add"));
}

}  // namespace
}  // namespace kiln::kernel
