// Reduction of large arguments of sine, cosine and tangent: compiled with Kiln, since every program would compile the
// same hundred instructions.
#ifndef KILN_KERNEL_MATH_LARGE_REDUCTION_H_
#define KILN_KERNEL_MATH_LARGE_REDUCTION_H_

#include <cstdint>

namespace kiln::kernel::math {

// x = quadrant * pi/2 + high + low modulo 2 pi, |high| <= pi/4.
struct LargeReduction {
  int64_t quadrant;  // only its two lowest bits count
  double high;       // NaN for infinity and NaN
  double low;
};

// Payne and Hanek's reduction, |x| >= 2^10. Generated code for CPUs calls it by this name.
void ReduceLarge(double x, LargeReduction* result);
inline constexpr char kReduceLargeName[] = "kiln_reduce_large";

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_LARGE_REDUCTION_H_
