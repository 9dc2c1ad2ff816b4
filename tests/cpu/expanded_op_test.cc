// Ops that passes or code generation write as others, compiled, against the evaluator.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "src/hlo/evaluator.h"
#include "src/passes/pipeline.h"
#include "src/tools/compare_literals.h"
#include "src/tools/random_literal.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"
#include "tests/hlo_test_util.h"

namespace kiln::testing {
namespace {

// Compiles and runs `text` on one thread and on three. The evaluator is given the same module, after `expander` where
// it does not know the op itself.
void ExpectCompiledAgrees(const std::string& text, double tolerance, absl::string_view expander = "") {
  SCOPED_TRACE(text);
  std::unique_ptr<hlo::Module> reference = ParseOrDie(text);
  if (!expander.empty()) {
    ASSERT_EQ(passes::FindPass(expander)->run(reference.get()).status(), absl::OkStatus());
  }
  const std::vector<hlo::Literal> arguments = tools::RandomArguments(*reference->entry(), 11);
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

// Multiplications by what is next to the reciprocal: multiples of the divisor and their neighbours tell, above all those
// by powers of two, below which floats are closest (49 times the float next to 1 / 49 is less than 1).
TEST(ExpandedOps, DivisionByConstants) {
  const std::pair<const char*, std::vector<const char*>> divisors[] = {
      {"s32", {"1", "3", "7", "-7", "49", "641", "1000", "46341", "-65537", "2147483647", "-2147483648", "-1", "0"}},
      {"u32", {"1", "3", "7", "49", "641", "65537", "2147483648", "4294967295", "0"}},
      {"s16", {"3", "-7", "41", "181", "-32768", "32767"}},
      {"u16", {"3", "7", "41", "255", "641", "65535"}},
      {"s8", {"3", "-7", "-128", "127"}},
      {"u8", {"3", "7", "255"}},
  };
  for (const auto& [type, values] : divisors) {
    for (const char* divisor : values) {
      ExpectCompiledAgrees(
          Entry(absl::StrReplaceAll(R"(
  x = TYPE[5000] parameter(0)
  c = TYPE[] constant(DIVISOR)
  d = TYPE[5000] broadcast(c), dimensions={}
  one = TYPE[] constant(1)
  ones = TYPE[5000] broadcast(one), dimensions={}
  q = TYPE[5000] divide(x, d)
  multiple = TYPE[5000] multiply(q, d)
  places = TYPE[5000] iota(), iota_dimension=0
  shifted = TYPE[5000] shift-left(d, places)
  is_shifted = pred[5000] compare(shifted, multiple), direction=GT
  either = TYPE[5000] select(is_shifted, shifted, multiple)
  barrier = TYPE[5000] opt-barrier(either)
  above = TYPE[5000] add(barrier, ones)
  below = TYPE[5000] subtract(barrier, ones)
  r = TYPE[5000] remainder(x, d)
  q0 = TYPE[5000] divide(barrier, d)
  q1 = TYPE[5000] divide(above, d)
  q2 = TYPE[5000] divide(below, d)
  ROOT all = (TYPE[5000], TYPE[5000], TYPE[5000], TYPE[5000], TYPE[5000]) tuple(q, r, q0, q1, q2)
)",
                                    {{"TYPE", type}, {"DIVISOR", divisor}})),
          0);
    }
  }
}

// Rows divided by a number each: by all exponents of both signs, zero, infinity and NaN among them, with mantissas that
// tell. Dividends of f32 keep away from where a product may be a unit off.
TEST(ExpandedOps, DivisionOfRows) {
  struct Format {
    const char *type, *bits, *rows, *shift;
    std::vector<const char*> mantissas;
  };
  const Format formats[] = {{"f32", "u32", "512", "23", {"0", "1", "4194304", "2796203", "8388606", "8388607"}},
                            {"bf16", "u16", "512", "7", {"0", "1", "64", "43", "126", "127"}},
                            {"f16", "u16", "64", "10", {"0", "1", "512", "341", "1022", "1023"}}};
  for (const auto& [type, bits, rows, shift, mantissas] : formats) {
    for (const char* mantissa : mantissas) {
      const bool is_wide = absl::string_view(type) == "f32";
      ExpectCompiledAgrees(
          Entry(absl::StrReplaceAll(is_wide ? R"(
  r = u32[512,520] parameter(0)
  kept = u32[] constant(2155872255)
  all_kept = u32[512,520] broadcast(kept), dimensions={}
  least = u32[] constant(536870912)
  all_least = u32[512,520] broadcast(least), dimensions={}
  fraction = u32[512,520] and(r, all_kept)
  one = u32[] constant(1)
  ones = u32[512,520] broadcast(one), dimensions={}
  half = u32[] constant(1056964608)
  halves = u32[512,520] broadcast(half), dimensions={}
  some = u32[512,520] and(r, halves)
  low = u32[512,520] shift-right-logical(some, ones)
  shifted = u32[512,520] add(low, all_least)
  x_bits = u32[512,520] or(fraction, shifted)
  row = u32[512] iota(), iota_dimension=0
  shift = u32[] constant(SHIFT)
  shifts = u32[512] broadcast(shift), dimensions={}
  exponents = u32[512] shift-left(row, shifts)
  mantissa = u32[] constant(MANTISSA)
  mantissas = u32[512] broadcast(mantissa), dimensions={}
  d_bits = u32[512] or(exponents, mantissas)
  x = f32[512,520] bitcast-convert(x_bits)
  d = f32[512] bitcast-convert(d_bits)
  b = f32[512,520] broadcast(d), dimensions={0}
  ROOT q = f32[512,520] divide(x, b)
)"
                                            : R"(
  x_bits = u16[ROWS,4200] parameter(0)
  row = u16[ROWS] iota(), iota_dimension=0
  shift = u16[] constant(SHIFT)
  shifts = u16[ROWS] broadcast(shift), dimensions={}
  exponents = u16[ROWS] shift-left(row, shifts)
  mantissa = u16[] constant(MANTISSA)
  mantissas = u16[ROWS] broadcast(mantissa), dimensions={}
  d_bits = u16[ROWS] or(exponents, mantissas)
  x = TYPE[ROWS,4200] bitcast-convert(x_bits)
  d = TYPE[ROWS] bitcast-convert(d_bits)
  b = TYPE[ROWS,4200] broadcast(d), dimensions={0}
  ROOT q = TYPE[ROWS,4200] divide(x, b)
)",
                                    {{"TYPE", type}, {"ROWS", rows}, {"SHIFT", shift}, {"MANTISSA", mantissa}})),
          0);
    }
  }
}

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

