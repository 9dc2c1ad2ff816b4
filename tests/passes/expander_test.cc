// Expanders: what an op becomes has the value that the evaluator gives the op itself.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/hlo/evaluator.h"
#include "src/hlo/verifier.h"
#include "src/passes/pipeline.h"
#include "src/tools/compare_literals.h"
#include "src/tools/random_literal.h"
#include "tests/hlo_test_util.h"

namespace kiln::passes {
namespace {

// Runs `pass` on the module of `text`, in which `opcode` must be gone then, and compares before and after.
void ExpectSameValue(const std::string& text, const std::string& pass, hlo::Opcode opcode, double tolerance,
                     std::vector<hlo::Literal> arguments = {}) {
  SCOPED_TRACE(text);
  std::unique_ptr<hlo::Module> module = ParseOrDie(text);
  if (arguments.empty()) arguments = tools::RandomArguments(*module->entry(), 1);
  const absl::StatusOr<hlo::Literal> expected = hlo::Evaluate(*module->entry(), arguments);
  ASSERT_EQ(expected.status(), absl::OkStatus());
  const absl::StatusOr<bool> changed = FindPass(pass)->run(module.get());
  ASSERT_EQ(changed.status(), absl::OkStatus());
  EXPECT_TRUE(*changed);
  ASSERT_EQ(hlo::Verify(*module), absl::OkStatus());
  for (const hlo::Computation* computation : module->PostOrder()) {
    for (const hlo::Instruction* instruction : computation->instructions()) EXPECT_NE(instruction->opcode(), opcode);
  }
  const absl::StatusOr<hlo::Literal> actual = hlo::Evaluate(*module->entry(), arguments);
  ASSERT_EQ(actual.status(), absl::OkStatus());
  const auto expected_leaves = tools::Leaves(*expected), actual_leaves = tools::Leaves(*actual);
  ASSERT_EQ(expected_leaves.size(), actual_leaves.size());
  for (size_t i = 0; i < expected_leaves.size(); ++i) {
    if (tolerance == 0) {
      EXPECT_EQ(*actual_leaves[i], *expected_leaves[i]) << "result " << i;
    } else {
      EXPECT_LE(tools::LargestError(*actual_leaves[i], *expected_leaves[i]), tolerance) << "result " << i;
    }
  }
}

void ExpectSameBits(const std::string& algorithm, const std::string& state, const std::string& values,
                    const std::vector<uint64_t>& words) {
  hlo::Literal literal;
  if (state[1] == '6') {
    literal = hlo::Literal::Vector<uint64_t>(words);
  } else {
    std::vector<uint32_t> halves;
    for (uint64_t word : words) {
      halves.push_back(static_cast<uint32_t>(word));
      halves.push_back(static_cast<uint32_t>(word >> 32));
    }
    literal = hlo::Literal::Vector<uint32_t>(halves);
  }
  ExpectSameValue(absl::StrCat("HloModule m\nENTRY e {\n  s = ", state, " parameter(0)\n  ROOT r = (", state, ", ",
                               values, ") rng-bit-generator(s), algorithm=", algorithm, "\n}\n"),
                  "rng-bit-generator-expander", hlo::Opcode::kRngBitGenerator, 0, {literal});
}

TEST(RngBitGeneratorExpander, ThreeFry) {
  for (const char* values : {"u32[]",    "u32[7]",   "u32[8]", "u32[3,4]", "u32[3,5,7]", "u32[2,3,4]", "u32[0]",
                             "u32[3,0]", "s32[5,6]", "u8[9]",  "s8[4]",    "u16[3,3]",   "s16[6]",     "u4[5]",
                             "f32[4]",   "bf16[4]",  "u64[]",  "u64[5]",   "s64[2,3]",   "f64[3]"}) {
    ExpectSameBits("rng_three_fry", "u64[2]", values, {0x0123456789abcdef, 0xfffffffffffffffe});
  }
  ExpectSameBits("rng_three_fry", "u32[4]", "u32[9]", {0x0123456789abcdef, 0x00000000fffffffe});
}

TEST(RngBitGeneratorExpander, Philox) {
  for (const char* algorithm : {"rng_philox", "rng_default"}) {
    for (const char* values : {"u32[]", "u32[7]", "u32[3,8]", "u32[0]", "s32[16]", "u8[9]", "s8[4]", "u16[3,3]",
                               "s16[6]", "f16[5]", "u64[]", "u64[5]", "s64[2,3]"}) {
      ExpectSameBits(algorithm, "u64[2]", values, {0x0123456789abcdef, 0xfffffffffffffffe});
      // The counter's lower half runs over.
      ExpectSameBits(algorithm, "u64[3]", values, {7, 0xfffffffffffffffe, 0xffffffffffffffff});
    }
    ExpectSameBits(algorithm, "u32[4]", "u32[9]", {0x0123456789abcdef, 5});
    ExpectSameBits(algorithm, "u32[6]", "u64[9]", {0x0123456789abcdef, 0xffffffffffffffff, 3});
  }
}

TEST(RngBitGeneratorExpander, RefusesShapesThatDoNotFit) {
  for (const char* lines : {"  s = u64[3] parameter(0)\n"
                            "  ROOT r = (u64[3], u32[4]) rng-bit-generator(s), algorithm=rng_three_fry\n",
                            "  s = u64[4] parameter(0)\n"
                            "  ROOT r = (u64[4], u32[4]) rng-bit-generator(s), algorithm=rng_philox\n",
                            "  s = u64[2] parameter(0)\n"
                            "  ROOT r = u32[4] rng-bit-generator(s), algorithm=rng_philox\n"}) {
    std::unique_ptr<hlo::Module> module = ParseOrDie(absl::StrCat("HloModule m\nENTRY e {\n", lines, "}\n"));
    const auto changed = FindPass("rng-bit-generator-expander")->run(module.get());
    EXPECT_EQ(changed.status().code(), absl::StatusCode::kInvalidArgument) << lines;
  }
}

TEST(RngExpander, DrawsWhatTheEvaluatorDraws) {
  const std::map<std::string, std::vector<std::string>> bounds = {
      {"f32", {"-1", "3"}}, {"f64", {"0", "1"}},   {"bf16", {"0", "1"}}, {"s32", {"-5", "100"}},
      {"u8", {"10", "20"}}, {"s64", {"-9", "-2"}}, {"u32", {"5", "5"}}};
  for (const auto& [type, range] : bounds) {
    for (const char* distribution : {"rng_uniform", "rng_normal"}) {
      const bool real = type == "f32" || type == "f64" || type == "bf16";
      if (!real && std::string(distribution) == "rng_normal") continue;
      for (const char* dimensions : {"[]", "[300]", "[7,3]", "[0]"}) {
        // The second op goes on where the first one ended.
        ExpectSameValue(absl::StrCat("HloModule m\nENTRY e {\n  a = ", type, "[] constant(", range[0],
                                     ")\n  b = ", type, "[] constant(", range[1], ")\n  r = ", type, dimensions,
                                     " rng(a, b), distribution=", distribution, "\n  q = ", type,
                                     "[5] rng(a, b), distribution=", distribution, "\n  ROOT t = (", type, dimensions,
                                     ", ", type, "[5]) tuple(r, q)\n}\n"),
                        "rng-expander", hlo::Opcode::kRng,
                        type == "f64"    ? 1e-14
                        : type == "bf16" ? 1e-2
                                         : 1e-6);
      }
    }
  }
}

constexpr char kSelectAndScatter[] = R"(HloModule m
select {
  a = TYPE[] parameter(0)
  b = TYPE[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=DIRECTION
}
scatter {
  a = TYPE[] parameter(0)
  b = TYPE[] parameter(1)
  ROOT c = TYPE[] COMBINE(a, b)
}
ENTRY e {
  x = TYPE[OPERAND] parameter(0)
  s = TYPE[SOURCE] parameter(1)
  i = TYPE[] parameter(2)
  ROOT r = TYPE[OPERAND] select-and-scatter(x, s, i), window={WINDOW}, select=select, scatter=scatter
}
)";

TEST(SelectAndScatterExpander, Windows) {
  struct Case {
    const char *operand, *source, *window;
  };
  for (const Case& c : {Case{"6,8", "3,4", "size=2x2 stride=2x2"}, Case{"7,9", "3,4", "size=3x3 stride=2x2"},
                        Case{"5,5", "5,5", "size=3x3 stride=1x1 pad=1_1x1_1"},
                        Case{"1,6,6,2", "1,3,3,2", "size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x1_0x0_0"},
                        Case{"9", "4", "size=3 stride=3 pad=2_1"}, Case{"7", "2", "size=2 stride=4"},
                        Case{"40", "11", "size=30 stride=1"}, Case{"12,12", "7,7", "size=6x6 stride=1x1"},
                        Case{"40", "13", "size=30 stride=2 pad=7_7"}}) {
    for (const char* type : {"f32", "f64", "bf16", "s32", "u8"}) {
      for (const char* direction : {"GE", "GT", "LE"}) {
        for (const char* combine : {"add", "maximum", "subtract"}) {
          // Ties are many among small integers, and the order of additions shows in bf16.
          ExpectSameValue(absl::StrReplaceAll(kSelectAndScatter, {{"TYPE", type},
                                                                  {"DIRECTION", direction},
                                                                  {"COMBINE", combine},
                                                                  {"OPERAND", c.operand},
                                                                  {"SOURCE", c.source},
                                                                  {"WINDOW", c.window}}),
                          "select-and-scatter-expander", hlo::Opcode::kSelectAndScatter, 0);
        }
      }
    }
  }
}

double LinearAlgebraTolerance(const std::string& type) {
  return type == "f64" || type == "c128" ? 1e-11 : type == "f32" || type == "c64" ? 2e-4 : 3e-2;
}

// A + A^H + shift: definite when `shift` is large.
constexpr char kCholesky[] = R"(HloModule m
ENTRY e {
  x = TYPE[DIMS] parameter(0)
  iota0 = s32[DIMS] iota(), iota_dimension=ROW
  iota1 = s32[DIMS] iota(), iota_dimension=COLUMN
  on = pred[DIMS] compare(iota0, iota1), direction=EQ
  shift = TYPE[] constant(SHIFT)
  shifts = TYPE[DIMS] broadcast(shift), dimensions={}
  zero = TYPE[] constant(0)
  zeros = TYPE[DIMS] broadcast(zero), dimensions={}
  d = TYPE[DIMS] select(on, shifts, zeros)
  a = TYPE[DIMS] add(x, d)
  ROOT r = TYPE[DIMS] cholesky(a), lower=LOWER
}
)";

TEST(CholeskyExpander, Factorizes) {
  struct Case {
    const char *dimensions, *row, *column, *shift;
  };
  for (const Case& c :
       {Case{"1,1", "0", "1", "2"}, Case{"5,5", "0", "1", "9"}, Case{"3,2,4,4", "2", "3", "9"},
        Case{"32,32", "0", "1", "40"}, Case{"33,33", "0", "1", "40"}, Case{"2,70,70", "1", "2", "90"},
        Case{"0,3,3", "1", "2", "9"}, Case{"2,0,0", "1", "2", "9"},
        // Not definite, some of them only in the second block.
        Case{"4,3,3", "1", "2", "0.3"}, Case{"40,40", "0", "1", "-1"}, Case{"2,40,40", "1", "2", "4"}}) {
    for (const char* type : {"f32", "f64", "bf16", "c64", "c128"}) {
      for (const char* lower : {"true", "false"}) {
        const bool complex = type[0] == 'c';
        ExpectSameValue(
            absl::StrReplaceAll(kCholesky, {{"TYPE", type},
                                            {"DIMS", c.dimensions},
                                            {"ROW", c.row},
                                            {"COLUMN", c.column},
                                            {"SHIFT", complex ? absl::StrCat("(", c.shift, ", 0)") : c.shift},
                                            {"constant(0)", complex ? "constant((0, 0))" : "constant(0)"},
                                            {"LOWER", lower}}),
            "cholesky-expander", hlo::Opcode::kCholesky, LinearAlgebraTolerance(type));
      }
    }
  }
}

// A triangular matrix whose diagonal stays away from 0, with NaN where nobody may look.
constexpr char kTriangularSolve[] = R"(HloModule m
ENTRY e {
  x = TYPE[DIMS] parameter(0)
  b = TYPE[RIGHT] parameter(1)
  iota0 = s32[DIMS] iota(), iota_dimension=ROW
  iota1 = s32[DIMS] iota(), iota_dimension=COLUMN
  on = pred[DIMS] compare(iota0, iota1), direction=EQ
  other = pred[DIMS] compare(iota0, iota1), direction=OTHER
  two = TYPE[] constant(2)
  diagonal = TYPE[DIMS] broadcast(two), dimensions={}
  tenth = TYPE[] constant(0.1)
  small = TYPE[DIMS] broadcast(tenth), dimensions={}
  y = TYPE[DIMS] multiply(x, small)
  d = TYPE[DIMS] select(on, diagonal, y)
  nan = TYPE[] constant(nan)
  nans = TYPE[DIMS] broadcast(nan), dimensions={}
  a = TYPE[DIMS] select(other, nans, d)
  ROOT r = TYPE[RIGHT] triangular-solve(a, b), left_side=LEFT, lower=LOWER, unit_diagonal=UNIT, transpose_a=TRANSPOSE
}
)";

