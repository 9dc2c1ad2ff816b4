// Plans of matrix products, which are not run.
#include <cstdint>

#include "gtest/gtest.h"
#include "src/cpu/gemm.h"

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

}  // namespace
}  // namespace kiln::cpu
