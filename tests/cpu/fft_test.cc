// Compiled Fourier transforms against the evaluator, which computes in long double.
#include <cmath>
#include <complex>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/cpu/fft_plan.h"
#include "src/cpu/fft_radices.h"
#include "src/cpu/host_isa.h"
#include "src/hlo/evaluator.h"
#include "src/tools/compare_literals.h"
#include "src/tools/random_literal.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"
#include "tests/hlo_test_util.h"

namespace kiln::testing {
namespace {

template <typename Number>
double RelativeError(const hlo::Literal& actual, const hlo::Literal& expected) {
  double error = 0, size = 0;
  const auto a = actual.data<Number>(), b = expected.data<Number>();
  for (size_t i = 0; i < b.size(); ++i) {
    error += static_cast<double>(std::norm(a[i] - b[i]));
    size += static_cast<double>(std::norm(b[i]));
  }
  return size > 0 ? std::sqrt(error / size) : std::sqrt(error);
}

double RelativeErrorOf(const hlo::Literal& actual, const hlo::Literal& expected) {
  switch (expected.shape().element_type()) {
    case hlo::PrimitiveType::kF32:
      return RelativeError<float>(actual, expected);
    case hlo::PrimitiveType::kF64:
      return RelativeError<double>(actual, expected);
    case hlo::PrimitiveType::kC64:
      return RelativeError<std::complex<float>>(actual, expected);
    default:
      return RelativeError<std::complex<double>>(actual, expected);
  }
}

// The whole program, with so many threads. Errors are those of the whole array in relation to its values, so that their
// limit does not grow with the size.
void ExpectAgrees(const std::string& body, double tolerance, std::vector<int> threads = {1, 3}) {
  const std::string text = absl::StrCat("HloModule fft\nENTRY main {\n", body, "}\n");
  SCOPED_TRACE(text);
  const std::unique_ptr<hlo::Module> reference = ParseOrDie(text);
  const std::vector<hlo::Literal> arguments = tools::RandomArguments(*reference->entry(), 11);
  const absl::StatusOr<hlo::Literal> expected = hlo::Evaluate(*reference->entry(), arguments);
  ASSERT_EQ(expected.status(), absl::OkStatus());
  const auto leaves = tools::Leaves(*expected);
  auto program = CompiledProgram::Compile(ParseOrDie(text), {});
  ASSERT_EQ(program.status(), absl::OkStatus());
  for (int count : threads) {
    Random random(5);
    const auto actual = (*program)->Run(arguments, /*donate=*/false, count, &random);
    ASSERT_EQ(actual.status(), absl::OkStatus());
    for (size_t i = 0; i < leaves.size(); ++i) {
      EXPECT_LE(RelativeErrorOf((*actual)[i], *leaves[i]), tolerance) << "result " << i << ", threads " << count;
    }
  }
}

// All four kinds over dimensions [batch..., lengths...].
void ExpectTransforms(std::vector<int64_t> batch, const std::vector<int64_t>& lengths, bool is_double = false) {
  std::vector<int64_t> whole = batch, half = batch;
  for (int64_t length : lengths) whole.push_back(length), half.push_back(length);
  half.back() = half.back() / 2 + 1;
  const std::string real = absl::StrCat(is_double ? "f64[" : "f32[", absl::StrJoin(whole, ","), "]");
  const std::string complex = absl::StrCat(is_double ? "c128[" : "c64[", absl::StrJoin(whole, ","), "]");
  const std::string spectrum = absl::StrCat(is_double ? "c128[" : "c64[", absl::StrJoin(half, ","), "]");
  const std::string length = absl::StrCat(", fft_length={", absl::StrJoin(lengths, ","), "}\n");
  ExpectAgrees(absl::StrCat("  c = ", complex, " parameter(0)\n  r = ", real, " parameter(1)\n  s = ", spectrum,
                            " parameter(2)\n  f = ", complex, " fft(c), fft_type=FFT", length, "  i = ", complex,
                            " fft(c), fft_type=IFFT", length, "  h = ", spectrum, " fft(r), fft_type=RFFT", length,
                            "  b = ", real, " fft(s), fft_type=IRFFT", length, "  m = ", complex,
                            " convert(r)\n  w = ", complex, " fft(m), fft_type=FFT", length, "  ROOT t = (", complex,
                            ", ", complex, ", ", spectrum, ", ", real, ", ", complex, ") tuple(f, i, h, b, w)\n"),
               is_double ? 1e-15 : 3e-7);
}

TEST(Fft, ShortRows) {
  for (int64_t length : {1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 31, 32, 37, 64, 100, 128, 243}) {
    for (int64_t rows : {1, 21}) ExpectTransforms({rows}, {length});
  }
  for (int64_t length : {1, 2, 3, 8, 15, 32, 41, 100}) {
    for (int64_t rows : {2, 21}) ExpectTransforms({rows}, {length}, /*is_double=*/true);
  }
}

TEST(Fft, Rows) {
  for (int64_t length : {360, 512, 1000, 1331, 2048}) ExpectTransforms({3}, {length});
  for (int64_t length : {768, 1024, 2187}) ExpectTransforms({3}, {length}, /*is_double=*/true);
}

TEST(Fft, LargePrimeFactors) {
  for (int64_t length : {257, 606, 1009}) ExpectTransforms({2}, {length});
  ExpectTransforms({40}, {74});
  ExpectTransforms({2}, {514}, /*is_double=*/true);
  ExpectTransforms({}, {41, 43, 3});
}

TEST(Fft, LongRows) {
  for (int64_t length : {1 << 15, 2 * 19683, 3 * 5 * 7 * 11 * 13}) ExpectTransforms({2}, {length});
  ExpectTransforms({}, {1 << 16});
  ExpectTransforms({}, {1 << 14}, /*is_double=*/true);
}

// A long row is transformed in its result: what a thread works in grows with the square root of the length.
TEST(Fft, LongRowsTakeLittleMemory) {
  for (const char* text : {"c64[1048576] fft(x), fft_type=FFT, fft_length={1048576}",
                           "c64[1048576] fft(x), fft_type=IFFT, fft_length={1048576}",
                           "f32[1048576] fft(x), fft_type=IRFFT, fft_length={1048576}"}) {
    const char* spectrum = absl::StrContains(text, "IRFFT") ? "c64[524289]" : "c64[1048576]";
    const std::unique_ptr<hlo::Module> module = ParseOrDie(
        absl::StrCat("HloModule m\nENTRY e {\n  x = ", spectrum, " parameter(0)\n  ROOT r = ", text, "\n}\n"));
    const cpu::FftPlan plan = cpu::PlanFft(*module->entry()->root());
    EXPECT_LE(plan.ScratchBytes(), plan.slots * (int64_t{5} << 18)) << text;
  }
}

// Neither the columns nor the rows of the matrix that a long row is taken for are one block alone.
TEST(Fft, ThreadsShareBothHalvesOfLongRows) {
  for (const char* length : {"44100", "65536", "100000", "1000000", "1594323"}) {
    const std::string array = absl::StrCat("c64[", length, "]");
    const std::unique_ptr<hlo::Module> module =
        ParseOrDie(absl::StrCat("HloModule m\nENTRY e {\n  x = ", array, " parameter(0)\n  ROOT r = ", array,
                                " fft(x), fft_type=FFT, fft_length={", length, "}\n}\n"));
    const cpu::FftPlan plan = cpu::PlanFft(*module->entry()->root());
    ASSERT_EQ(plan.groups.size(), 1u);
    ASSERT_EQ(plan.groups[0].phases.size(), 2u) << length;
    for (const cpu::FftPhase& phase : plan.groups[0].phases) EXPECT_GE(phase.units.count(), 2) << length;
  }
}

TEST(Fft, LongRowsOfLargePrimeFactors) {
  ExpectTransforms({}, {4099});
  ExpectTransforms({}, {2053}, /*is_double=*/true);
  ExpectTransforms({}, {2 * 2053}, /*is_double=*/true);
}

// Threads share the convolution of a long row, of 131,073 numbers and up to 153,000 by what the vectors favor.
TEST(Fft, LongConvolutionsTakeTwoArrays) {
  const std::unique_ptr<hlo::Module> module = ParseOrDie(
      "HloModule m\nENTRY e {\n  x = c64[8,65537] parameter(0)\n"
      "  ROOT r = c64[8,65537] fft(x), fft_type=FFT, fft_length={65537}\n}\n");
  const cpu::FftPlan plan = cpu::PlanFft(*module->entry()->root());
  EXPECT_LE(plan.ScratchBytes(), 16 * 153000 + plan.slots * (int64_t{1} << 18));
}

// Transforms of rows and of the dimensions before them, each in the memory of the one before.
TEST(Fft, InPlace) {
  const auto in_place = [](const std::string& shape, const std::string& lengths) {
    const std::unique_ptr<hlo::Module> module =
        ParseOrDie(absl::StrCat("HloModule m\nENTRY e {\n  x = ", shape, " parameter(0)\n  ROOT r = ", shape,
                                " fft(x), fft_type=FFT, fft_length={", lengths, "}\n}\n"));
    return cpu::PlanFft(*module->entry()->root()).MayRunInPlace();
  };
  EXPECT_TRUE(in_place("c64[64,1024]", "1024"));
  EXPECT_TRUE(in_place("c64[16,64,60]", "64,60"));
  EXPECT_FALSE(in_place("c64[2,1048576]", "1048576"));  // a long row's columns are all of it
  for (const char* shape : {"64,1024", "100,30", "33,64", "5,4096", "3,17", "1000,8", "16,12,20"}) {
    const std::string array = absl::StrCat("c64[", shape, "]");
    const std::string length = std::string(shape).substr(std::string(shape).rfind(',') + 1);
    ExpectAgrees(absl::StrCat("  x = ", array, " parameter(0)\n  y = ", array, " add(x, x)\n  f = ", array,
                              " fft(y), fft_type=FFT, fft_length={", length, "}\n  g = ", array,
                              " multiply(f, f)\n  h = ", array, " fft(g), fft_type=IFFT, fft_length={", length,
                              "}\n  ROOT r = ", array, " add(h, x)\n"),
                 1e-6);
  }
}

TEST(Fft, SeveralDimensions) {
  const std::vector<std::vector<int64_t>> shapes = {{1, 1},     {4, 6},   {16, 1},     {1, 40},    {37, 20},
                                                    {2, 3, 34}, {64, 64}, {5, 7, 130}, {33, 32, 2}};
  for (const auto& shape : shapes) {
    ExpectTransforms({}, shape);
    ExpectTransforms({2}, shape, /*is_double=*/true);
  }
}

TEST(Fft, NothingToTransform) {
  ExpectAgrees("  x = c64[0,4] parameter(0)\n  ROOT r = c64[0,4] fft(x), fft_type=FFT, fft_length={4}\n", 0);
}

TEST(Fft, InLoops) {
  const std::string condition =
      "c {\n  s = (s32[], c64[3,48]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(5)\n"
      "  ROOT r = pred[] compare(i, n), direction=LT\n}\n";
  const std::string body =
      "b {\n  s = (s32[], c64[3,48]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  one = s32[] "
      "constant(1)\n"
      "  j = s32[] add(i, one)\n  x = c64[3,48] get-tuple-element(s), index=1\n"
      "  f = c64[3,48] fft(x), fft_type=FFT, fft_length={48}\n  g = c64[3,48] multiply(f, x)\n"
      "  y = c64[3,48] fft(g), fft_type=IFFT, fft_length={48}\n  z = c64[3,48] fft(y), fft_type=IFFT, fft_length={48}\n"
      "  ROOT r = (s32[], c64[3,48]) tuple(j, z)\n}\n";
  const std::string text = absl::StrCat(
      "HloModule loop\n", condition, body,
      "ENTRY main {\n  x = c64[3,48] parameter(0)\n  i = s32[] constant(0)\n  s = (s32[], c64[3,48]) tuple(i, x)\n"
      "  l = (s32[], c64[3,48]) while(s), condition=c, body=b\n  ROOT r = c64[3,48] get-tuple-element(l), "
      "index=1\n}\n");
  const std::unique_ptr<hlo::Module> reference = ParseOrDie(text);
  uint64_t seed = 3;
  const std::vector<hlo::Literal> arguments = {
      tools::RandomLiteral(reference->entry()->parameters()[0]->shape(), &seed)};
  const absl::StatusOr<hlo::Literal> expected = hlo::Evaluate(*reference->entry(), arguments);
  ASSERT_EQ(expected.status(), absl::OkStatus());
  auto program = CompiledProgram::Compile(ParseOrDie(text), {});
  ASSERT_EQ(program.status(), absl::OkStatus());
  Random random(5);
  const auto actual = (*program)->Run(arguments, /*donate=*/false, 2, &random);
  ASSERT_EQ(actual.status(), absl::OkStatus());
  EXPECT_LE(RelativeErrorOf((*actual)[0], *expected), 1e-5);
}

TEST(Fft, RefusesWhatItsTablesCannotHold) {
  const auto program = CompiledProgram::Compile(
      ParseOrDie("HloModule m\nENTRY main {\n  x = c64[1073741827] parameter(0)\n"
                 "  ROOT r = c64[1073741827] fft(x), fft_type=FFT, fft_length={1073741827}\n}\n"),
      {});
  EXPECT_EQ(program.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(program.status().message()), ::testing::HasSubstr("1073741827"));
}

TEST(Fft, RadicesMultiplyToTheLength) {
  for (int64_t length = 2; length < 3000; ++length) {
    for (const cpu::FftRadices& found : {cpu::RowRadices(length, 16), cpu::ColumnRadices(length, 16)}) {
      int64_t product = 1;
      for (int64_t radix : found.radices) product *= radix;
      EXPECT_EQ(product, cpu::IsSmooth(length) ? length : 1);
    }
    if (!cpu::IsSmooth(length)) {
      const int64_t size = cpu::ConvolutionLength(length, false, 16);
      EXPECT_GE(size, 2 * length - 1);
      EXPECT_TRUE(cpu::IsSmooth(size));
    }
  }
}

}  // namespace
}  // namespace kiln::testing
