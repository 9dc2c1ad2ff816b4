// What stands in for instructions of AVX-512 gives what Intel's manual says of them (Software Developer's Manual,
// volume 2, and for estimates its reference models' bound).
#include "src/cpu/isa_emulation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "src/base/isa_level.h"
#include "src/cpu/jit.h"

namespace kiln::cpu {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class IsaEmulationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { EmulateIsa(IsaLevel::kAvx512Bf16); }

  // Runs the instructions, which read %a, %b and %c, vectors of the given types, and end in %r of another.
  void Run(const std::string& declaration, const std::vector<std::string>& types, const std::string& body,
           const std::string& result_type, const std::vector<const void*>& operands, void* result) {
    std::string text = absl::StrCat(declaration, "\ndefine void @f(ptr %operands, ptr %result) {\n");
    for (size_t i = 0; i < types.size(); ++i) {
      const char name = static_cast<char>('a' + i);
      absl::SubstituteAndAppend(&text,
                                "  %p$0 = getelementptr ptr, ptr %operands, i64 $1\n  %q$0 = load ptr, ptr %p$0\n"
                                "  %$0 = load $2, ptr %q$0, align 1\n",
                                std::string(1, name), i, types[i]);
    }
    absl::StrAppend(&text, body, "\n  store ", result_type, " %r, ptr %result, align 1\n  ret void\n}\n");
    llvm::SMDiagnostic error;
    auto context = std::make_unique<llvm::LLVMContext>();
    std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, *context);
    ASSERT_NE(module, nullptr) << error.getMessage().str() << "\n" << text;
    const absl::StatusOr<std::unique_ptr<JitCompiler>> compiler = JitCompiler::Create();
    ASSERT_TRUE(compiler.ok()) << compiler.status();
    status_ = absl::OkStatus();
    const auto compiled = (*compiler)->Compile(std::move(context), std::move(module), nullptr);
    status_ = compiled.status();
    if (!status_.ok()) return;
    auto* const function = (*compiled)->Lookup<void(const void* const*, void*)>("f");
    ASSERT_NE(function, nullptr);
    function(operands.data(), result);
  }

  absl::Status status_;
};

template <typename T>
bool IsSame(T x, T y) {
  return std::memcmp(&x, &y, sizeof(T)) == 0 || (std::isnan(x) && std::isnan(y));
}

TEST_F(IsaEmulationTest, ScalesOfF32) {
  const float x[16] = {1.5F, 1.5F, -1.25F, 1.999999F, 1.3F, 1.7F, 0, -0.0F, 1, 1, 1, 1e-40F, 3e38F, 1, 1, -1};
  const float n[16] = {3, -140.5F, -149, -148.2F, 127.9F, 128, 5, 9, 200, -400, 0, 20, -276, NAN, 1e9F, -1e9F};
  float result[16];
  Run("declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32)",
      {"<16 x float>", "<16 x float>"},
      "  %r = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %a, <16 x float> %b, "
      "<16 x float> zeroinitializer, i16 -129, i32 4)",
      "<16 x float>", {x, n}, result);
  ASSERT_TRUE(status_.ok()) << status_;
  for (int i = 0; i < 16; ++i) {
    const float steps = std::isnan(n[i]) ? 0 : std::clamp(std::floor(n[i]), -1000.0F, 1000.0F);
    const float expected = i == 7 ? 0 : std::isnan(n[i]) ? n[i] : std::ldexp(x[i], static_cast<int>(steps));
    EXPECT_TRUE(IsSame(result[i], expected)) << x[i] << " " << n[i] << ": " << result[i] << ", not " << expected;
  }
}

TEST_F(IsaEmulationTest, ScalesOfF64) {
  const double x[8] = {1.5, 1.3, -1.7, 1.999999999, 1, 1, 0, 1.1};
  const double n[8] = {3.7, -1070.5, -1074, 1023, 1024, -3000, 4, kNan};
  double result[8];
  Run("declare <8 x double> @llvm.x86.avx512.mask.scalef.pd.512(<8 x double>, <8 x double>, <8 x double>, i8, i32)",
      {"<8 x double>", "<8 x double>"},
      "  %r = call <8 x double> @llvm.x86.avx512.mask.scalef.pd.512(<8 x double> %a, <8 x double> %b, "
      "<8 x double> poison, i8 -1, i32 4)",
      "<8 x double>", {x, n}, result);
  ASSERT_TRUE(status_.ok()) << status_;
  for (int i = 0; i < 8; ++i) {
    const double expected = std::isnan(n[i]) ? n[i] : std::ldexp(x[i], static_cast<int>(std::floor(n[i])));
    EXPECT_TRUE(IsSame(result[i], expected)) << x[i] << " " << n[i] << ": " << result[i] << ", not " << expected;
  }
}

