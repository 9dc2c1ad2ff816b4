// Exponentials and logarithms of f32 and f64 lanes. Straight code; errors are below 2 ulp, subnormals kept.
#ifndef KILN_KERNEL_MATH_EXP_LOG_H_
#define KILN_KERNEL_MATH_EXP_LOG_H_

#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

Real Exp(Real x);
Real Exp2(Real x);
Real Expm1(Real x);
Real Log(Real x);
Real Log2(Real x);
Real Log1p(Real x);
// 1 / (1 + e^-x)
Real Logistic(Real x);

// e^x * 2^shift, overflowing only where that does. `shift` is small.
Real ExpShifted(Real x, int shift);
// e^x * factor * 2^shift, overflowing or vanishing only where the product does. `shift` is small.
Real ExpTimes(Real x, Real factor, int shift = 0);
// e^(x + low) * (factor + factor_low) for x <= 0, rounded about once; the low parts are some units of the others.
Real ExpTimes(Real x, Real low, Real factor, Real factor_low);
// e^x where |x| is below 80 (f32) or 700 (f64) and the result is normal: fewer instructions. NaN stays NaN.
Real ExpBounded(Real x);
// log(x) for finite x > 0 plus shift * ln 2; anything for other x.
Real LogPositive(Real x, Real shift);
// log(1 + x + low) for finite x > -1 plus shift * ln 2, `low` below a unit of x; anything for other x.
Real Log1pPositive(Real x, Real low, Real shift);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_EXP_LOG_H_
