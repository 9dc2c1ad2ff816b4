// Convolutions in Winograd's form against the evaluator: exactly over small integers, whose transforms are exact, and
// where numbers are not finite; and against sums of doubles for accuracy.
#include "src/cpu/winograd.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "src/cpu/convolution_spec.h"
#include "src/cpu/host_isa.h"
#include "src/hlo/evaluator.h"
#include "src/tools/compare_literals.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"
#include "tests/hlo_test_util.h"

namespace kiln::testing {
namespace {

struct Case {
  const char* name;
  const char *x, *w, *y;
  const char* window;
  const char* labels;
};

constexpr Case kCases[] = {
    {"padded", "2,15,14,48", "3,3,48,80", "2,15,14,80", "pad=1_1x1_1", "b01f_01io->b01f"},
    {"inside", "1,20,23,32", "3,3,32,64", "1,18,21,64", "pad=0_0x0_0", "b01f_01io->b01f"},
    {"far_outside", "1,17,16,64", "3,3,64,32", "1,20,17,32", "pad=4_1x-1_4", "b01f_01io->b01f"},
    {"dilated", "1,19,17,64", "3,3,64,48", "1,19,17,48", "pad=3_3x2_2 rhs_dilate=3x2", "b01f_01io->b01f"},
    {"dilated_beyond", "1,40,9,64", "3,3,64,64", "1,40,9,64", "pad=1_1x5_5 rhs_dilate=1x5", "b01f_01io->b01f"},
    {"inputs_of_weights_last", "2,13,14,64", "3,3,48,64", "2,13,14,48", "pad=1_1x1_1", "b01f_01oi->b01f"},
    {"taps_last", "2,13,14,64", "48,64,3,3", "2,13,14,48", "pad=1_1x1_1", "b01f_oi01->b01f"},
    {"places_last", "2,64,15,37", "48,64,3,3", "2,48,15,37", "pad=1_1x1_1", "bf01_oi01->bf01"},
    {"few_places", "40,64,16,3", "48,64,3,3", "40,48,16,3", "pad=1_1x1_1", "bf01_oi01->bf01"},
    {"places_last_in_results", "2,15,37,64", "3,3,64,48", "2,48,15,36", "pad=1_1x2_-1", "b01f_01io->bf01"},
    {"several_rounds", "4,16,16,288", "3,3,288,288", "4,16,16,288", "pad=1_1x1_1", "b01f_01io->b01f"},
};

std::string Convolution(const Case& c) {
  return absl::StrCat("x = f32[", c.x, "] parameter(0) w = f32[", c.w, "] parameter(1)\n y = f32[", c.y,
                      "] convolution(x, w), window={size=3x3 ", c.window, "}, dim_labels=", c.labels);
}

std::string Text(const Case& c) { return absl::StrCat("HloModule m\nENTRY main { ", Convolution(c), "\n}\n"); }

class WinogradTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (cpu::FindWinogradKernels() == nullptr) GTEST_SKIP() << "no kernels for this processor";
  }
};

TEST_P(WinogradTest, IsChosen) {
  const std::unique_ptr<hlo::Module> module = ParseOrDie(Text(GetParam()));
  const auto products = cpu::ConvolutionProductsOf(*module->entry()->root(), cpu::Host().vector_bytes / 4);
  ASSERT_EQ(products.size(), 1u);
  const auto plan = cpu::PlanGemm(products[0].gemm, "product", /*threads=*/2);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(plan->schedule.kind, cpu::GemmSchedule::Kind::kWinograd);
}

TEST_P(WinogradTest, IsNotOfHighestPrecision) {
  const std::string text =
      absl::StrReplaceAll(Text(GetParam()), {{"dim_labels", "operand_precision={highest,highest}, dim_labels"}});
  const std::unique_ptr<hlo::Module> module = ParseOrDie(text);
  for (const auto& product : cpu::ConvolutionProductsOf(*module->entry()->root(), cpu::Host().vector_bytes / 4)) {
    EXPECT_TRUE(product.gemm.windows.empty());
  }
}

TEST_P(WinogradTest, AgreesWithTheEvaluator) {
  for (const int threads : {1, 3}) {
    const absl::Status status = CheckModule(ParseOrDie(Text(GetParam())), {}, {}, 3, {.threads = threads});
    EXPECT_EQ(status, absl::OkStatus());
  }
}

TEST_P(WinogradTest, EpilogueAgreesWithTheEvaluator) {
  const Case& c = GetParam();
  const std::string text =
      absl::StrCat("HloModule m\nENTRY main { ", Convolution(c), "\n z = f32[] constant(0) zb = f32[", c.y,
                   "] broadcast(z), dimensions={} r = f32[", c.y, "] parameter(2) s = f32[", c.y,
                   "] add(y, r) m = f32[", c.y, "] maximum(s, zb)\n ROOT b = bf16[", c.y, "] convert(m)\n}\n");
  EXPECT_EQ(CheckModule(ParseOrDie(text), {}, {}, 5, {.threads = 3}), absl::OkStatus());
}