// Rows in groups of 5, 0, 40 and 20 of 70; the last 5 are nobody's.
TEST(ExpandedOps, RaggedDot) {
  const std::string sizes = "  g = s32[4] constant({5, 0, 40, 20})\n";
  // A list of sizes for each position of a batch and of a dimension before the ragged one.
  const std::string lists =
      "  g = s64[2,3,4] constant({{{5, 0, 40, 20}, {70, 0, 0, 0}, {0, 0, 0, 0}}, {{1, 2, 3, 4}, {0, 69, 0, 9}, {-3, "
      "17, 16, 37}}})\n";
  const std::string plain =
      "  x = TYPE[70,6] parameter(0)\n  y = TYPE[4,6,5] parameter(1)\n" + sizes +
      "  ROOT r = TYPE[70,5] ragged-dot(x, y, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
      "lhs_ragged_dims={0}, rhs_group_dims={0}\n";
  const std::string contracted = "  x = TYPE[6,70] parameter(0)\n  y = TYPE[70,5] parameter(1)\n" + sizes +
                                 "  ROOT r = TYPE[4,6,5] ragged-dot(x, y, g), lhs_contracting_dims={1}, "
                                 "rhs_contracting_dims={0}, lhs_ragged_dims={1}\n";
  const std::string whole_batches =
      "  x = TYPE[70,2,3] parameter(0)\n  y = TYPE[70,3,2] parameter(1)\n" + sizes +
      "  ROOT r = TYPE[70,2,2] ragged-dot(x, y, g), lhs_batch_dims={0}, rhs_batch_dims={0}, "
      "lhs_contracting_dims={2}, rhs_contracting_dims={1}, lhs_ragged_dims={0}\n";
  const std::string free_lists =
      "  x = TYPE[3,2,70,6] parameter(0)\n  y = TYPE[6,2,4,5] parameter(1)\n" + lists +
      "  ROOT r = TYPE[2,3,70,5] ragged-dot(x, y, g), lhs_batch_dims={1}, rhs_batch_dims={1}, "
      "lhs_contracting_dims={3}, rhs_contracting_dims={0}, lhs_ragged_dims={2}, "
      "rhs_group_dims={2}\n";
  const std::string contracted_lists = "  x = TYPE[2,6,3,70] parameter(0)\n  y = TYPE[70,2,3,5] parameter(1)\n" +
                                       lists +
                                       "  ROOT r = TYPE[4,2,6,5] ragged-dot(x, y, g), lhs_batch_dims={0}, "
                                       "rhs_batch_dims={1}, lhs_contracting_dims={2,3}, rhs_contracting_dims={2,0}, "
                                       "lhs_ragged_dims={3}\n";
  for (const std::string& lines : {plain, contracted, whole_batches, free_lists, contracted_lists}) {
    for (const auto& [type, tolerance] : {std::pair("f32", 1e-5), {"bf16", 2e-2}, {"s32", 0.0}, {"c64", 1e-5}}) {
      ExpectCompiledAgrees(Entry(absl::StrReplaceAll(lines, {{"TYPE", type}})), tolerance);
    }
  }
  // What is not of the group does no harm.
  ExpectCompiledAgrees(
      Entry("  x = f32[3] constant({1, 2, inf})\n  y = f32[3] constant({1, inf, nan})\n"
            "  g = s32[3] constant({1, 0, 0})\n"
            "  ROOT r = f32[3] ragged-dot(x, y, g), lhs_contracting_dims={0}, rhs_contracting_dims={0}, "
            "lhs_ragged_dims={0}\n"),
      0);
}

