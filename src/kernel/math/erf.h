// The error function and its complement of f32 and f64 lanes. Straight code; errors are below 2 ulp.
#ifndef KILN_KERNEL_MATH_ERF_H_
#define KILN_KERNEL_MATH_ERF_H_

#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

Real Erf(Real x);
// 1 - erf(x), down to its subnormal values.
Real Erfc(Real x);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_ERF_H_
