// Hyperbolic functions and their inverses of f32 and f64 lanes. Straight code; errors are below 2 ulp.
#ifndef KILN_KERNEL_MATH_HYPERBOLIC_H_
#define KILN_KERNEL_MATH_HYPERBOLIC_H_

#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

Real Sinh(Real x);
Real Cosh(Real x);
Real Tanh(Real x);
Real Asinh(Real x);
Real Acosh(Real x);
Real Atanh(Real x);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_HYPERBOLIC_H_
