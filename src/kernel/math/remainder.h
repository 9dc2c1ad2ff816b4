// The exact floating-point remainder.
#ifndef KILN_KERNEL_MATH_REMAINDER_H_
#define KILN_KERNEL_MATH_REMAINDER_H_

#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

// x - trunc(x / y) * y without any rounding, with the sign of x; NaN for y = 0 and infinite x. A helper function.
Real Fmod(Real x, Real y);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_REMAINDER_H_
