#include "src/kernel/math/erf.h"

#include "src/kernel/math/coefficients.h"
#include "src/kernel/math/exp_log.h"

namespace kiln::kernel::math {

Real Erf(Real x) {
  const bool f32 = x.bits() == 32;
  Real magnitude = x.Abs();
  Real z = magnitude * magnitude;
  Real small = MulAdd(magnitude, f32 ? Polynomial(z, kErfF32) : Polynomial(z, kErfF64), magnitude);
  // Past the bound erfc is below half a unit of 1.
  Real u = AtMost(magnitude, f32 ? 4.0 : 6.0) - 1.0;
  Real large = 1.0 - ExpBounded(f32 ? Polynomial(u, kErfcLogF32) : Polynomial(u, kErfcLogF64));
  return CopySign(Select(magnitude < 1.0, small, large), x);
}

}  // namespace kiln::kernel::math
