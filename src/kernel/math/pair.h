// Numbers of twice the precision as sums of two.
#ifndef KILN_KERNEL_MATH_PAIR_H_
#define KILN_KERNEL_MATH_PAIR_H_

#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

// high + low, low below half a unit of high.
struct Pair {
  Real high, low;
};

// |large| >= |small|.
inline Pair FastSum(Real large, Real small) {
  Real sum = large + small;
  return {sum, small - (sum - large)};
}

inline Pair TwoSum(Real a, Real b) {
  Real sum = a + b;
  Real b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

inline Pair Sum(Pair a, Pair b) {
  Pair sum = TwoSum(a.high, b.high);
  return FastSum(sum.high, sum.low + (a.low + b.low));
}

inline Pair Product(Real a, Real b) {
  Real high = a * b;
  return {high, Fma(a, b, -high)};
}

inline Pair Product(Pair a, Pair b) {
  Pair p = Product(a.high, b.high);
  Real cross = MulAdd(a.high, b.low, a.low * b.high);
  return FastSum(p.high, p.low + cross);
}

// log(x) to about 2^-68, relatively; x f64, finite and positive.
Pair LogToPair(Real x);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_PAIR_H_
