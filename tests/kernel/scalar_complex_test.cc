// Complex functions against std::complex<long double>.
#include <complex>

#include "gtest/gtest.h"
#include "tests/kernel/elementwise_test_util.h"

namespace kiln::kernel {
namespace {

using LongComplex = std::complex<long double>;

struct ComplexFunction {
  Opcode opcode;
  std::function<LongComplex(LongComplex, LongComplex)> reference;
  int operands;
  double bound;  // in units of epsilon times |result|
};

// Functions of moderate arguments, by the distance in the plane.
template <typename T>
void CheckComplex(PrimitiveType type, const Configuration& configuration) {
  using C = LongComplex;
  const std::vector<ComplexFunction> functions = {
      {Opcode::kAdd, [](C a, C b) { return a + b; }, 2, 1},
      {Opcode::kSubtract, [](C a, C b) { return a - b; }, 2, 1},
      {Opcode::kMultiply, [](C a, C b) { return a * b; }, 2, 3},
      {Opcode::kDivide, [](C a, C b) { return a / b; }, 2, 5},
      {Opcode::kNegate, [](C a, C) { return -a; }, 1, 0},
      {Opcode::kSign, [](C a, C) { return a / std::abs(a); }, 1, 3},
      {Opcode::kExp, [](C a, C) { return std::exp(a); }, 1, 4},
      {Opcode::kExpMinusOne, [](C a, C) { return std::exp(a) - C(1); }, 1, 8},
      {Opcode::kLog, [](C a, C) { return std::log(a); }, 1, 4},
      {Opcode::kLog2, [](C a, C) { return std::log(a) / std::log(2.0L); }, 1, 5},
      {Opcode::kLogPlusOne, [](C a, C) { return std::log(C(1) + a); }, 1, 4},
      {Opcode::kSqrt, [](C a, C) { return std::sqrt(a); }, 1, 4},
      {Opcode::kRsqrt, [](C a, C) { return C(1) / std::sqrt(a); }, 1, 8},
      {Opcode::kCbrt, [](C a, C) { return std::pow(a, 1.0L / 3); }, 1, 12},
      {Opcode::kSin, [](C a, C) { return std::sin(a); }, 1, 4},
      {Opcode::kCos, [](C a, C) { return std::cos(a); }, 1, 4},
      {Opcode::kTan, [](C a, C) { return std::tan(a); }, 1, 8},
      {Opcode::kSinh, [](C a, C) { return std::sinh(a); }, 1, 4},
      {Opcode::kCosh, [](C a, C) { return std::cosh(a); }, 1, 4},
      {Opcode::kTanh, [](C a, C) { return std::tanh(a); }, 1, 8},
      {Opcode::kLogistic, [](C a, C) { return C(1) / (C(1) + std::exp(-a)); }, 1, 12},
      {Opcode::kAsin, [](C a, C) { return std::asin(a); }, 1, 8},
      {Opcode::kAcos, [](C a, C) { return std::acos(a); }, 1, 8},
      {Opcode::kAsinh, [](C a, C) { return std::asinh(a); }, 1, 8},
      {Opcode::kAcosh, [](C a, C) { return std::acosh(a); }, 1, 8},
      {Opcode::kAtanh, [](C a, C) { return std::atanh(a); }, 1, 8},
      {Opcode::kPower, [](C a, C b) { return std::pow(a, b); }, 2, 4},
  };
  const PrimitiveType part = hlo::ComplexComponentType(type);
  hlo::Module module("m");
  const int lanes = configuration.lanes;
  ElementwiseJit jit(lanes, Target::kCpu, configuration.cpu);
  for (const ComplexFunction& f : functions) {
    std::vector<PrimitiveType> operands(f.operands, type);
    absl::Status added = jit.Add(Name(f.opcode), *MakeElementwise(&module, f.opcode, type, operands));
    ASSERT_TRUE(added.ok()) << added;
  }
  ASSERT_TRUE(jit.Add("abs", *MakeElementwise(&module, Opcode::kAbs, part, {type})).ok());
  absl::Status compiled = jit.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  constexpr int kCount = 4096;
  std::mt19937_64 random(15);
  std::uniform_real_distribution<double> wide(-4, 4);
  std::vector<T> a(kCount), b(kCount), c(kCount), d(kCount), re(kCount), im(kCount);
  for (int i = 0; i < kCount; ++i) {
    a[i] = wide(random), b[i] = wide(random), c[i] = wide(random), d[i] = wide(random);
    if (i % 4 == 1) a[i] *= T(0.01);
    if (i % 4 == 2) b[i] *= T(0.01);
  }
  for (const ComplexFunction& f : functions) {
    ASSERT_TRUE(jit.Run(Name(f.opcode), {a.data(), b.data(), c.data(), d.data()}, {re.data(), im.data()}, kCount).ok());
    double worst = 0;
    C at;
    for (int i = 0; i < kCount; ++i) {
      const C want = f.reference(C(a[i], b[i]), C(c[i], d[i]));
      const double error = std::abs(C(re[i], im[i]) - want) / (std::abs(want) * std::numeric_limits<T>::epsilon());
      if (!(error <= worst)) worst = error, at = C(a[i], b[i]);
    }
    EXPECT_LE(worst, f.bound) << Name(f.opcode) << " of " << Name(type) << " x" << lanes << " at " << at;
  }
  // |z| near overflow and underflow.
  const T huge = std::numeric_limits<T>::max() / 2, tiny = std::numeric_limits<T>::denorm_min();
  const std::vector<T> edge_re = {huge, tiny * 4, 3, 0, INFINITY, NAN, -3, huge, 0, 1, 1, 1, 1, 1, 1, 1};
  const std::vector<T> edge_im = {huge, tiny * 3, 4, 0, NAN, INFINITY, -4, 0, tiny, 0, 0, 0, 0, 0, 0, 0};
  std::vector<T> got(16);
  ASSERT_TRUE(jit.Run("abs", {edge_re.data(), edge_im.data()}, {got.data()}, 16).ok());
  for (int i = 0; i < 16; ++i) {
    const T want = std::hypot(edge_re[i], edge_im[i]);
    if (want == 0 || std::isinf(want)) {
      EXPECT_EQ(got[i], want) << i;
    } else {
      EXPECT_NEAR(got[i] / want, 1, 4 * std::numeric_limits<T>::epsilon()) << i;
    }
  }
}

TEST(ScalarEmitterTest, ComplexNumbers) {
  for (const Configuration& configuration : Configurations()) {
    CheckComplex<float>(PrimitiveType::kC64, configuration);
    CheckComplex<double>(PrimitiveType::kC128, configuration);
  }
}

}  // namespace
}  // namespace kiln::kernel
