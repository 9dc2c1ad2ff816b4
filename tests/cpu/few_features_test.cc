// Convolutions of few features, whose sums run along the inputs, against the evaluator: padded, with strides, dilated,
// transposed, in groups, along one to three dimensions, followed by other ops. Data are small integers, so that sums
// are exact whatever their order.
#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "tests/cpu/convolution_case.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"

namespace kiln::testing {
namespace {

constexpr ConvolutionCase kCases[] = {
    {"one", "2,13,21,40", "3,3,40,1", "2,13,21,1", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
    {"three", "2,13,21,40", "3,3,40,3", "2,13,21,3", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
    {"five", "2,13,21,40", "3,3,40,5", "2,13,21,5", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
    {"eight", "1,13,21,64", "3,3,64,8", "1,13,21,8", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
    {"valid", "2,13,21,48", "3,3,48,2", "2,11,19,2", "size=3x3", "b01f_01io->b01f"},
    {"strided", "2,17,23,35", "5,5,35,3", "2,9,12,3", "size=5x5 stride=2x2 pad=2_2x2_2", "b01f_01io->b01f"},
    {"dilated", "2,13,21,40", "3,3,40,3", "2,13,21,3", "size=3x3 pad=2_2x2_2 rhs_dilate=2x2", "b01f_01io->b01f"},
    {"transposed", "2,9,9,40", "4,4,40,3", "2,18,18,3", "size=4x4 pad=2_2x2_2 lhs_dilate=2x2", "b01f_01io->b01f"},
    {"groups", "2,13,21,96", "3,3,48,4", "2,13,21,4", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f", 2},
    {"channels_first", "2,40,13,21", "3,40,3,3", "2,3,13,21", "size=3x3 pad=1_1x1_1", "bf01_oi01->bf01"},
    {"weights_first", "2,13,21,40", "3,40,3,3", "2,13,21,3", "size=3x3 pad=1_1x1_1", "b01f_oi01->b01f"},
    {"line", "3,700,32", "7,32,2", "3,700,2", "size=7 pad=3_3", "b0f_0io->b0f"},
    {"line_behind", "3,700,32", "3,32,1", "3,700,1", "size=3 pad=4_0 rhs_dilate=2", "b0f_0io->b0f"},
    // Whose padded copy is made in rounds.
    {"large", "2,150,230,32", "3,3,32,1", "2,150,230,1", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
    {"long_line", "1,70000,32", "3,32,1", "1,70000,1", "size=3 pad=1_1", "b0f_0io->b0f"},
    {"space", "1,6,9,11,16", "3,3,3,16,1", "1,6,9,11,1", "size=3x3x3 pad=1_1x1_1x1_1", "b012f_012io->b012f"},
};

class FewFeaturesTest : public ::testing::TestWithParam<ConvolutionCase> {};

TEST_P(FewFeaturesTest, GivesWhatTheEvaluatorDoes) {
  uint64_t seed = 1;
  for (const char* type : {"f32", "f64"}) {
    for (const bool has_epilogue : {false, true}) {
      const Program program = WriteConvolution(GetParam(), type, type, has_epilogue);
      for (const int threads : {1, 2}) {
        CheckOptions options;
        options.threads = threads;
        ASSERT_EQ(Check(program, seed++, options), absl::OkStatus()) << program.text;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FewFeaturesTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln::testing