// Runs a case over arguments of small integers that `change` has changed, and compares all bits with the evaluator.
void CheckChanged(const Case& c, const std::function<void(absl::Span<float>, absl::Span<float>)>& change) {
  const std::unique_ptr<hlo::Module> module = ParseOrDie(Text(c));
  Random random(7);
  std::vector<hlo::Literal> arguments;
  for (const hlo::Instruction* parameter : module->entry()->parameters()) {
    arguments.push_back(MakeArgument(parameter->shape(), {}, &random));
  }
  change(arguments[0].mutable_data<float>(), arguments[1].mutable_data<float>());
  const absl::StatusOr<hlo::Literal> expected = hlo::Evaluate(*module->entry(), arguments);
  ASSERT_EQ(expected.status(), absl::OkStatus());
  const auto program = CompiledProgram::Compile(module->Clone(), {});
  ASSERT_EQ(program.status(), absl::OkStatus());
  const auto actual = (*program)->Run(arguments, /*donate=*/false, /*threads=*/2, &random);
  ASSERT_EQ(actual.status(), absl::OkStatus());
  EXPECT_EQ(Difference((*actual)[0], *expected, {}), "");
}

TEST_P(WinogradTest, InfinitiesStayInfinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CheckChanged(GetParam(), [&](absl::Span<float> x, absl::Span<float> w) {
    // No zero meets them by chance.
    for (float& weight : w) weight = weight == 0 ? 1 : weight;
    x[x.size() / 3] = kInfinity;
    x[x.size() / 2] = -kInfinity;
    x[x.size() / 7] = std::numeric_limits<float>::quiet_NaN();
  });
}

TEST_P(WinogradTest, LargeNumbersDoNotOverflow) {
  // Sums of neighbours are too large, but no product is.
  CheckChanged(GetParam(), [&](absl::Span<float> x, absl::Span<float> w) {
    std::fill(x.begin(), x.end(), 3e38f);
    std::fill(w.begin(), w.end(), 0.0f);
    w[w.size() / 2] = 0.25f;
  });
}

INSTANTIATE_TEST_SUITE_P(Cases, WinogradTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Sums of a ninth of the terms lose less than the transforms do.
TEST(Winograd, IsAsAccurateAsDirectSums) {
  constexpr int64_t kSize = 12, kChannels = 96, kFeatures = 32, kPlaces = kSize - 2;
  const Case c = {"", "1,12,12,96", "3,3,96,32", "1,10,10,32", "", "b01f_01io->b01f"};
  const std::unique_ptr<hlo::Module> module = ParseOrDie(Text(c));
  Random random(11);
  std::vector<hlo::Literal> arguments;
  for (const hlo::Instruction* parameter : module->entry()->parameters()) {
    arguments.push_back(MakeArgument(parameter->shape(), {Data::Kind::kReal, -1, 1}, &random));
  }
  const auto program = CompiledProgram::Compile(module->Clone(), {});
  ASSERT_EQ(program.status(), absl::OkStatus());
  const auto actual = (*program)->Run(arguments, /*donate=*/false, /*threads=*/1, &random);
  ASSERT_EQ(actual.status(), absl::OkStatus());
  const auto x = arguments[0].data<float>(), w = arguments[1].data<float>(), y = (*actual)[0].data<float>();
  double error = 0, direct_error = 0, largest = 0, direct_largest = 0;
  for (int64_t at = 0; at < kPlaces * kPlaces * kFeatures; ++at) {
    const int64_t feature = at % kFeatures, column = at / kFeatures % kPlaces, row = at / kFeatures / kPlaces;
    double sum = 0;
    float direct = 0;
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        for (int64_t channel = 0; channel < kChannels; ++channel) {
          const float a = x[((row + i) * kSize + column + j) * kChannels + channel];
          const float b = w[((i * 3 + j) * kChannels + channel) * kFeatures + feature];
          sum += static_cast<double>(a) * static_cast<double>(b);
          direct = std::fma(a, b, direct);
        }
      }
    }
    const double off = std::abs(static_cast<double>(y[at]) - sum), direct_off = std::abs(direct - sum);
    error += off * off;
    direct_error += direct_off * direct_off;
    largest = std::max(largest, off);
    direct_largest = std::max(direct_largest, direct_off);
  }
  EXPECT_GT(error, 0);
  EXPECT_LE(std::sqrt(error), 1.1 * std::sqrt(direct_error));
  EXPECT_LE(largest, 1.5 * direct_largest);
}

}  // namespace
}  // namespace kiln::testing
