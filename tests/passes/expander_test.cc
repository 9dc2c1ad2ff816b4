// Expanders: what an op becomes has the value that the evaluator gives the op itself.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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
  uint64_t seed = 1;
  if (arguments.empty()) {
    for (const hlo::Instruction* parameter : module->entry()->parameters()) {
      arguments.push_back(tools::RandomLiteral(parameter->shape(), &seed));
    }
  }
  const absl::StatusOr<hlo::Literal> expected = hlo::Evaluate(*module->entry(), arguments);
  ASSERT_EQ(expected.status(), absl::OkStatus());
  const absl::StatusOr<bool> changed = CreatePass(pass)->Run(module.get());
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
  for (const char* values : {"u32[]", "u32[7]", "u32[8]", "u32[3,4]", "u32[3,5,7]", "u32[2,3,4]", "u32[0]", "u32[3,0]",
                             "s32[5,6]", "u8[9]", "s8[4]", "u16[3,3]", "s16[6]", "u4[5]", "f32[4]", "bf16[4]", "u64[]",
                             "u64[5]", "s64[2,3]", "f64[3]"}) {
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

TEST(RngBitGeneratorExpander, RefusesStatesThatDoNotFit) {
  std::unique_ptr<hlo::Module> module = ParseOrDie(
      "HloModule m\nENTRY e {\n  s = u64[3] parameter(0)\n"
      "  ROOT r = (u64[3], u32[4]) rng-bit-generator(s), algorithm=rng_three_fry\n}\n");
  const auto changed = CreatePass("rng-bit-generator-expander")->Run(module.get());
  EXPECT_EQ(changed.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(RngExpander, DrawsWhatTheEvaluatorDraws) {
  const std::map<std::string, std::vector<std::string>> bounds = {
      {"f32", {"-1", "3"}}, {"f64", {"0", "1"}},  {"bf16", {"0", "1"}},    {"s32", {"-5", "100"}},
      {"u8", {"10", "20"}}, {"s64", {"-9", "-2"}}, {"u32", {"5", "5"}}};
  for (const auto& [type, range] : bounds) {
    for (const char* distribution : {"rng_uniform", "rng_normal"}) {
      const bool real = type == "f32" || type == "f64" || type == "bf16";
      if (!real && std::string(distribution) == "rng_normal") continue;
      for (const char* dimensions : {"[]", "[300]", "[7,3]", "[0]"}) {
        // The second op goes on where the first one ended.
        ExpectSameValue(absl::StrCat("HloModule m\nENTRY e {\n  a = ", type, "[] constant(", range[0], ")\n  b = ",
                                     type, "[] constant(", range[1], ")\n  r = ", type, dimensions,
                                     " rng(a, b), distribution=", distribution, "\n  q = ", type,
                                     "[5] rng(a, b), distribution=", distribution, "\n  ROOT t = (", type, dimensions,
                                     ", ", type, "[5]) tuple(r, q)\n}\n"),
                        "rng-expander", hlo::Opcode::kRng, type == "f64" ? 1e-14 : type == "bf16" ? 1e-2 : 1e-6);
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
          ExpectSameValue(
              absl::StrReplaceAll(kSelectAndScatter, {{"TYPE", type},
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
  for (const Case& c : {Case{"1,1", "0", "1", "2"}, Case{"5,5", "0", "1", "9"}, Case{"3,2,4,4", "2", "3", "9"},
                        Case{"32,32", "0", "1", "40"}, Case{"33,33", "0", "1", "40"}, Case{"2,70,70", "1", "2", "90"},
                        Case{"0,3,3", "1", "2", "9"}, Case{"2,0,0", "1", "2", "9"},
                        // Not definite, some of them only in the second block.
                        Case{"4,3,3", "1", "2", "0.3"}, Case{"40,40", "0", "1", "-1"}, Case{"2,40,40", "1", "2", "4"}}) {
    for (const char* type : {"f32", "f64", "bf16", "c64", "c128"}) {
      for (const char* lower : {"true", "false"}) {
        const bool complex = type[0] == 'c';
        ExpectSameValue(absl::StrReplaceAll(kCholesky, {{"TYPE", type},
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
              std::string text = absl::StrReplaceAll(
                  kTriangularSolve,
                  {{"TYPE", type}, {"DIMS", c.matrix}, {"RIGHT", left ? c.left : c.right}, {"ROW", c.row},
                   {"COLUMN", c.column}, {"OTHER", lower ? "LT" : "GT"}, {"LEFT", left ? "true" : "false"},
                   {"LOWER", lower ? "true" : "false"}, {"UNIT", unit}, {"=TRANSPOSE", absl::StrCat("=", transpose)}});
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

}  // namespace
}  // namespace kiln::passes