TEST(TriangularSolveExpander, Solves) {
  struct Case {
    const char *matrix, *left, *right, *row, *column;
  };
  for (const Case& c : {Case{"1,1", "1,3", "3,1", "0", "1"}, Case{"4,4", "4,3", "2,4", "0", "1"},
                        Case{"2,3,5,5", "2,3,5,1", "2,3,4,5", "2", "3"}, Case{"2,45,45", "2,45,3", "2,3,45", "1", "2"},
                        Case{"3,3", "3,0", "0,3", "0", "1"}}) {
    for (const char* type : {"f32", "f64", "f16", "c64", "c128"}) {
      for (bool left : {true, false}) {
        for (bool lower : {true, false}) {
          for (const char* unit : {"true", "false"}) {
            for (const char* transpose : {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}) {
              std::string text = absl::StrReplaceAll(kTriangularSolve, {{"TYPE", type},
                                                                        {"DIMS", c.matrix},
                                                                        {"RIGHT", left ? c.left : c.right},
                                                                        {"ROW", c.row},
                                                                        {"COLUMN", c.column},
                                                                        {"OTHER", lower ? "LT" : "GT"},
                                                                        {"LEFT", left ? "true" : "false"},
                                                                        {"LOWER", lower ? "true" : "false"},
                                                                        {"UNIT", unit},
                                                                        {"=TRANSPOSE", absl::StrCat("=", transpose)}});
              if (type[0] == 'c') {
                text = absl::StrReplaceAll(text, {{"constant(2)", "constant((2, 1))"},
                                                  {"constant(0.1)", "constant((0.1, 0.05))"},
                                                  {"constant(nan)", "constant((nan, nan))"}});
              }
              ExpectSameValue(text, "triangular-solve-expander", hlo::Opcode::kTriangularSolve,
                              LinearAlgebraTolerance(type));
            }
          }
        }
      }
    }
  }
}

