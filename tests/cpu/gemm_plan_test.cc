// Plans of matrix products, which are not run.
#include <cstdint>
#include <utility>

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

// AVX2 has no instructions for pairs of bf16 or four bytes, but kernels that do without.
TEST(GemmPlan, NarrowTypesHaveCompiledKernelsWithAvx2) {
  using T = PrimitiveType;
  if (Host().compiled_vector_bytes != 32) GTEST_SKIP() << "no AVX2, or more than that";
  GemmSpec spec = Square(200);
  spec.result_type = spec.out.type = T::kS32;
  for (const auto& [lhs, rhs] : {std::pair(T::kS8, T::kS8), std::pair(T::kS8, T::kU8), std::pair(T::kU8, T::kS8)}) {
    spec.lhs.type = lhs;
    spec.rhs.type = rhs;
    EXPECT_EQ(PlanGemm(spec, "gemm", 2)->schedule.kind, GemmSchedule::Kind::kBlocks);
  }
  for (const T type : {T::kF16, T::kBF16, T::kS8}) {
    GemmSpec few = Square(200);
    few.m = 7;
    few.rhs = {type, 1, few.k};
    few.lhs.type = type;
    few.result_type = few.out.type = type == T::kS8 ? T::kS32 : T::kF32;
    EXPECT_EQ(PlanGemm(few, "gemm", 2)->schedule.kind, GemmSchedule::Kind::kRows);
  }
}

// Where columns read it often, an lhs whose rows lie across is packed, unless its lines stay in the caches.
TEST(GemmPlan, TransposedLhsIsPackedForSomeColumns) {
  if (Host().compiled_vector_bytes != 32) GTEST_SKIP() << "measured with AVX2";
  const auto is_packed = [](int64_t m, int64_t n) {
    GemmSpec spec = Square(512);
    spec.m = m;
    spec.n = n;
    spec.lhs = {PrimitiveType::kF32, 1, m};
    spec.rhs = spec.out = {PrimitiveType::kF32, n, 1};
    return PlanGemm(spec, "gemm", 1)->schedule.pack_lhs;
  };
  EXPECT_TRUE(is_packed(1500, 128));
  EXPECT_TRUE(is_packed(512, 512));
  EXPECT_FALSE(is_packed(1500, 64));
  EXPECT_FALSE(is_packed(128, 128));
}

// Sums across lanes take longer than packing where there are few steps for many rows.
TEST(GemmPlan, ShortSumsOfSomeRowsArePacked) {
  using Kind = GemmSchedule::Kind;
  if (Host().vector_bytes < 32) GTEST_SKIP() << "measured with vectors of 32 bytes and more";
  const auto kind = [](int64_t m, int64_t k) {
    GemmSpec spec = Square(1500);
    spec.m = m;
    spec.k = k;
    spec.lhs = {PrimitiveType::kF32, k, 1};
    spec.rhs = {PrimitiveType::kF32, 1, k};
    return PlanGemm(spec, "gemm", 1)->schedule.kind;
  };
  const auto is_summed = [&](int64_t m, int64_t k) { return kind(m, k) == Kind::kDot || kind(m, k) == Kind::kRows; };
  EXPECT_TRUE(is_summed(1, 64));
  EXPECT_TRUE(is_summed(2, 128));
  EXPECT_FALSE(is_summed(8, 8));
  EXPECT_FALSE(is_summed(8, 32));
  EXPECT_TRUE(is_summed(8, 256));
}

}  // namespace
}  // namespace kiln::cpu
