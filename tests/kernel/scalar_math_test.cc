// Math functions of f32 and f64 against the C library in long double, by units in the last place.
#include <cfenv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/cpu_tuning.h"
#include "src/base/isa_level.h"
#include "tests/kernel/jit_test_util.h"

namespace kiln::kernel {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;

struct Function {
  Opcode opcode;
  std::function<long double(long double, long double)> reference;
  double f32_bound, f64_bound;  // in units in the last place
  int operands = 1;
};

long double Logistic(long double x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }

std::vector<Function> Functions() {
  using L = long double;
  return {
      {Opcode::kExp, [](L x, L) { return expl(x); }, 1, 1},
      {Opcode::kExp2, [](L x, L) { return exp2l(x); }, 1, 1},
      {Opcode::kExpMinusOne, [](L x, L) { return expm1l(x); }, 2, 2},
      {Opcode::kLog, [](L x, L) { return logl(x); }, 1, 1},
      {Opcode::kLog2, [](L x, L) { return log2l(x); }, 1.5, 1.5},
      {Opcode::kLogPlusOne, [](L x, L) { return log1pl(x); }, 1.5, 1.5},
      {Opcode::kLogistic, [](L x, L) { return Logistic(x); }, 2, 2},
      {Opcode::kSin, [](L x, L) { return sinl(x); }, 1, 1},
      {Opcode::kCos, [](L x, L) { return cosl(x); }, 1, 1},
      {Opcode::kTan, [](L x, L) { return tanl(x); }, 1.5, 1.5},
      {Opcode::kAsin, [](L x, L) { return asinl(x); }, 2, 2},
      {Opcode::kAcos, [](L x, L) { return acosl(x); }, 1.5, 1.5},
      {Opcode::kSinh, [](L x, L) { return sinhl(x); }, 2, 2},
      {Opcode::kCosh, [](L x, L) { return coshl(x); }, 2, 2},
      {Opcode::kTanh, [](L x, L) { return tanhl(x); }, 2, 2},
      {Opcode::kAsinh, [](L x, L) { return asinhl(x); }, 2, 2},
      {Opcode::kAcosh, [](L x, L) { return acoshl(x); }, 2, 2},
      {Opcode::kAtanh, [](L x, L) { return atanhl(x); }, 2, 2},
      {Opcode::kErf, [](L x, L) { return erfl(x); }, 1.5, 1.5},
      {Opcode::kErfc, [](L x, L) { return erfcl(x); }, 1.9, 1.9},
      {Opcode::kCbrt, [](L x, L) { return cbrtl(x); }, 1, 1},
      {Opcode::kSqrt, [](L x, L) { return sqrtl(x); }, 0.5, 0.501},
      {Opcode::kRsqrt, [](L x, L) { return 1 / sqrtl(x); }, 1.5, 1.5},
      {Opcode::kPower, [](L x, L y) { return powl(x, y); }, 0.6, 1, 2},
      {Opcode::kAtan2, [](L y, L x) { return atan2l(y, x); }, 2, 2, 2},
      {Opcode::kRemainder, [](L x, L y) { return fmodl(x, y); }, 0, 0, 2},
  };
}

template <typename T>
struct Bits;
template <>
struct Bits<float> {
  using type = uint32_t;
};
template <>
struct Bits<double> {
  using type = uint64_t;
};

template <typename T>
std::vector<T> Inputs(int count, uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  const T inf = Limits::infinity();
  std::vector<T> values = {0,
                           -T{0},
                           1,
                           -1,
                           2,
                           -2,
                           T(0.5),
                           T(-0.5),
                           3,
                           -3,
                           inf,
                           -inf,
                           Limits::quiet_NaN(),
                           Limits::max(),
                           Limits::lowest(),
                           Limits::min(),
                           -Limits::min(),
                           Limits::denorm_min(),
                           -Limits::denorm_min(),
                           Limits::epsilon(),
                           -Limits::epsilon(),
                           1 + Limits::epsilon(),
                           1 - Limits::epsilon() / 2,
                           T(1.5),
                           T(-2.5),
                           10000,
                           1048575,
                           1048577,
                           T(88.7228),
                           T(88.73),
                           T(-103.9),
                           T(-87.5),
                           T(709.78),
                           T(709.79),
                           T(-745.1),
                           T(-708.5),
                           T(710.4),
                           T(89.4),
                           T(1e9),
                           T(1e22),
                           T(6381956970095103.0)};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  while (static_cast<int>(values.size()) < count) {
    typename Bits<T>::type bits = static_cast<typename Bits<T>::type>(random());
    T any;
    std::memcpy(&any, &bits, sizeof any);
    const double spread[] = {1, 1, 0.5, 4, 20, 100, 800, 1e5};
    double scaled = unit(random) * spread[random() % 8];
    switch (random() % 4) {
      case 0:
        values.push_back(any);
        break;
      case 1:  // near 1, near multiples of pi/2
        values.push_back(
            static_cast<T>((random() & 1) ? 1 + scaled * 1e-3 : std::round(scaled * 10) * 1.57079632679489661923));
        break;
      default:
        values.push_back(static_cast<T>(scaled));
        break;
    }
  }
  values.resize(count);
  return values;
}

// |got - want| in units of T's last place at `want`; infinite when one is special and the other is not.
template <typename T>
double UlpError(T got, long double want) {
  using Limits = std::numeric_limits<T>;
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : kInfinite;
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : kInfinite;
  if (std::isinf(want)) return got == static_cast<T>(want) ? 0 : kInfinite;
  // Rounding to infinity is rounding to the next power of two.
  long double value = std::isinf(got) ? copysignl(ldexpl(1, Limits::max_exponent), got) : static_cast<long double>(got);
  if (fabsl(want) > ldexpl(1, Limits::max_exponent)) want = copysignl(ldexpl(1, Limits::max_exponent), want);
  int exponent = std::max(ilogbl(want), Limits::min_exponent - 1);
  exponent = std::min(exponent, Limits::max_exponent - 1);
  if (std::signbit(got) != std::signbit(want)) return kInfinite;
  return static_cast<double>(fabsl(value - want) / ldexpl(1, exponent - Limits::digits + 1));
}

template <typename T>
void Check(int lanes, int count, bool few_elements = false) {
  const PrimitiveType type = hlo::NativePrimitiveType<T>();
  hlo::Module module("m");
  ElementwiseJit jit(lanes, Target::kCpu, "", few_elements);
  for (const Function& f : Functions()) {
    std::string name(hlo::OpcodeName(f.opcode));
    std::vector<PrimitiveType> operands(f.operands, type);
    absl::Status added = jit.Add(name, *MakeElementwise(&module, f.opcode, type, operands));
    ASSERT_TRUE(added.ok()) << added;
  }
  absl::Status compiled = jit.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  for (const Function& f : Functions()) {
    std::string name(hlo::OpcodeName(f.opcode));
    std::vector<T> x = Inputs<T>(count, 1), y = Inputs<T>(count, 2), got(count);
    if (f.operands == 2) {
      // All pairs of the special values at the front.
      for (int i = 0; i < 39 * 39 && i < count; ++i) {
        x[i] = Inputs<T>(39, 1)[i % 39];
        y[i] = Inputs<T>(39, 1)[i / 39];
      }
    }
    absl::Status run = jit.Run(name, {x.data(), y.data()}, {got.data()}, count);
    ASSERT_TRUE(run.ok()) << run;
    const double bound = sizeof(T) == 4 ? f.f32_bound : f.f64_bound;
    double worst = 0;
    int worst_index = 0, failures = 0;
    for (int i = 0; i < count; ++i) {
      double error = UlpError(got[i], f.reference(x[i], y[i]));
      if (error > worst) worst = error, worst_index = i;
      failures += error > bound;
    }
    EXPECT_EQ(failures, 0) << name << " of " << hlo::PrimitiveTypeName(type) << " x" << lanes << ": " << worst
                           << " ulp at " << x[worst_index] << ", " << y[worst_index] << ": got " << got[worst_index]
                           << ", expected " << static_cast<double>(f.reference(x[worst_index], y[worst_index]));
    testing::Test::RecordProperty(absl::StrCat(name, "_", hlo::PrimitiveTypeName(type), "_x", lanes),
                                  absl::StrCat(worst));
    if (std::getenv("KILN_PRINT_ULP"))
      printf("%-24s %s x%-2d %.4f at %.9g\n", name.c_str(), std::string(hlo::PrimitiveTypeName(type)).c_str(), lanes,
             worst, static_cast<double>(x[worst_index]));
  }
}

TEST(ScalarMathTest, F32OneLane) { Check<float>(1, 8000); }
TEST(ScalarMathTest, F32FourLanes) { Check<float>(4, 8000); }
TEST(ScalarMathTest, F32SixteenLanes) { Check<float>(16, 80000); }
TEST(ScalarMathTest, F32SevenLanes) { Check<float>(7, 7000); }
TEST(ScalarMathTest, F32ThirtyTwoLanes) { Check<float>(32, 80000); }
TEST(ScalarMathTest, F64OneLane) { Check<double>(1, 8000); }
TEST(ScalarMathTest, F64FourLanes) { Check<double>(4, 8000); }
TEST(ScalarMathTest, F64SixteenLanes) { Check<double>(16, 80000); }

// Polynomials in shorter chains are as accurate.
TEST(ScalarMathTest, FewElements) {
  Check<float>(1, 8000, /*few_elements=*/true);
  Check<float>(16, 80000, /*few_elements=*/true);
  Check<double>(1, 8000, /*few_elements=*/true);
  Check<double>(8, 80000, /*few_elements=*/true);
}

// Another row of tuning and other instructions than the host's, until the end of the scope.
class Processor {
 public:
  Processor(absl::string_view tuning, IsaLevel level) : tuning_(Tuning().name) {
    EXPECT_TRUE(UseCpuTuning(tuning));
    LimitIsa(level);
  }
  ~Processor() {
    UseCpuTuning(tuning_);
    LimitIsa(IsaLevel::kAmxFp16);
  }

