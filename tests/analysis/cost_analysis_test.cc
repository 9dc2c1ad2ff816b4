// Costs against counts by hand.
#include "src/analysis/cost_analysis.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/hlo_test_util.h"

namespace kiln::analysis {
namespace {

Cost CostOfEntry(const std::string& body, const std::string& callees = "") {
  const std::unique_ptr<hlo::Module> module = ParseOrDie("HloModule m\n" + callees + "ENTRY e {\n" + body + "}\n");
  CostAnalysis costs;
  return costs.Of(*module->entry());
}

constexpr char kSum[] = "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n";

// `kiln explain` holds on to a fusion's costs while it asks for those of its parts.
TEST(CostAnalysisTest, CostsStayWhereTheyAre) {
  std::string body = "  x0 = f32[8] parameter(0)\n";
  for (int i = 1; i < 100; ++i) body += absl::StrCat("  x", i, " = f32[8] negate(x", i - 1, ")\n");
  const std::unique_ptr<hlo::Module> module =
      ParseOrDie("HloModule m\nENTRY e {\n" + body + "  ROOT r = f32[8] abs(x99)\n}\n");
  CostAnalysis costs;
  const Cost& first = costs.Of(*module->entry()->root());
  costs.Of(*module->entry());
  EXPECT_EQ(&costs.Of(*module->entry()->root()), &first);
}

TEST(CostAnalysisTest, Dot) {
  const Cost cost = CostOfEntry(
      "  a = f32[3,8,16] parameter(0)\n  b = f32[3,16,32] parameter(1)\n"
      "  ROOT d = f32[3,8,32] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}\n");
  EXPECT_EQ(cost.flops, 2 * 3 * 8 * 16 * 32);
  EXPECT_EQ(cost.bytes, 4 * (3 * 8 * 16 + 3 * 16 * 32 + 3 * 8 * 32));
  EXPECT_EQ(cost.operand_bytes, (std::vector<double>{4 * 3 * 8 * 16, 4 * 3 * 16 * 32}));
  EXPECT_EQ(cost.output_bytes, 4 * 3 * 8 * 32);
}

TEST(CostAnalysisTest, ConvolutionLeavesPaddingOut) {
  // 8 places by 3 taps, less the two that lie in padding: 22 each way.
  const std::string shapes = "  x = f32[2,3,8,8] parameter(0)\n  w = f32[5,3,3,3] parameter(1)\n";
  EXPECT_EQ(CostOfEntry(shapes + "  ROOT c = f32[2,5,8,8] convolution(x, w), window={size=3x3 pad=1_1x1_1}, "
                                 "dim_labels=bf01_oi01->bf01\n").flops,
            2.0 * 2 * 5 * 3 * 22 * 22);
  // Every second element of a dilated input is there: of 15 places with 3 taps, 22 pairs meet one.
  EXPECT_EQ(CostOfEntry("  x = f32[1,1,8] parameter(0)\n  w = f32[1,1,3] parameter(1)\n"
                        "  ROOT c = f32[1,1,15] convolution(x, w), window={size=3 pad=1_1 lhs_dilate=2}, "
                        "dim_labels=bf0_oi0->bf0\n").flops,
            2.0 * (8 + 2 * 7));
  // Each of 6 features has its own 3x3 window.
  EXPECT_EQ(CostOfEntry("  x = f32[1,6,4,4] parameter(0)\n  w = f32[6,1,3,3] parameter(1)\n"
                        "  ROOT c = f32[1,6,2,2] convolution(x, w), window={size=3x3}, dim_labels=bf01_oi01->bf01, "
                        "feature_group_count=6\n").flops,
            2.0 * 6 * 4 * 9);
}

TEST(CostAnalysisTest, Reductions) {
  const std::string x = "  x = f32[8,16] parameter(0)\n  z = f32[] constant(0)\n";
  const Cost reduce = CostOfEntry(x + "  ROOT r = f32[8] reduce(x, z), dimensions={1}, to_apply=sum\n", kSum);
  EXPECT_EQ(reduce.flops, 8 * 15);
  EXPECT_EQ(reduce.bytes, 4 * (128 + 1 + 8));
  EXPECT_EQ(CostOfEntry(x + "  ROOT r = f32[8,16] reduce-window(x, z), window={size=3x3 pad=1_1x1_1}, to_apply=sum\n",
                        kSum).flops,
            128 * 8);
  EXPECT_EQ(CostOfEntry("  x = f32[100] parameter(0)\n  ROOT s = f32[100] sort(x), dimensions={0}, to_apply=less\n",
                        "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = pred[] compare(a, b), "
                        "direction=LT\n}\n").flops,
            700);
  EXPECT_EQ(CostOfEntry("  x = c64[64] parameter(0)\n  ROOT f = c64[64] fft(x), fft_type=FFT, fft_length={64}\n").flops,
            8 * 6 * 64);
}

TEST(CostAnalysisTest, SlicesAreTouchedInPart) {
  const Cost gather = CostOfEntry(
      "  x = f32[100,16] parameter(0)\n  i = s32[5,1] parameter(1)\n  ROOT g = f32[5,16] gather(x, i), "
      "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,16}\n");
  EXPECT_EQ(gather.flops, 0);
  EXPECT_EQ(gather.bytes, 4 * (5 * 16 + 5 + 5 * 16));
  EXPECT_DOUBLE_EQ(gather.operand_utilization[0], 0.05);
  const Cost scatter = CostOfEntry(
      "  x = f32[100,16] parameter(0)\n  i = s32[5,1] parameter(1)\n  u = f32[5,16] parameter(2)\n"
      "  ROOT s = f32[100,16] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum\n", kSum);
  EXPECT_EQ(scatter.flops, 5 * 16);
  EXPECT_EQ(scatter.bytes, 4 * (5 * 16 + 5 + 5 * 16 + 5 * 16));
  const Cost update = CostOfEntry(
      "  x = f32[100,16] parameter(0)\n  u = f32[1,16] parameter(1)\n  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n"
      "  ROOT s = f32[100,16] dynamic-update-slice(x, u, i, j)\n");
  EXPECT_EQ(update.bytes, 4 * (16 + 1 + 1 + 16));
}

TEST(CostAnalysisTest, FusionMovesOperandsAndResultOnly) {
  const Cost cost = CostOfEntry(
      "  x = f32[8,8] parameter(0)\n  y = f32[100,8] parameter(1)\n"
      "  ROOT f = f32[8,8] fusion(x, y), kind=kLoop, calls=body\n",
      "body {\n  x = f32[8,8] parameter(0)\n  y = f32[100,8] parameter(1)\n  s = f32[8,8] slice(y), slice={[0:8], [0:8]}\n"
      "  e = f32[8,8] exponential(x)\n  t = f32[8,8] multiply(e, s)\n  l = f32[8,8] logistic(t)\n  ROOT r = f32[8,8] add(l, x)\n}\n");
  EXPECT_EQ(cost.flops, 64 * (1 + 3 + 1));
  EXPECT_EQ(cost.transcendentals, 64 * 2);
  EXPECT_EQ(cost.bytes, 4 * (64 + 64 + 64));
  EXPECT_DOUBLE_EQ(cost.operand_utilization[1], 0.08);
}

TEST(CostAnalysisTest, LoopsCountTheirRoundsAndBranchesTheDearest) {
  const auto loop = [](const std::string& bound) {
    return CostOfEntry(
        "  z = s32[] constant(3)\n  x = f32[8,8] parameter(0)\n  t = (s32[], f32[8,8]) tuple(z, x)\n"
        "  ROOT w = (s32[], f32[8,8]) while(t), condition=c, body=b\n",
        "b {\n  p = (s32[], f32[8,8]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  one = s32[] constant(2)\n"
        "  j = s32[] add(i, one)\n  x = f32[8,8] get-tuple-element(p), index=1\n  y = f32[8,8] dot(x, x), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  ROOT r = (s32[], f32[8,8]) tuple(j, y)\n}\n"
        "c {\n  p = (s32[], f32[8,8]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n" + bound +
        "  ROOT r = pred[] compare(i, n), direction=LT\n}\n");
  };
  // 3, 5, ..., 21: ten rounds of a product, a count and a comparison.
  EXPECT_EQ(loop("  n = s32[] constant(22)\n").flops, 10 * (2 * 512 + 1 + 1));
  EXPECT_EQ(loop("  k = s32[] constant(9)\n  n = s32[] add(i, k)\n").flops, 2 * 512 + 1 + 1 + 1);
  const Cost branches = CostOfEntry(
      "  p = pred[] parameter(0)\n  x = f32[8,8] parameter(1)\n"
      "  ROOT c = f32[8,8] conditional(p, x, x), true_computation=t, false_computation=f\n",
      "t {\n  x = f32[8,8] parameter(0)\n  ROOT s = f32[8,8] sine(x)\n}\n"
      "f {\n  x = f32[8,8] parameter(0)\n  ROOT y = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
  EXPECT_EQ(branches.flops, 2 * 512);
  EXPECT_EQ(branches.transcendentals, 64);
}

TEST(CostAnalysisTest, NamesAreThoseOfXla) {
  const auto properties = CostProperties(CostOfEntry("  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x, x)\n"));
  std::vector<std::string> names;
  for (const auto& [name, value] : properties) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"flops", "bytes accessed", "optimal_seconds", "bytes accessed0{}",
                                             "utilization0{}", "bytes accessed1{}", "utilization1{}",
                                             "bytes accessedout{}"}));
}

}  // namespace
}  // namespace kiln::analysis