TEST_F(IsaEmulationTest, EstimatesOfRoots) {
  const float x[4] = {2, 3e-30F, 0, INFINITY};
  float result[4];
  Run("declare <4 x float> @llvm.x86.avx512.rsqrt14.ps.128(<4 x float>, <4 x float>, i8)", {"<4 x float>"},
      "  %r = call <4 x float> @llvm.x86.avx512.rsqrt14.ps.128(<4 x float> %a, <4 x float> poison, i8 -1)",
      "<4 x float>", {x}, result);
  ASSERT_TRUE(status_.ok()) << status_;
  for (int i = 0; i < 2; ++i) {
    const double exact = 1 / std::sqrt(static_cast<double>(x[i]));
    EXPECT_NEAR(result[i], exact, exact * 0x1p-14);
    EXPECT_NE(result[i], static_cast<float>(exact));
  }
  EXPECT_EQ(result[2], INFINITY);
  EXPECT_EQ(result[3], 0);
}

TEST_F(IsaEmulationTest, F64TowardsZero) {
  const double x[8] = {1 + 0x1.8p-23, -1 - 0x1.8p-23, 0x1.fffffffp127, -1e300, 1.25, kInfinity, kNan, 0x1.9p-149};
  const float expected[8] = {1 + 0x1p-23F, -1 - 0x1p-23F, 0x1.fffffep127F, -0x1.fffffep127F, 1.25F,
                             INFINITY,     NAN,           0x1p-149F};
  float result[8];
  Run("declare <8 x float> @llvm.x86.avx512.mask.cvtpd2ps.512(<8 x double>, <8 x float>, i8, i32)", {"<8 x double>"},
      "  %r = call <8 x float> @llvm.x86.avx512.mask.cvtpd2ps.512(<8 x double> %a, <8 x float> poison, i8 -1, i32 11)",
      "<8 x float>", {x}, result);
  ASSERT_TRUE(status_.ok()) << status_;
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(IsSame(result[i], expected[i])) << x[i] << ": " << result[i];
}

TEST_F(IsaEmulationTest, IntegersTowardsZero) {
  const int64_t x[8] = {0, -1, 16777217, -16777217, INT64_MAX, INT64_MIN, (int64_t{1} << 40) + 1, 5};
  float results[2][8];
  for (const bool is_signed : {true, false}) {
    const std::string name = absl::StrCat("@llvm.x86.avx512.", is_signed ? "s" : "u", "itofp.round.v8f32.v8i64");
    Run(absl::StrCat("declare <8 x float> ", name, "(<8 x i64>, i32)"), {"<8 x i64>"},
        absl::StrCat("  %r = call <8 x float> ", name, "(<8 x i64> %a, i32 11)"), "<8 x float>", {x},
        results[is_signed]);
    ASSERT_TRUE(status_.ok()) << status_;
  }
  const float expected[8] = {0, -1, 16777216, -16777216, 0x1.fffffep62F, -0x1p63F, 0x1p40F, 5};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(results[1][i], expected[i]) << x[i];
    const bool is_large = x[i] < 0 && x[i] != INT64_MIN;
    EXPECT_EQ(results[0][i], is_large ? 0x1.fffffep63F : std::abs(expected[i])) << x[i];
  }
}

