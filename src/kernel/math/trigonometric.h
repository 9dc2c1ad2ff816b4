// Trigonometric functions of f32 and f64 lanes, for arguments of any size; errors are below 2 ulp.
#ifndef KILN_KERNEL_MATH_TRIGONOMETRIC_H_
#define KILN_KERNEL_MATH_TRIGONOMETRIC_H_

#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

// Helper functions.
Real Sin(Real x);
Real Cos(Real x);
Real Tan(Real x);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_TRIGONOMETRIC_H_