 private:
  const char* tuning_;
};

TEST(ScalarMathTest, WhereScalingToSubnormalsIsSlow) {
  const Processor processor("intel", IsaLevel::kAmxFp16);
  Check<float>(16, 80000);
  Check<double>(16, 80000);
}

TEST(ScalarMathTest, WithoutAvx512) {
  const Processor processor("avx2", IsaLevel::kAvx2);
  Check<float>(8, 80000);
  Check<double>(4, 80000);
}

// The flag of an operation whose result is subnormal or rounds to zero, for which processors take a hundred cycles.
TEST(ScalarMathTest, NothingUnderflowsOnTheWayToZero) {
  const Processor processor("intel", IsaLevel::kAmxFp16);
  const std::vector<Opcode> opcodes = {Opcode::kExp, Opcode::kExp2, Opcode::kLogistic, Opcode::kErfc,
                                       Opcode::kLogPlusOne};
  hlo::Module module("m");
  ElementwiseJit jit(16);
  for (Opcode opcode : opcodes) {
    const auto* instruction = MakeElementwise(&module, opcode, PrimitiveType::kF32, {PrimitiveType::kF32});
    ASSERT_TRUE(jit.Add(std::string(hlo::OpcodeName(opcode)), *instruction).ok());
  }
  ASSERT_TRUE(jit.Compile().ok());
  for (Opcode opcode : opcodes) {
    std::vector<float> x;
    for (int i = 0; i < 160; ++i) {
      const float distance = static_cast<float>(i) + 0.37f;
      if (opcode == Opcode::kErfc) {
        x.push_back(i % 2 == 0 ? distance / 20 : 10.6f + distance * distance);
      } else if (opcode == Opcode::kLogPlusOne) {
        x.push_back(std::exp(-distance));
      } else {
        // Past subnormal results, which some of these make without the flag.
        x.push_back(opcode == Opcode::kLogistic && distance > 87 ? -104 - distance : -distance);
      }
      if (i % 16 == 0) x.back() = -1e9f;
      if (opcode == Opcode::kLogPlusOne || opcode == Opcode::kErfc) x.back() = std::fabs(x.back());
    }
    std::vector<float> y(x.size());
    for (int run = 0; run < 2; ++run) {  // the first one compiles
      std::feclearexcept(FE_ALL_EXCEPT);
      ASSERT_TRUE(jit.Run(std::string(hlo::OpcodeName(opcode)), {x.data()}, {y.data()}, 160).ok());
    }
    EXPECT_EQ(std::fetestexcept(FE_UNDERFLOW), 0) << hlo::OpcodeName(opcode);
  }
}

}  // namespace
}  // namespace kiln::kernel