// Sums of products of pairs of bf16, of words, of unsigned and signed bytes.
TEST_F(IsaEmulationTest, Products) {
  std::mt19937 random(1);
  uint16_t a[32], b[32], brain_a[32], brain_b[32];
  const auto brain = [](uint16_t code) {
    const uint32_t bits = uint32_t{code} << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  };
  for (int i = 0; i < 32; ++i) {
    a[i] = static_cast<uint16_t>(random());
    b[i] = static_cast<uint16_t>(random());
    brain_a[i] = static_cast<uint16_t>(0x3f00 + random() % 0x100);
    brain_b[i] = static_cast<uint16_t>(0xbf00 + random() % 0x100);
  }
  float floats[16], brain_result[16];
  int32_t sums[16], words[16], bytes[16];
  for (int i = 0; i < 16; ++i) floats[i] = static_cast<float>(i), sums[i] = i * 1000;
  const std::string pairs = "<32 x bfloat>", lanes = "<16 x i32>";
  Run("declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)",
      {"<16 x float>", pairs, pairs},
      "  %r = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %a, <32 x bfloat> %b, <32 x bfloat> %c)",
      "<16 x float>", {floats, brain_a, brain_b}, brain_result);
  ASSERT_TRUE(status_.ok()) << status_;
  Run("declare <16 x i32> @llvm.x86.avx512.pmaddw.d.512(<32 x i16>, <32 x i16>)", {"<32 x i16>", "<32 x i16>"},
      "  %r = call <16 x i32> @llvm.x86.avx512.pmaddw.d.512(<32 x i16> %a, <32 x i16> %b)", lanes, {a, b}, words);
  ASSERT_TRUE(status_.ok()) << status_;
  Run("declare <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32>, <16 x i32>, <16 x i32>)", {lanes, lanes, lanes},
      "  %r = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %a, <16 x i32> %b, <16 x i32> %c)", lanes,
      {sums, a, b}, bytes);
  ASSERT_TRUE(status_.ok()) << status_;
  for (int i = 0; i < 16; ++i) {
    float dot = floats[i];
    for (const int part : {1, 0}) dot = std::fma(brain(brain_a[2 * i + part]), brain(brain_b[2 * i + part]), dot);
    EXPECT_EQ(brain_result[i], dot);
    int32_t of_words = 0, of_bytes = sums[i];
    for (int part = 0; part < 2; ++part) {
      const uint16_t x = a[2 * i + part], y = b[2 * i + part];
      of_words += static_cast<int16_t>(x) * static_cast<int16_t>(y);
      of_bytes += (x & 0xff) * static_cast<int8_t>(y & 0xff) + (x >> 8) * static_cast<int8_t>(y >> 8);
    }
    EXPECT_EQ(words[i], of_words);
    EXPECT_EQ(bytes[i], of_bytes);
  }
}

TEST_F(IsaEmulationTest, LookUp) {
  float table[16], result[16];
  int32_t index[16];
  for (int i = 0; i < 16; ++i) table[i] = static_cast<float>(i) / 3, index[i] = 7 * i - 1000;
  Run("declare <16 x float> @llvm.x86.avx512.permvar.sf.512(<16 x float>, <16 x i32>)", {"<16 x float>", "<16 x i32>"},
      "  %r = call <16 x float> @llvm.x86.avx512.permvar.sf.512(<16 x float> %a, <16 x i32> %b)", "<16 x float>",
      {table, index}, result);
  ASSERT_TRUE(status_.ok()) << status_;
  for (int i = 0; i < 16; ++i) EXPECT_EQ(result[i], table[index[i] & 15]);
}

TEST_F(IsaEmulationTest, RoundsToBrain) {
  const uint32_t x[8] = {0x3f808000, 0x3f818000, 0x3f808001, 0x7f7fffff,
                         0x7fa00001, 0xff800000, 0x00008001, 0xbf80ffff};
  const uint16_t expected[8] = {0x3f80, 0x3f82, 0x3f81, 0x7f80, 0x7fe0, 0xff80, 0x0001, 0xbf81};
  uint16_t result[8];
  Run("", {"<8 x float>"}, "  %r = fptrunc <8 x float> %a to <8 x bfloat>", "<8 x bfloat>", {x}, result);
  ASSERT_TRUE(status_.ok()) << status_;
  EXPECT_THAT(result, ::testing::ElementsAreArray(expected));
}

TEST_F(IsaEmulationTest, RefusesWhatItDoesNotKnow) {
  const float x[16] = {};
  float result[16];
  Run("declare <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float>, <16 x float>, i16)", {"<16 x float>"},
      "  %r = call <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float> %a, <16 x float> poison, i16 -1)",
      "<16 x float>", {x}, result);
  EXPECT_THAT(std::string(status_.message()), HasSubstr("llvm.x86.avx512.rcp14.ps.512"));
}

}  // namespace
}  // namespace kiln::cpu
