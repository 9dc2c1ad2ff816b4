// Powers and roots of f32 and f64 lanes; errors are below 2 ulp.
#ifndef KILN_KERNEL_MATH_POWER_ROOT_H_
#define KILN_KERNEL_MATH_POWER_ROOT_H_

#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

// x to the y with C's special cases. A helper function.
Real Pow(Real x, Real y);
// Straight code.
Real Cbrt(Real x);
Real Rsqrt(Real x);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_POWER_ROOT_H_
