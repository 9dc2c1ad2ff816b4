#include "src/kernel/math/coefficients.h"
#include "src/kernel/math/real_math.h"
#include "src/kernel/math/register_table.h"

namespace kiln::kernel::math {
namespace {

// x + x^3 p(x^2)
Real OddSeries(Real x, absl::Span<const double> f32, absl::Span<const double> f64) {
  Real z = x * x;
  return MulAdd(x * z, Polynomial(z, f32, f64), x);
}

}  // namespace

Real Sinh(Real x) {
  Real magnitude = x.Abs();
  Real small = OddSeries(magnitude, kSinhF32, kSinhF64);
  Real half = ExpShifted(magnitude, -1);
  Real large = half - 0.25 / half;
  return CopySign(Select(magnitude < 1.0, small, large), x);
}

Real Cosh(Real x) {
  Real half = ExpShifted(x.Abs(), -1);
  return half + 0.25 / half;
}

Real Tanh(Real x) {
  const bool f32 = IsF32(x);
  Real magnitude = x.Abs();
  if (const int intervals = RegisterTableSize(x.builder()); f32 && intervals != 0) {
    Real bounded = AtMost(magnitude, 9.2);
    constexpr auto kOctaves = Pieces::Spacing::kOctaves;
    constexpr double kStep = 1.625;
    const Pieces pieces =
        intervals == 16 ? Pieces(kTanhQuarters, kOctaves, kStep) : Pieces(kTanhHalves, kOctaves, kStep);
    return CopySign(PieceAt(bounded, pieces), x);
  }
  if (!f32) {
    // Small ones of their negatives: the divisor is below 2 then, where it is rounded half as much. Past 20 it is 1.
    Real twice = AtMost(magnitude, 20.0) * Select(magnitude < 0.17, x.Constant(-2.0), x.Constant(2.0));
    Real em1 = Expm1Bounded(twice);
    return CopySign(em1 / (em1 + 2.0), x);
  }
  Real small = OddSeries(magnitude, kTanhF32, {});
  // Past this the result rounds to 1.
  Real e = ExpBounded(AtMost(magnitude, 10.0) * 2.0);
  Real large = 1.0 - 2.0 / (e + 1.0);
  return CopySign(Select(magnitude < 0.55, small, large), x);
}

Real Asinh(Real x) {
  Real magnitude = x.Abs();
  // asinh(x) = log1p(x + x^2 / (1 + sqrt(1 + x^2))); the square would overflow for large x, where it is log(2x).
  Mask large = magnitude > 0x1p30;
  Real square = magnitude * magnitude;
  Real rest = square / (Sqrt(square + 1.0) + 1.0);
  Real argument = magnitude + rest;
  Real low = rest - (argument - magnitude);
  Real result = Log1pPositive(Select(large, magnitude - 1.0, argument), Select(large, 0.0, low),
                              Select(large, x.Constant(1.0), x.Constant(0.0)));
  // Infinity and NaN are their own results; so are numbers whose cube does not count.
  Mask itself = magnitude.Compare(llvm::CmpInst::FCMP_UGE, x.Infinity()) | (magnitude < (IsF32(x) ? 0x1p-13 : 0x1p-28));
  return CopySign(Select(itself, magnitude, result), x);
}

Real Acosh(Real x) {
  Mask large = x > 0x1p30;
  Real t = x - 1.0;
  Real root = Sqrt(MulAdd(t, t, t * 2.0));  // at least t
  Real argument = root + t;
  Real result = Log1pPositive(Select(large, t, argument), Select(large, 0.0, t - (argument - root)),
                              Select(large, x.Constant(1.0), x.Constant(0.0)));
  result = Select(x.Compare(llvm::CmpInst::FCMP_UGE, x.Infinity()), x, result);
  return Select(x < 1.0, x.Nan(), result);
}

Real Atanh(Real x) {
  Real magnitude = x.Abs();
  Real small = OddSeries(magnitude, kAtanhF32, kAtanhF64);
  Real large = Log1pPositive(magnitude * 2.0 / (1.0 - magnitude), x.Constant(0.0), x.Constant(0.0)) * 0.5;
  Real result = Select(magnitude < 0.4, small, large);
  result = Select(magnitude == 1.0, x.Infinity(), result);
  return CopySign(Select(magnitude <= 1.0, result, x.Nan()), x);
}

}  // namespace kiln::kernel::math
