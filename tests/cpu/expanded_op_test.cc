// Ops that passes write as others, compiled, against the evaluator.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/hlo/evaluator.h"
#include "src/passes/pipeline.h"
#include "src/tools/compare_literals.h"
#include "src/tools/random_literal.h"
#include "tests/cpu/differential.h"
#include "tests/hlo_test_util.h"

namespace kiln::testing {
namespace {

// Compiles and runs `text` on one thread and on three. The evaluator is given the same module, after `expander` where
// it does not know the op itself.
void ExpectCompiledAgrees(const std::string& text, double tolerance, absl::string_view expander = "") {
  SCOPED_TRACE(text);
  std::unique_ptr<hlo::Module> reference = ParseOrDie(text);
  if (!expander.empty()) {
    ASSERT_EQ(passes::CreatePass(expander)->Run(reference.get()).status(), absl::OkStatus());
  }
  uint64_t seed = 11;
  std::vector<hlo::Literal> arguments;
  for (const hlo::Instruction* parameter : reference->entry()->parameters()) {
    arguments.push_back(tools::RandomLiteral(parameter->shape(), &seed));
  }
  const absl::StatusOr<hlo::Literal> expected = hlo::Evaluate(*reference->entry(), arguments);
  ASSERT_EQ(expected.status(), absl::OkStatus());
  const auto leaves = tools::Leaves(*expected);
  for (int threads : {1, 3}) {
    auto program = CompiledProgram::Compile(ParseOrDie(text), {});
    ASSERT_EQ(program.status(), absl::OkStatus());
    Random random(5);
    const auto actual = (*program)->Run(arguments, /*donate=*/false, threads, &random);
    ASSERT_EQ(actual.status(), absl::OkStatus());
    ASSERT_EQ(actual->size(), leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i) {
      EXPECT_LE(tools::LargestError((*actual)[i], *leaves[i]), tolerance) << "result " << i << ", threads " << threads;
    }
  }
}

std::string Entry(const std::string& lines) { return absl::StrCat("HloModule m\nENTRY e {\n", lines, "}\n"); }

TEST(ExpandedOps, RngBitGenerator) {
  for (const char* algorithm : {"rng_three_fry", "rng_philox"}) {
    for (const char* values : {"u32[1000]", "u64[77]", "u8[33,5]", "s16[7,3]", "u32[]"}) {
      ExpectCompiledAgrees(Entry(absl::StrCat("  s = u64[2] parameter(0)\n  ROOT r = (u64[2], ", values,
                                              ") rng-bit-generator(s), algorithm=", algorithm, "\n")),
                           0);
    }
  }
}

TEST(ExpandedOps, RngGoesOnFromRunToRun) {
  const std::string text = Entry(
      "  a = f32[] constant(-1)\n  b = f32[] constant(3)\n"
      "  ROOT r = f32[100] rng(a, b), distribution=rng_uniform\n");
  ExpectCompiledAgrees(text, 1e-6);
  // Two runs of one program are what one run of twice the size is.
  auto program = CompiledProgram::Compile(ParseOrDie(text), {});
  ASSERT_EQ(program.status(), absl::OkStatus());
  Random random(5);
  const auto first = (*program)->Run({}, false, 1, &random), second = (*program)->Run({}, false, 1, &random);
  ASSERT_EQ(first.status(), absl::OkStatus());
  ASSERT_EQ(second.status(), absl::OkStatus());
  const absl::StatusOr<hlo::Literal> both =
      hlo::Evaluate(*ParseOrDie(Entry("  a = f32[] constant(-1)\n  b = f32[] constant(3)\n"
                                      "  ROOT r = f32[200] rng(a, b), distribution=rng_uniform\n"))
                         ->entry(),
                    {});
  ASSERT_EQ(both.status(), absl::OkStatus());
  for (int64_t i = 0; i < 200; ++i) {
    const hlo::Literal& run = i < 100 ? (*first)[0] : (*second)[0];
    EXPECT_NEAR(run.data<float>()[i % 100], both->data<float>()[i], 1e-6) << i;
  }
}

TEST(ExpandedOps, RngNormal) {
  for (const char* type : {"f32", "f64", "bf16"}) {
    ExpectCompiledAgrees(
        Entry(absl::StrCat("  a = ", type, "[] constant(2)\n  b = ", type, "[] constant(3)\n  ROOT r = ", type,
                           "[77] rng(a, b), distribution=rng_normal\n")),
        type[0] == 'b' ? 1e-2 : 1e-6);
  }
}

TEST(ExpandedOps, SelectAndScatter) {
  const std::string computations =
      "HloModule m\nselect {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT c = pred[] compare(a, b), direction=GE\n}\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n  i = f32[] constant(0.5)\n";
  ExpectCompiledAgrees(absl::StrCat(computations,
                                    "  x = f32[2,13,13,5] parameter(0)\n  s = f32[2,6,6,5] parameter(1)\n"
                                    "  ROOT r = f32[2,13,13,5] select-and-scatter(x, s, i), window={size=1x3x3x1 "
                                    "stride=1x2x2x1}, select=select, scatter=add\n}\n"),
                       1e-6);
  ExpectCompiledAgrees(absl::StrCat(computations,
                                    "  x = f32[60] parameter(0)\n  s = f32[31] parameter(1)\n"
                                    "  ROOT r = f32[60] select-and-scatter(x, s, i), window={size=30 stride=1}, "
                                    "select=select, scatter=add\n}\n"),
                       1e-5);
}

TEST(ExpandedOps, LinearAlgebra) {
  for (const char* type : {"f32", "f64", "c64", "c128"}) {
    const double tolerance = std::string(type) == "f32" || std::string(type) == "c64" ? 1e-3 : 1e-10;
    for (int64_t n : {1, 5, 40, 70}) {
      const std::string square = absl::StrCat(type, "[2,", n, ",", n, "]"), tall = absl::StrCat(type, "[2,", n, ",3]");
      const std::string scale = type[0] == 'c' ? absl::StrCat("(", 3 * n, ", 0)") : absl::StrCat(3 * n);
      // x with a heavy diagonal: both definite and well conditioned.
      const std::string matrix = absl::StrCat(
          "  x = ", square, " parameter(0)\n  i = s32[2,", n, ",", n, "] iota(), iota_dimension=1\n  j = s32[2,", n,
          ",", n, "] iota(), iota_dimension=2\n  on = pred[2,", n, ",", n,
          "] compare(i, j), direction=EQ\n  k = ", type, "[] constant(", scale, ")\n  ks = ", square,
          " broadcast(k), dimensions={}\n  a = ", square, " select(on, ks, x)\n");
      ExpectCompiledAgrees(Entry(absl::StrCat(matrix, "  ROOT r = ", square, " cholesky(a), lower=true\n")), tolerance);
      ExpectCompiledAgrees(
          Entry(absl::StrCat(matrix, "  b = ", tall, " parameter(1)\n  ROOT r = ", tall,
                             " triangular-solve(a, b), left_side=true, lower=false, unit_diagonal=false, "
                             "transpose_a=ADJOINT\n")),
          tolerance);
      const std::string taus = absl::StrCat(type, "[2,", n, "]");
      ExpectCompiledAgrees(Entry(absl::StrCat("  x = ", square, " parameter(0)\n  qr = (", square, ", ", taus,
                                              ") custom-call(x), custom_call_target=\"Qr\"\n  v = ", square,
                                              " get-tuple-element(qr), index=0\n  t = ", taus,
                                              " get-tuple-element(qr), index=1\n  q = ", square,
                                              " custom-call(v, t), custom_call_target="
                                              "\"ProductOfElementaryHouseholderReflectors\"\n  ROOT r = (",
                                              square, ", ", square, ") tuple(v, q)\n")),
                           tolerance, "qr-expander");
    }
  }
}

TEST(ExpandedOps, Eigh) {
  for (int64_t n : {1, 3, 16}) {
    for (const char* type : {"f64", "c128"}) {
      ExpectCompiledAgrees(Entry(absl::StrCat("  x = ", type, "[2,", n, ",", n, "] parameter(0)\n  ROOT r = (", type,
                                              "[2,", n, ",", n, "], f64[2,", n,
                                              "]) custom-call(x), custom_call_target=\"Eigh\", "
                                              "backend_config=\"1,1,100,0.000001\"\n")),
                           1e-9, "eigh-expander");
    }
  }
}

TEST(ExpandedOps, Fft) {
  for (int64_t n : {5, 64, 360, 1024, 251}) {
    for (const char* kind : {"FFT", "IFFT"}) {
      ExpectCompiledAgrees(Entry(absl::StrCat("  x = c64[3,", n, "] parameter(0)\n  ROOT r = c64[3,", n,
                                              "] fft(x), fft_type=", kind, ", fft_length={", n, "}\n")),
                           1e-3);
    }
    ExpectCompiledAgrees(Entry(absl::StrCat("  x = f64[3,4,", n, "] parameter(0)\n  f = c128[3,4,", n / 2 + 1,
                                            "] fft(x), fft_type=RFFT, fft_length={4,", n, "}\n  ROOT r = f64[3,4,", n,
                                            "] fft(f), fft_type=IRFFT, fft_length={4,", n, "}\n")),
                         1e-12);
  }
  // Roots of unity that the program computes.
  ExpectCompiledAgrees(Entry("  x = c64[1,327680] parameter(0)\n  ROOT r = c64[1,327680] fft(x), fft_type=FFT, "
                             "fft_length={327680}\n"),
                       1e-2);
}

}  // namespace
}  // namespace kiln::testing