TEST(FftExpander, Transforms) {
  // Direct, composite, with a large prime factor, prime below and above the largest direct length, product of primes.
  for (int64_t n : {1, 2, 7, 64, 128, 360, 1024, 134, 101, 251, 4489}) {
    for (const char* part : {"f32", "f64"}) {
      const std::string type = part[1] == '3' ? "c64" : "c128";
      const double tolerance = part[1] == '3' ? 2e-5 : 1e-12;
      auto check = [&](const std::string& from, const std::string& to, const char* kind) {
        ExpectSameValue(absl::StrCat("HloModule m\nENTRY e {\n  x = ", from, " parameter(0)\n  ROOT r = ", to,
                                     " fft(x), fft_type=", kind, ", fft_length={", n, "}\n}\n"),
                        "fft-expander", hlo::Opcode::kFft, tolerance * std::sqrt(n));
      };
      const std::string whole = absl::StrCat("[2,", n, "]"), half = absl::StrCat("[2,", n / 2 + 1, "]");
      check(type + whole, type + whole, "FFT");
      check(type + whole, type + whole, "IFFT");
      check(part + whole, type + half, "RFFT");
      check(type + half, part + whole, "IRFFT");
    }
  }
}

TEST(FftExpander, TransformsSeveralDimensions) {
  auto check = [&](const std::string& from, const std::string& to, const char* kind, const char* lengths) {
    ExpectSameValue(absl::StrCat("HloModule m\nENTRY e {\n  x = ", from, " parameter(0)\n  ROOT r = ", to,
                                 " fft(x), fft_type=", kind, ", fft_length={", lengths, "}\n}\n"),
                    "fft-expander", hlo::Opcode::kFft, 1e-12);
  };
  check("c128[3,4,5]", "c128[3,4,5]", "FFT", "4,5");
  check("c128[3,4,5]", "c128[3,4,5]", "IFFT", "3,4,5");
  check("f64[3,4,6]", "c128[3,4,4]", "RFFT", "3,4,6");
  check("c128[3,4,4]", "f64[3,4,6]", "IRFFT", "3,4,6");
  check("c128[3,4,4]", "f64[3,4,7]", "IRFFT", "4,7");
  check("c128[0,4]", "c128[0,4]", "FFT", "4");
}