TEST(ExpandedOps, ScaledDot) {
  for (const char* type : {"f8e4m3fn", "f8e5m2", "f4e2m1fn", "bf16"}) {
    for (const char* scale : {"f8e8m0fnu[6,2]", "f8e4m3fn[6,1]", "bf16[3,8]", "f32[]"}) {
      ExpectCompiledAgrees(
          Entry(absl::StrCat("  x = ", type, "[6,32] parameter(0)\n  y = ", type, "[32,5] parameter(1)\n  a = ", scale,
                             " parameter(2)\n"
                             "  b = f8e8m0fnu[1,5] parameter(3)\n"
                             "  ROOT r = f32[6,5] scaled-dot(x, y, a, b), lhs_contracting_dims={1}, "
                             "rhs_contracting_dims={0}\n")),
          1e-5);
    }
  }
}

TEST(ExpandedOps, RaggedAllToAll) {
  ExpectCompiledAgrees(
      Entry("  x = f32[7,3] parameter(0)\n  y = f32[9,3] parameter(1)\n"
            "  from = s64[3] constant({1, 4, 0})\n  size = s64[3] constant({2, 0, 1})\n"
            "  to = s64[3] constant({4, 0, 8})\n"
            "  ROOT r = f32[9,3] ragged-all-to-all(x, y, from, size, to, size), replica_groups={{0}}\n"),
      0);
}

TEST(ExpandedOps, StochasticConvert) {
  for (const char* to : {"bf16", "f16", "f8e4m3fn", "f8e5m2", "f8e4m3b11fnuz", "f8e5m2fnuz", "f4e2m1fn", "s8", "s32"}) {
    for (const auto& [from, bits] : {std::pair("f32", "u32"), {"f64", "u64"}, {"f16", "u16"}}) {
      for (const char* scale : {"1", "0.0005", "3000"}) {
        if (std::string(from) != "f32" && std::string(scale) != "1") continue;
        ExpectCompiledAgrees(
            Entry(absl::StrCat("  x = ", from, "[4000] parameter(0)\n  u = ", bits,
                               "[4000] iota(), iota_dimension=0\n  f = ", from, "[] constant(", scale,
                               ")\n  w = ", from, "[4000] broadcast(f), dimensions={}\n  k = ", bits,
                               "[] constant(40503)\n  n = ", bits, "[4000] broadcast(k), dimensions={}\n  v = ", bits,
                               "[4000] multiply(u, n)\n  p = ", bits, "[4000] multiply(v, v)\n  z = ", from,
                               "[4000] multiply(x, w)\n  ROOT r = ", to, "[4000] stochastic-convert(z, p)\n")),
            0);
      }
    }
  }
}

