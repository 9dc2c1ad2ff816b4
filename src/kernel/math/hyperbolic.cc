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
  Real magnitude = x.Abs();
  // Larger tables are faster than a division, and shorter ones where it is waited for.
  const int intervals = IsF32(x) ? RegisterTableSize(x.builder()) : 0;
  if (intervals == 16 || (intervals != 0 && x.builder().few_elements)) {
    constexpr auto kOctaves = Pieces::Spacing::kOctaves;
    constexpr double kStep = 1.625;
    const Pieces pieces =
        intervals == 16 ? Pieces(kTanhQuarters, kOctaves, kStep) : Pieces(kTanhHalves, kOctaves, kStep);
    return CopySign(PieceAt(AtMost(magnitude, 9.2), pieces), x);
  }
  // Past the bound the result is 1. Of what is negative the divisor is below 2, where it is rounded half as much.
  return CopySign(TanhOfHalf(AtMost(magnitude, IsF32(x) ? 9.2 : 20.0) * -2.0), x);
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