TEST(FftExpander, RefusesWhatItsTablesCannotHold) {
  std::unique_ptr<hlo::Module> module = ParseOrDie(
      "HloModule m\nENTRY e {\n  x = c64[1073741827] parameter(0)\n"
      "  ROOT r = c64[1073741827] fft(x), fft_type=FFT, fft_length={1073741827}\n}\n");
  EXPECT_EQ(FindPass("fft-expander")->run(module.get()).status().code(), absl::StatusCode::kUnimplemented);
}

// Q R = A and Q^H Q = I, with R the upper triangle of what Qr gives. Results: Q R, Q^H Q, and
// the packed factors.
constexpr char kQr[] = R"(HloModule m
ENTRY e {
  a = TYPE[2,ROWS,COLUMNS] parameter(0)
  qr = (TYPE[2,ROWS,COLUMNS], TYPE[2,STEPS]) custom-call(a), custom_call_target="Qr"
  packed = TYPE[2,ROWS,COLUMNS] get-tuple-element(qr), index=0
  taus = TYPE[2,STEPS] get-tuple-element(qr), index=1
  kept = TYPE[2,ROWS,STEPS] slice(packed), slice={[0:2], [0:ROWS], [0:STEPS]}
  q = TYPE[2,ROWS,STEPS] custom-call(kept, taus), custom_call_target="ProductOfElementaryHouseholderReflectors"
  top = TYPE[2,STEPS,COLUMNS] slice(packed), slice={[0:2], [0:STEPS], [0:COLUMNS]}
  iota0 = s32[2,STEPS,COLUMNS] iota(), iota_dimension=1
  iota1 = s32[2,STEPS,COLUMNS] iota(), iota_dimension=2
  upper = pred[2,STEPS,COLUMNS] compare(iota0, iota1), direction=LE
  zero = TYPE[] constant(0)
  zeros = TYPE[2,STEPS,COLUMNS] broadcast(zero), dimensions={}
  r = TYPE[2,STEPS,COLUMNS] select(upper, top, zeros)
  product = TYPE[2,ROWS,COLUMNS] dot(q, r), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  QCONJ
  gram = TYPE[2,STEPS,STEPS] dot(qc, q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT t = (TYPE[2,ROWS,COLUMNS], TYPE[2,STEPS,STEPS], TYPE[2,ROWS,COLUMNS]) tuple(product, gram, packed)
}
)";

