// Plans of matrix products, which are not run.
#include <cstdint>

#include "gtest/gtest.h"
#include "src/cpu/gemm.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

using hlo::PrimitiveType;

// Of f32 matrices as they lie row by row.
GemmSpec Square(int64_t size) {
  GemmSpec spec;
  spec.m = spec.n = spec.k = size;
  spec.lhs = spec.rhs = spec.out = {PrimitiveType::kF32, size, 1};
  spec.result_type = PrimitiveType::kF32;
  return spec;
}

int64_t Tasks(int64_t size, int threads) {
  const auto plan = PlanGemm(Square(size), "gemm", threads);
  return plan.ok() ? plan->phases.back().tasks : -1;
}

TEST(GemmPlan, SmallProductsAreNotCutForManyThreads) {
  // Each of 16 tasks packed all of rhs, for some microseconds' work that one or two threads do.
  EXPECT_GE(Tasks(64, 16), 1);
  EXPECT_LE(Tasks(64, 16), 4);
  EXPECT_GE(Tasks(1024, 16), 16);
}

TEST(GemmPlan, LinesOfATransposedLhsLeaveThePanelRoom) {
  // A line of each step, and as many bytes of rhs, would fill a first-level cache of 32 KB twice.
  constexpr int64_t kLine = 64, kColumns = 128;
  const int64_t steps = Host().l1_bytes / kLine, rows = 2 * Host().l2_bytes / (steps * 4);
  GemmSpec spec;
  spec.m = rows;
  spec.n = kColumns;
  spec.k = steps;
  spec.lhs = {PrimitiveType::kF32, 1, rows};
  spec.rhs = {PrimitiveType::kF32, kColumns, 1};
  spec.out = {PrimitiveType::kF32, kColumns, 1};
  spec.result_type = PrimitiveType::kF32;
  const auto plan = PlanGemm(spec, "gemm", 1);
  ASSERT_TRUE(plan.ok()) << plan.status();
  if (plan->schedule.kind != GemmSchedule::Kind::kBlocks) GTEST_SKIP() << "no kernels compiled with Kiln";
  EXPECT_LT(plan->schedule.k_block, steps);
}

}  // namespace
}  // namespace kiln::cpu
