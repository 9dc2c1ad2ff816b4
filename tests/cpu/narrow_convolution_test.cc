// Convolutions of bf16 and f16 whose features are no neighbours, against the evaluator: padded, with strides, followed
// by other ops, with results of few places. Data are small integers, so that sums are exact whatever their order.
#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "tests/cpu/convolution_case.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"

namespace kiln::testing {
namespace {

constexpr ConvolutionCase kCases[] = {
    {"padded", "2,24,17,13", "40,24,3,3", "2,40,17,13", "size=3x3 pad=1_1x1_1", "bf01_oi01->bf01"},
    {"valid", "2,24,17,13", "40,24,3,3", "2,40,15,11", "size=3x3", "bf01_oi01->bf01"},
    {"strided", "3,16,19,19", "32,16,3,3", "3,32,10,10", "size=3x3 stride=2x2 pad=1_1x1_1", "bf01_oi01->bf01"},
    {"few_places", "16,64,5,5", "48,64,3,3", "16,48,3,3", "size=3x3 stride=2x2 pad=1_1x1_1", "bf01_oi01->bf01"},
    {"dilated", "2,24,17,13", "33,24,3,3", "2,33,17,13", "size=3x3 pad=2_2x2_2 rhs_dilate=2x2", "bf01_oi01->bf01"},
    {"one_place", "4,40,12,11", "50,40,1,1", "4,50,12,11", "size=1x1", "bf01_oi01->bf01"},
    {"line", "3,32,190", "20,32,5", "3,20,190", "size=5 pad=2_2", "bf0_oi0->bf0"},
    {"weights_last", "2,24,17,13", "3,3,24,40", "2,40,17,13", "size=3x3 pad=1_1x1_1", "bf01_01io->bf01"},
};

class NarrowConvolutionTest : public ::testing::TestWithParam<ConvolutionCase> {};

TEST_P(NarrowConvolutionTest, GivesWhatTheEvaluatorDoes) {
  uint64_t seed = 1;
  for (const char* type : {"bf16", "f16"}) {
    for (const bool has_epilogue : {false, true}) {
      for (const char* out : {type, "f32"}) {
        const Program program = WriteConvolution(GetParam(), type, out, has_epilogue);
        for (const int threads : {1, 2}) {
          CheckOptions options;
          options.threads = threads;
          ASSERT_EQ(Check(program, seed++, options), absl::OkStatus()) << program.text;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NarrowConvolutionTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln::testing