void ExpectFactorized(const std::string& type, int64_t rows, int64_t columns, double tolerance) {
  const std::string part = type == "c64" ? "f32" : "f64";
  const int64_t steps = std::min(rows, columns);
  const std::string square = absl::StrCat("[2,", rows, ",", steps, "]");
  const std::string conjugate =
      type[0] == 'c'
          ? absl::StrCat("re = ", part, square, " real(q)\n  im = ", part, square, " imag(q)\n  minus = ", part, square,
                         " negate(im)\n  qc = ", type, square, " complex(re, minus)")
          : absl::StrCat("qc = ", type, square, " copy(q)");
  const std::string text =
      absl::StrReplaceAll(kQr, {{"QCONJ", conjugate},
                                {"TYPE", type},
                                {"ROWS", absl::StrCat(rows)},
                                {"COLUMNS", absl::StrCat(columns)},
                                {"STEPS", absl::StrCat(steps)},
                                {"constant(0)", type[0] == 'c' ? "constant((0, 0))" : "constant(0)"}});
  SCOPED_TRACE(text);
  std::unique_ptr<hlo::Module> module = ParseOrDie(text);
  uint64_t seed = 3;
  const hlo::Literal a = tools::RandomLiteral(module->entry()->parameter(0)->shape(), &seed);
  ASSERT_EQ(FindPass("qr-expander")->run(module.get()).status(), absl::OkStatus());
  ASSERT_EQ(hlo::Verify(*module), absl::OkStatus());
  const absl::StatusOr<hlo::Literal> result = hlo::Evaluate(*module->entry(), {a});
  ASSERT_EQ(result.status(), absl::OkStatus());
  EXPECT_LE(tools::LargestError(result->elements()[0], a), tolerance);
  const hlo::Literal& gram = result->elements()[1];
  for (int64_t i = 0; i < gram.element_count(); ++i) {
    const bool diagonal = i / steps % steps == i % steps;
    EXPECT_NEAR(hlo::ElementAsDouble(gram, i), diagonal ? 1 : 0, tolerance) << i;
  }
  // The signs are LAPACK's: a column turns away from its first element, unless nothing stands below it.
  if (rows > 1) {
    EXPECT_LT(hlo::ElementAsDouble(result->elements()[2], 0) * hlo::ElementAsDouble(a, 0), 0);
  }
}

