// Functions of f32 and f64 lanes. Errors are below 2 ulp, subnormals are kept. Straight code, but for helper functions
// (VectorBuilder::CallHelper) where it is said.
#ifndef KILN_KERNEL_MATH_REAL_MATH_H_
#define KILN_KERNEL_MATH_REAL_MATH_H_

#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

inline bool IsF32(Real x) { return x.bits() == 32; }
// With the coefficients for x's type.
inline Real Polynomial(Real x, absl::Span<const double> f32, absl::Span<const double> f64) {
  return kernel::Polynomial(x, IsF32(x) ? f32 : f64);
}

// -1, 1, or x itself where it is a zero or NaN.
inline Real Sign(Real x) {
  return Select(x.Compare(llvm::CmpInst::FCMP_UEQ, x.Constant(0.0)), x, CopySign(x.Constant(1.0), x));
}

// ---- Exponentials and logarithms (exp_log.cc) ----

Real Exp(Real x);
Real Exp2(Real x);
Real Expm1(Real x);
Real Log(Real x);
Real Log2(Real x);
Real Log1p(Real x);
// The same for x from 0 to 1, or NaN: fewer instructions.
Real Log1pOfUnit(Real x);
// 1 / (1 + e^-x)
Real Logistic(Real x);
// The same in f32 of what is a half in memory, whose results are not subnormal: fewer instructions.
Real ExpOfHalf(Real x);
Real LogisticOfHalf(Real x);

// e^x * 2^shift, overflowing only where that does. `shift` is small.
Real ExpShifted(Real x, int shift);
// e^x * factor * 2^shift, overflowing or vanishing only where the product does. `shift` is small.
Real ExpTimes(Real x, Real factor, int shift = 0);
// e^(x + low) * (factor + factor_low) for x <= 0, rounded about once; the low parts are some units of the others.
Real ExpTimes(Real x, Real low, Real factor, Real factor_low);
// e^x where |x| is below 80 (f32) or 700 (f64) and the result is normal: fewer instructions. NaN stays NaN.
Real ExpBounded(Real x);
// e^x where what is subnormal, or with `may_be_large` less than twice the smallest normal number, may be zero: fewer
// instructions where the processor flushes subnormal results. Without `may_be_large` x is at most 80, or NaN: fewer
// where an instruction scales, too.
Real ExpFlushed(Real x, bool may_be_large);
// tanh(x / 2) = (e^x - 1) / (e^x + 1) for x from -40 to 0.
Real TanhOfHalf(Real x);
// log(x) for finite x > 0 plus shift * ln 2; anything for other x.
Real LogPositive(Real x, Real shift);
// log(1 + x + low) for finite x > -1 plus shift * ln 2, `low` below a unit of x; anything for other x.
Real Log1pPositive(Real x, Real low, Real shift);

// ---- The error function and its complement (erf.cc) ----

Real Erf(Real x);
// The same in f32, as exact as types of 16 bits need.
Real ErfOf16Bits(Real x);
// 1 - erf(x), down to its subnormal values.
Real Erfc(Real x);

// ---- Powers and roots (power_root.cc, scalar_power.cc) ----

// x to the y with C's special cases. A helper function.
Real Pow(Real x, Real y);
// magnitude^y of one finite positive f32, on CPUs; anything for others.
Real ScalarPositivePowF32(Real magnitude, Real y);
Real Cbrt(Real x);
Real Rsqrt(Real x);

// ---- Trigonometric functions, of arguments of any size (trigonometric.cc); helper functions ----

Real Sin(Real x);
Real Cos(Real x);
Real Tan(Real x);

// ---- Their inverses (inverse_trigonometric.cc) ----

Real Asin(Real x);
Real Acos(Real x);
// The angle of the point (x, y), with C's special cases.
Real Atan2(Real y, Real x);

// ---- Hyperbolic functions and their inverses (hyperbolic.cc) ----

Real Sinh(Real x);
Real Cosh(Real x);
Real Tanh(Real x);
Real Asinh(Real x);
Real Acosh(Real x);
Real Atanh(Real x);

// ---- The exact remainder (remainder.cc) ----

// x - trunc(x / y) * y without any rounding, with the sign of x; NaN for y = 0 and infinite x. A helper function.
Real Fmod(Real x, Real y);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_REAL_MATH_H_
