#include "src/analysis/row_groups.h"

#include "gtest/gtest.h"
#include "tests/hlo_test_util.h"

namespace kiln::analysis {
namespace {

// The groups that the root, given as `operation` over a = f32[32,64,16], b = f32[16,8] and s = f32[2048], has of its
// operand 0.
int64_t GroupsOf(const std::string& operation, int64_t most = 0) {
  const std::unique_ptr<hlo::Module> module = ParseOrDie(
      "HloModule m\nsum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }\n"
      "ENTRY main { a = f32[32,64,16] parameter(0) b = f32[16,8] parameter(1) s = f32[2048] parameter(2)\n"
      "  q = f32[32,16,8] parameter(3) i = s32[32,64,1] parameter(4) zero = f32[] constant(0)\n  ROOT " +
      operation + "\n}");
  return RowGroups(*module->entry()->root(), 0, most);
}

TEST(RowGroupsTest, ElementsAndViews) {
  EXPECT_EQ(GroupsOf("r = f32[32,64,16] negate(a)"), 32768);
  EXPECT_EQ(GroupsOf("r = f32[32,64,16] negate(a)", 96), 32);
  EXPECT_EQ(GroupsOf("r = f32[64,32,16] reshape(a)"), 32768);
  EXPECT_EQ(GroupsOf("r = f32[32,16,64] transpose(a), dimensions={0,2,1}"), 32);
  EXPECT_EQ(GroupsOf("r = f32[64,32,16] transpose(a), dimensions={1,0,2}"), 1);
}

TEST(RowGroupsTest, Reductions) {
  EXPECT_EQ(GroupsOf("r = f32[32,64] reduce(a, zero), dimensions={2}, to_apply=sum"), 2048);
  EXPECT_EQ(GroupsOf("r = f32[32,16] reduce(a, zero), dimensions={1}, to_apply=sum"), 32);
  EXPECT_EQ(GroupsOf("r = f32[64,16] reduce(a, zero), dimensions={0}, to_apply=sum"), 1);
}

TEST(RowGroupsTest, Broadcasts) {
  EXPECT_EQ(GroupsOf("r = f32[2048,5] broadcast(s), dimensions={0}"), 2048);
  EXPECT_EQ(GroupsOf("r = f32[5,2048] broadcast(s), dimensions={1}"), 1);
}

TEST(RowGroupsTest, Parts) {
  EXPECT_EQ(GroupsOf("r = f32[32,64,4] slice(a), slice={[0:32], [0:64], [4:8]}"), 2048);
  EXPECT_EQ(GroupsOf("r = f32[32,32,16] slice(a), slice={[0:32], [0:32], [0:16]}"), 32);
  EXPECT_EQ(GroupsOf("r = f32[16,64,16] slice(a), slice={[8:24], [0:64], [0:16]}"), 1);
  EXPECT_EQ(GroupsOf("r = f32[32,64] gather(a, i), offset_dims={}, collapsed_slice_dims={1,2}, start_index_map={1}, "
                     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
                     "slice_sizes={1,1,1}"),
            32);
}

TEST(RowGroupsTest, Products) {
  EXPECT_EQ(GroupsOf("r = f32[32,64,8] dot(a, b), lhs_contracting_dims={2}, rhs_contracting_dims={0}"), 2048);
  // Batches are not cut across.
  EXPECT_EQ(GroupsOf("r = f32[32,64,8] dot(a, q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
                     "rhs_contracting_dims={1}"),
            2048);
  EXPECT_EQ(GroupsOf("r = f32[32,64,8] dot(a, q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
                     "rhs_contracting_dims={1}",
                     16),
            1);
  EXPECT_EQ(GroupsOf("r = f32[8,32,64] dot(b, a), lhs_contracting_dims={0}, rhs_contracting_dims={2}"), 1);
}

}  // namespace
}  // namespace kiln::analysis