TEST(QrExpander, Factorizes) {
  const std::pair<int64_t, int64_t> sizes[] = {{1, 1}, {5, 3}, {3, 5}, {4, 4}, {40, 32}, {20, 50}, {50, 40}, {70, 70}};
  for (const auto& [rows, columns] : sizes) {
    ExpectFactorized("f32", rows, columns, 5e-5);
    ExpectFactorized("f64", rows, columns, 1e-12);
    ExpectFactorized("c64", rows, columns, 5e-5);
    ExpectFactorized("c128", rows, columns, 1e-12);
  }
}

// Against numbers computed by hand: the column (3, 4) has norm 5, so beta = -5, tau = 1.6 and v = (1, 0.5).
TEST(QrExpander, PacksAsLapackDoes) {
  std::unique_ptr<hlo::Module> module = ParseOrDie(
      "HloModule m\nENTRY e {\n  a = f64[2,2] constant({{3, 5}, {4, 10}})\n"
      "  ROOT r = (f64[2,2], f64[2]) custom-call(a), custom_call_target=\"Qr\"\n}\n");
  ASSERT_EQ(FindPass("qr-expander")->run(module.get()).status(), absl::OkStatus());
  const absl::StatusOr<hlo::Literal> result = hlo::Evaluate(*module->entry(), {});
  ASSERT_EQ(result.status(), absl::OkStatus());
  EXPECT_THAT(result->elements()[0].data<double>(),
              testing::Pointwise(testing::DoubleNear(1e-12), {-5.0, -11.0, 0.5, 2.0}));
  EXPECT_THAT(result->elements()[1].data<double>(), testing::Pointwise(testing::DoubleNear(1e-12), {1.6, 0.0}));
}

TEST(QrExpander, RefusesShapesThatDoNotFit) {
  std::unique_ptr<hlo::Module> module = ParseOrDie(
      "HloModule m\nENTRY e {\n  a = f64[2,2] parameter(0)\n"
      "  ROOT r = (f64[2,2], f64[3]) custom-call(a), custom_call_target=\"Qr\"\n}\n");
  EXPECT_EQ(FindPass("qr-expander")->run(module.get()).status().code(), absl::StatusCode::kInvalidArgument);
}

