#include "src/kernel/math/coefficients.h"
#include "src/kernel/math/real_math.h"
#include "src/kernel/math/register_table.h"

namespace kiln::kernel::math {

Real Erf(Real x) {
  const bool f32 = IsF32(x);
  Real magnitude = x.Abs();
  if (const int intervals = RegisterTableSize(x.builder()); f32 && intervals != 0) {
    constexpr auto kEven = Pieces::Spacing::kEven;
    Real bounded = AtMost(magnitude, 3.99);
    const Pieces pieces = intervals == 16 ? Pieces(kErfSixteenths, kEven, 3.875) : Pieces(kErfEighths, kEven, 1.875);
    return CopySign(PieceAt(bounded, pieces), x);
  }
  Real z = magnitude * magnitude;
  Real small = MulAdd(magnitude, Polynomial(z, kErfF32, kErfF64), magnitude);
  // Past the bound erfc is below half a unit of 1.
  Real u = AtMost(magnitude, f32 ? 4.0 : 6.0) - 1.0;
  Real large = 1.0 - ExpBounded(Polynomial(u, kErfcLogF32, kErfcLogF64));
  return CopySign(Select(magnitude < 1.0, small, large), x);
}

Real ErfOf16Bits(Real x) {
  // Past the bound erfc is below half a unit of 1.
  Real magnitude = AtMost(x.Abs(), 2.8);
  Real u = MulAdd(magnitude * magnitude, x.Constant(1 / 3.92), x.Constant(-1));
  return CopySign(magnitude * kernel::Polynomial(u, kErfOf16Bits), x);
}

namespace {

// e^(-x^2) times the factor and what rounding lost of it.
Real TimesGaussian(Real x, Real factor, Real factor_low) {
  Real z = x * x;
  return ExpTimes(-z, Fma(x, -x, z), factor, factor_low);
}

}  // namespace

Real Erfc(Real x) {
  const bool f32 = IsF32(x);
  // Past the bound the result is 0.
  Real magnitude = AtMost(x.Abs(), f32 ? 10.9 : 27.6);
  Mask negative = x < 0.0;
  if (const int intervals = RegisterTableSize(x.builder()); f32 && intervals != 0) {
    constexpr auto kOctaves = Pieces::Spacing::kOctaves;
    constexpr double kStep = 1.375;
    const Pieces pieces =
        intervals == 16 ? Pieces(kErfcQuarters, kOctaves, kStep) : Pieces(kErfcHalves, kOctaves, kStep);
    ExactPiece scaled = ExactPieceAt(magnitude, pieces);
    Real result = TimesGaussian(magnitude, scaled.value, scaled.low);
    return Select(negative, 2.0 - result, result);
  }
  Real z = magnitude * magnitude;
  Real small = MulAdd(magnitude, Polynomial(z, kErfF32, kErfF64), magnitude);
  // e^(x^2) erfc(x) (1 + 2x) is between 1 and 1.2, and a polynomial in (x - center) / (x + center).
  const double center = f32 ? 2.25 : 3.75;
  Real t = (magnitude - center) / (magnitude + center);
  Real rest = t * Polynomial(t, kErfcF32, kErfcF64);
  const double* first = f32 ? kErfcFirstF32 : kErfcFirstF64;
  Real numerator = rest + first[0];
  Real twice = magnitude * 2.0, divisor = twice + 1.0;
  Real inverse = 1.0 / divisor;
  Real quotient = numerator * inverse;
  // What the numerator, the divisor and the quotient lost.
  Real numerator_low = rest - (numerator - first[0]) + first[1], divisor_low = 1.0 - (divisor - twice);
  Real quotient_low = (Fma(-quotient, divisor, numerator) + MulAdd(-quotient, divisor_low, numerator_low)) * inverse;
  Real large = TimesGaussian(magnitude, quotient, quotient_low);
  return Select(magnitude < 0.5, Select(negative, small + 1.0, 1.0 - small), Select(negative, 2.0 - large, large));
}

}  // namespace kiln::kernel::math
