// Products with AMX's kernels against the evaluator, on any processor: where there is no AMX, plain code stands for its
// registers, behind the same kernels and plans.
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "src/cpu/convolution_spec.h"
#include "src/cpu/gemm_kernels.h"
#include "src/cpu/host_isa.h"
#include "tests/cpu/differential.h"
#include "tests/hlo_test_util.h"

namespace kiln::testing {
namespace {

struct Case {
  const char* name;
  const char* body;
  Tolerance tolerance;  // of small integers' sums, which are exact, nothing
};

constexpr char kReducers[] = R"(
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }
)";

constexpr Case kCases[] = {
    {"attention",
     R"(q = bf16[4,160,64] parameter(0)  k = bf16[4,160,64] parameter(1)  v = bf16[4,160,64] parameter(2)
      s = f32[4,160,160] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
      rhs_contracting_dims={2}
      i = f32[] constant(-inf)  m = f32[4,160] reduce(s, i), dimensions={2}, to_apply=max
      mb = f32[4,160,160] broadcast(m), dimensions={0,1}  d = f32[4,160,160] subtract(s, mb)
      e = f32[4,160,160] exponential(d)  z = f32[] constant(0)
      t = f32[4,160] reduce(e, z), dimensions={2}, to_apply=add
      tb = f32[4,160,160] broadcast(t), dimensions={0,1}  w = f32[4,160,160] divide(e, tb)
      wb = bf16[4,160,160] convert(w)
      ROOT y = bf16[4,160,64] dot(wb, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
      rhs_contracting_dims={1})",
     {.ulps = 1, .absolute = 1e-3}},  // of weights that are rounded to bf16
    {"brain", R"(x = bf16[70,96] parameter(0)  w = bf16[96,85] parameter(1)
      ROOT y = f32[70,85] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
    {"brain_to_brain", R"(x = bf16[33,130] parameter(0)  w = bf16[130,40] parameter(1)
      ROOT y = bf16[33,40] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
    {"transposed_weights", R"(x = bf16[48,64] parameter(0)  w = bf16[64,64] parameter(1)
      ROOT y = f32[48,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1})"},
    {"batches", R"(x = bf16[3,50,64] parameter(0)  w = bf16[3,64,50] parameter(1)
      ROOT y = f32[3,50,50] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
      rhs_contracting_dims={1})"},
    {"long_sums", R"(x = bf16[40,9000] parameter(0)  w = bf16[9000,33] parameter(1)
      ROOT y = f32[40,33] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
    {"epilogue", R"(x = bf16[64,128] parameter(0)  w = bf16[128,72] parameter(1)  b = f32[72] parameter(2)
      p = f32[64,72] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      bb = f32[64,72] broadcast(b), dimensions={1}  s = f32[64,72] add(p, bb)
      z = f32[] constant(0)  zb = f32[64,72] broadcast(z), dimensions={}  m = f32[64,72] maximum(s, zb)
      ROOT y = bf16[64,72] convert(m))"},
    {"signed_bytes", R"(x = s8[70,100] parameter(0)  w = s8[100,85] parameter(1)
      ROOT y = s32[70,85] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
    {"mixed_bytes", R"(x = u8[35,256] parameter(0)  w = s8[256,64] parameter(1)
      ROOT y = s32[35,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
    {"bytes_mixed", R"(x = s8[35,256] parameter(0)  w = u8[256,64] parameter(1)
      ROOT y = s32[35,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
    {"convolution", R"(x = bf16[2,9,21,64] parameter(0)  w = bf16[3,3,64,40] parameter(1)
      ROOT y = bf16[2,9,21,40] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f)"},
    {"byte_convolution", R"(x = s8[1,7,39,128] parameter(0)  w = s8[3,3,128,48] parameter(1)
      ROOT y = s32[1,5,37,48] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f)"},
};

class AmxTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { cpu::PretendAmxForTest(true); }
  void TearDown() override { cpu::PretendAmxForTest(false); }
};

TEST_P(AmxTest, AgreesWithTheEvaluator) {
  const std::string text = std::string("HloModule m\n") + kReducers + "ENTRY main { " + GetParam().body + "\n}\n";
  for (const int threads : {1, 3}) {
    EXPECT_EQ(CheckModule(ParseOrDie(text), {}, {GetParam().tolerance}, 11, {.threads = threads}), absl::OkStatus());
  }
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Products, AmxTest, ::testing::ValuesIn(kCases), NameOf);

}  // namespace
}  // namespace kiln::testing