// (A V - V w, V^H V, w) for V and w of Eigh; A is Hermitian by its LOWER triangle, with junk in the other.
constexpr char kEigh[] = R"(HloModule m
ENTRY e {
  x = TYPE[2,SIZE,SIZE] parameter(0)
  call = (TYPE[2,SIZE,SIZE], PART[2,SIZE]) custom-call(x), custom_call_target="Eigh", backend_config="LOWER,1,100,0.000001"
  v = TYPE[2,SIZE,SIZE] get-tuple-element(call), index=0
  w = PART[2,SIZE] get-tuple-element(call), index=1
  iota0 = s32[2,SIZE,SIZE] iota(), iota_dimension=1
  iota1 = s32[2,SIZE,SIZE] iota(), iota_dimension=2
  inside = pred[2,SIZE,SIZE] compare(iota0, iota1), direction=DIRECTION
  on = pred[2,SIZE,SIZE] compare(iota0, iota1), direction=EQ
  t = TYPE[2,SIZE,SIZE] transpose(x), dimensions={0,2,1}
  CONJUGATE
  from_one = TYPE[2,SIZE,SIZE] select(inside, x, tc)
  a = TYPE[2,SIZE,SIZE] select(on, real_x, from_one)
  av = TYPE[2,SIZE,SIZE] dot(a, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  wide = TYPE[2,SIZE] convert(w)
  ws = TYPE[2,SIZE,SIZE] broadcast(wide), dimensions={0,2}
  vw = TYPE[2,SIZE,SIZE] multiply(v, ws)
  difference = TYPE[2,SIZE,SIZE] subtract(av, vw)
  gram = TYPE[2,SIZE,SIZE] dot(vc, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT r = (TYPE[2,SIZE,SIZE], TYPE[2,SIZE,SIZE], PART[2,SIZE]) tuple(difference, gram, w)
}
)";

void ExpectDiagonalized(const std::string& type, int64_t n, bool lower, double tolerance) {
  const std::string part = type == "c64" ? "f32" : type == "c128" ? "f64" : type;
  const std::string square = absl::StrCat("[2,", n, ",", n, "]");
  const std::string conjugate =
      part == type
          ? absl::StrReplaceAll("tc = TS copy(t)\n  vc = TS copy(v)\n  real_x = TS copy(x)", {{"TS", type + square}})
          : absl::StrReplaceAll(
                "tr = PS real(t)\n  ti = PS imag(t)\n  tn = PS negate(ti)\n  tc = TS complex(tr, tn)\n  vr = PS "
                "real(v)\n"
                "  vi = PS imag(v)\n  vn = PS negate(vi)\n  vc = TS complex(vr, vn)\n  xr = PS real(x)\n"
                "  real_x = TS convert(xr)",
                {{"PS", part + square}, {"TS", type + square}});
  const std::string text = absl::StrReplaceAll(kEigh, {{"CONJUGATE", conjugate},
                                                       {"TYPE", type},
                                                       {"PART", part},
                                                       {"DIRECTION", lower ? "GT" : "LT"},
                                                       {"LOWER", lower ? "1" : "0"},
                                                       {"SIZE", absl::StrCat(n)}});
  SCOPED_TRACE(text);
  std::unique_ptr<hlo::Module> module = ParseOrDie(text);
  uint64_t seed = 5;
  const hlo::Literal x = tools::RandomLiteral(module->entry()->parameter(0)->shape(), &seed);
  ASSERT_EQ(FindPass("eigh-expander")->run(module.get()).status(), absl::OkStatus());
  ASSERT_EQ(hlo::Verify(*module), absl::OkStatus());
  const absl::StatusOr<hlo::Literal> result = hlo::Evaluate(*module->entry(), {x});
  ASSERT_EQ(result.status(), absl::OkStatus());
  const hlo::Literal &difference = result->elements()[0], &gram = result->elements()[1], &w = result->elements()[2];
  for (int64_t i = 0; i < gram.element_count(); ++i) {
    EXPECT_NEAR(hlo::ElementAsDouble(difference, i), 0, tolerance) << i;
    EXPECT_NEAR(hlo::ElementAsDouble(gram, i), i / n % n == i % n ? 1 : 0, tolerance) << i;
  }
  for (int64_t i = 0; i + 1 < w.element_count(); ++i) {
    if (i % n != n - 1) {
      EXPECT_LE(hlo::ElementAsDouble(w, i), hlo::ElementAsDouble(w, i + 1));
    }
  }
}

TEST(EighExpander, Diagonalizes) {
  for (int64_t n : {1, 2, 3, 4, 7, 12, 25}) {
    for (bool lower : {true, false}) {
      ExpectDiagonalized("f32", n, lower, 1e-5);
      ExpectDiagonalized("f64", n, lower, 1e-13);
      ExpectDiagonalized("c64", n, lower, 1e-5);
      ExpectDiagonalized("c128", n, lower, 1e-13);
    }
  }
}

// Zero, far from 1 in size, and with elements whose inverse overflows.
TEST(EighExpander, ExtremeValues) {
  struct Case {
    const char *matrix, *values;
  };
  for (const Case& c :
       {Case{"{{0, 0}, {0, 0}}", "0,0"}, Case{"{{0, 2e300}, {2e300, 0}}", "-2e300,2e300"},
        Case{"{{3e-300, 0}, {0, -1e-300}}", "-1e-300,3e-300"}, Case{"{{1, 4e-324}, {4e-324, 1}}", "1,1"}}) {
    std::unique_ptr<hlo::Module> module =
        ParseOrDie(absl::StrCat("HloModule m\nENTRY e {\n  a = f64[2,2] constant(", c.matrix,
                                ")\n  ROOT r = (f64[2,2], f64[2]) custom-call(a), custom_call_target=\"Eigh\", "
                                "backend_config=\"1,1,100,0.000001\"\n}\n"));
    ASSERT_EQ(FindPass("eigh-expander")->run(module.get()).status(), absl::OkStatus());
    const absl::StatusOr<hlo::Literal> result = hlo::Evaluate(*module->entry(), {});
    ASSERT_EQ(result.status(), absl::OkStatus());
    const std::vector<std::string> expected = absl::StrSplit(c.values, ',');
    for (int64_t i = 0; i < 2; ++i) {
      const double value = std::stod(expected[i]);
      EXPECT_NEAR(hlo::ElementAsDouble(result->elements()[1], i), value, std::abs(value) * 1e-15) << c.matrix;
    }
  }
}

TEST(EighExpander, RefusesBadConfigs) {
  for (const char* config : {"", "1,1", "a,b,c,d"}) {
    std::unique_ptr<hlo::Module> module =
        ParseOrDie(absl::StrCat("HloModule m\nENTRY e {\n  a = f64[2,2] parameter(0)\n  ROOT r = (f64[2,2], f64[2]) "
                                "custom-call(a), custom_call_target=\"Eigh\", backend_config=\"",
                                config, "\"\n}\n"));
    EXPECT_EQ(FindPass("eigh-expander")->run(module.get()).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(ApproxTopKExpander, IsExact) {
  std::unique_ptr<hlo::Module> module = ParseOrDie(R"(HloModule m
compare {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=GT
}
ENTRY e {
  x = f32[2,5] constant({{1, 9, 3, 7, 5}, {2, 2, 8, 1, 8}})
  i = s32[2,5] iota(), iota_dimension=1
  none = f32[] constant(-inf)
  minus = s32[] constant(-1)
  ROOT r = (f32[2,3], s32[2,3]) custom-call(x, i, none, minus), custom_call_target="ApproxTopK", to_apply=compare, backend_config="{\"reduction_dim\": 1, \"top_k\": 3}"
}
)");
  ASSERT_EQ(FindPass("approx-top-k-expander")->run(module.get()).status(), absl::OkStatus());
  ASSERT_EQ(hlo::Verify(*module), absl::OkStatus());
  const absl::StatusOr<hlo::Literal> result = hlo::Evaluate(*module->entry(), {});
  ASSERT_EQ(result.status(), absl::OkStatus());
  EXPECT_THAT(result->elements()[0].data<float>(), testing::ElementsAre(9, 7, 5, 8, 8, 2));
  EXPECT_THAT(result->elements()[1].data<int32_t>(), testing::ElementsAre(1, 3, 4, 2, 4, 0));
}

TEST(DynamicPadder, FixedSizes) {
  ExpectSameValue(
      "HloModule m\nENTRY e {\n  x = f32[2,5] parameter(0)\n  n = s32[] get-dimension-size(x), dimensions={1}\n"
      "  y = f32[2,5] set-dimension-size(x, n), dimensions={1}\n  ROOT r = (f32[2,5], s32[]) tuple(y, n)\n}\n",
      "dynamic-padder", hlo::Opcode::kGetDimensionSize, 0);
}

}  // namespace
}  // namespace kiln::passes
