// Powers of one number, each of whose steps waits for the one before: tables in memory and short polynomials in place
// of a quotient and long ones.
#include <cstdint>

#include "src/kernel/math/coefficients.h"
#include "src/kernel/math/memory_table.h"
#include "src/kernel/math/real_math.h"

namespace kiln::kernel::math {
Real ScalarPositivePowF32(Real magnitude, Real y) {
  const VectorBuilder& b = magnitude.builder();
  constexpr int64_t kFirst = 0x3fe6600000000000;  // the bits of 0.69921875
  constexpr int64_t kExponents = static_cast<int64_t>(0xfff0000000000000);
  // magnitude = 2^e z, with z about the inverse of a number in the table.
  const Integer bits = magnitude.To(64).AsInteger(), above = bits - kFirst;
  const Integer interval = above.Shr(48) & 15;
  const Real z = (bits - (above & kExponents)).AsReal(), e = above.Sar(52).SignedToReal(64);
  const Real inverse(b, LoadFromTable<double>(b, "kiln.pow_inverses", kPowInverses, interval));
  const Real logarithm(b, LoadFromTable<double>(b, "kiln.pow_logarithms", kPowLogarithms, interval));
  const Real r = MulAdd(z, inverse, z.Constant(-1));
  const Real log2 = MulAdd(r, kernel::Polynomial(r, kPowLog2F64), logarithm + e);
  const Real t = AtLeast(AtMost(y.To(64) * log2, 300.0), -300.0);
  // Adding that rounds to 32nds and leaves their number in the lowest bits.
  constexpr double kRounder = 0x1.8p47;
  const Real rounded = t + kRounder;
  const Real rest = t - (rounded - kRounder);
  const Integer number = rounded.AsInteger();
  const Integer part(b, LoadFromTable<uint64_t>(b, "kiln.pow_exponentials", kPowExponentials, number & 31));
  const Real scale = (part + number.Shl(47)).AsReal();
  return MulAdd(scale * rest, kernel::Polynomial(rest, kPowExp2F64), scale).To(32);
}

}  // namespace kiln::kernel::math
