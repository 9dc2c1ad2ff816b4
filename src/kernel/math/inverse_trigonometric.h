// Inverse trigonometric functions of f32 and f64 lanes. Straight code; errors are below 2 ulp.
#ifndef KILN_KERNEL_MATH_INVERSE_TRIGONOMETRIC_H_
#define KILN_KERNEL_MATH_INVERSE_TRIGONOMETRIC_H_

#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

Real Asin(Real x);
Real Acos(Real x);
// The angle of the point (x, y), with C's special cases.
Real Atan2(Real y, Real x);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_INVERSE_TRIGONOMETRIC_H_