// Loops, branches, calls and small arrays in the computations of map, reduce, sort, scatter and windows.
TEST(ExpandedOps, ScalarComputations) {
  ExpectCompiledAgrees(R"(HloModule m

add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT r = f32[] add(a, b) }

cond { p = (f32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=1
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
body { p = (f32[], s32[]) parameter(0)
  x = f32[] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  half = f32[] constant(0.5)
  y = f32[] multiply(x, half)
  ROOT r = (f32[], s32[]) tuple(y, j) }

combiner { a = f32[] parameter(0)
  b = f32[] parameter(1)
  s = f32[] add(a, b)
  zero = s32[] constant(0)
  t = (f32[], s32[]) tuple(s, zero)
  w = (f32[], s32[]) while(t), condition=cond, body=body
  ROOT r = f32[] get-tuple-element(w), index=0 }

less_of_two { a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT }

br0 { x = f32[] parameter(0)
  ROOT n = f32[] negate(x) }
br1 { x = f32[] parameter(0)
  ROOT n = f32[] sine(x) }
br2 { x = f32[] parameter(0)
  zero = s32[] constant(0)
  t = (f32[], s32[]) tuple(x, zero)
  w = (f32[], s32[]) while(t), condition=cond, body=body
  ROOT r = f32[] get-tuple-element(w), index=0 }

mapper { x = f32[] parameter(0)
  y = s32[] parameter(1)
  c = f32[] conditional(y, x, x, x), branch_computations={br0, br1, br2}
  bc = f32[4] broadcast(c), dimensions={}
  tab = f32[4] constant({1,2,3,4})
  m = f32[4] multiply(bc, tab)
  z = f32[] constant(0)
  red = f32[] reduce(m, z), dimensions={0}, to_apply=add
  ds = f32[2] dynamic-slice(tab, y), dynamic_slice_sizes={2}
  s0 = f32[1] slice(ds), slice={[0:1]}
  s1 = f32[] reshape(s0)
  u = f32[1] broadcast(c), dimensions={}
  up = f32[4] dynamic-update-slice(tab, u, y)
  ured = f32[] reduce(up, z), dimensions={0}, to_apply=add
  a1 = f32[] add(red, s1)
  keys = f32[3,2] constant({{3, 1}, {-2, 4}, {1, 1}})
  spread = f32[3,2] broadcast(x), dimensions={}
  near = f32[3,2] multiply(keys, spread)
  ids = s32[3,2] iota(), iota_dimension=0
  srt = (f32[3,2], s32[3,2]) sort(near, ids), dimensions={0}, is_stable=true, to_apply=less_of_two
  sk = f32[3,2] get-tuple-element(srt), index=0
  si = s32[3,2] get-tuple-element(srt), index=1
  y2 = s32[2] broadcast(y), dimensions={}
  g1 = f32[2] gather(sk, y2), offset_dims={0}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=0, slice_sizes={1,2}
  g2 = s32[2] gather(si, y), offset_dims={0}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=0, slice_sizes={1,2}
  g2f = f32[2] convert(g2)
  gs = f32[2] add(g1, g2f)
  gr = f32[] reduce(gs, z), dimensions={0}, to_apply=add
  bits = s32[] bitcast-convert(gr)
  same = f32[] bitcast-convert(bits)
  a2 = f32[] add(a1, same)
  ROOT r = f32[] add(a2, ured) }

less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ca = f32[] call(a), to_apply=br2
  cb = f32[] call(b), to_apply=br2
  ROOT l = pred[] compare(ca, cb), direction=LT }

ENTRY e {
  x = f32[33,50] parameter(0)
  y = s32[33,50] parameter(1)
  i = s32[20,1] parameter(2)
  zero = f32[] constant(0)
  r0 = f32[33] reduce(x, zero), dimensions={1}, to_apply=combiner
  r1 = f32[50] reduce(x, zero), dimensions={0}, to_apply=combiner
  r2 = f32[] reduce(x, zero), dimensions={0,1}, to_apply=combiner
  mp = f32[33,50] map(x, y), dimensions={0,1}, to_apply=mapper
  st = f32[33,50] sort(x), dimensions={1}, to_apply=less
  upd = f32[20,50] slice(x), slice={[0:20],[0:50]}
  sc = f32[33,50] scatter(x, i, upd), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=combiner
  rw = f32[31,50] reduce-window(x, zero), window={size=3x1}, to_apply=combiner
  rp = f32[33,50] reduce-window(x, zero), window={size=3x2 pad=1_1x1_0}, to_apply=combiner
  ROOT t = (f32[33], f32[50], f32[], f32[33,50], f32[33,50], f32[33,50], f32[31,50], f32[33,50]) tuple(r0, r1, r2, mp, st, sc, rw, rp)
}
)",
                       1e-5);
}

}  // namespace
}  // namespace kiln::testing
