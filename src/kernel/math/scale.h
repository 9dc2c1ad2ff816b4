// Multiplying by powers of two where the result may be subnormal. Some processors take a hundred cycles to multiply
// where a result is subnormal, or so small that it becomes zero: what exponential functions give for much of their
// domain, as behind a mask. Nothing here makes such products, but for subnormal f64 without an instruction that scales,
// and no quotients, but for subnormal ones of the logistic function.
#ifndef KILN_KERNEL_MATH_SCALE_H_
#define KILN_KERNEL_MATH_SCALE_H_

#include "src/kernel/math/real_math.h"

namespace kiln::kernel::math {

// Whether the target has an instruction that scales, to subnormal results too, without a loss of time.
bool HasScaling(const VectorBuilder& b);

// x * 2^n rounded once, for an integer n of any size; only where HasScaling().
Real ScaleByInstruction(Real x, Real n);

// What is added to n in `rounded`, and what significands are multiplied by, for Scale().
int ScaleOffset(Real x);
double ScaleUnit(Real x);
// significand / ScaleUnit() * 2^n for n + ScaleOffset() in the lowest bits of `rounded`; the significand is between 1/2
// and 4 where n is below -100, and n is at most 129 and at least -270 (f32), 1026 and -1100 (f64).
Real Scale(Real significand, Real n, Integer rounded);

// significand * 2^n for n + 2 bias in the lowest bits of `rounded`, in two steps where there is no instruction, so that
// the result may be subnormal or overflow by itself.
Real ScaleInTwo(Real significand, Real n, Integer rounded);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_SCALE_H_
