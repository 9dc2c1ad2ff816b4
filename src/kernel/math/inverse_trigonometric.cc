#include "src/kernel/math/coefficients.h"
#include "src/kernel/math/real_math.h"

namespace kiln::kernel::math {
namespace {

const double* HalfPi(Real x) { return IsF32(x) ? kHalfPiF32 : kHalfPiF64; }

// asin of up to 1/2, directly or as half the angle from 1: asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)).
struct AsinParts {
  Mask near_one;
  Real root, tail;  // asin(root) = root + tail
};

AsinParts Reduce(Real magnitude) {
  Mask near_one = magnitude > 0.5;
  Real z = Select(near_one, MulAdd(magnitude, magnitude.Constant(-0.5), 0.5), magnitude * magnitude);
  Real root = Select(near_one, Sqrt(z), magnitude);
  return {near_one, root, root * z * Polynomial(z, kAsinF32, kAsinF64)};
}

}  // namespace

Real Asin(Real x) {
  const double* half_pi = HalfPi(x);
  Real magnitude = x.Abs();
  AsinParts parts = Reduce(magnitude);
  Real angle = parts.root + parts.tail;
  // The difference with what it loses.
  Real twice = parts.root * 2.0, difference = half_pi[0] - twice;
  Real lost = (half_pi[0] - difference) - twice;
  Real far = difference + (lost - (parts.tail * 2.0 - half_pi[1]));
  return CopySign(Select(parts.near_one, far, angle), x);
}

Real Acos(Real x) {
  const double* half_pi = HalfPi(x);
  AsinParts parts = Reduce(x.Abs());
  Real twice = (parts.root + parts.tail) * 2.0;
  Real near_minus_one = 2.0 * half_pi[0] - (twice - 2.0 * half_pi[1]);
  Real at_ends = Select(x < 0.0, near_minus_one, twice);
  Real middle = half_pi[0] - (x - (half_pi[1] - CopySign(parts.tail, x)));
  return Select(parts.near_one, at_ends, middle);
}

Real Atan2(Real y, Real x) {
  const bool f32 = IsF32(x);
  const double* half_pi = HalfPi(x);
  Real ax = x.Abs(), ay = y.Abs();
  Mask steep = ay > ax;
  Real large = Select(steep, ay, ax), small = Select(steep, ax, ay);
  // Away from overflow of the sum below, and from subnormals that would spoil the quotient.
  Mask huge = large > (f32 ? 0x1p100 : 0x1p1000);
  Mask tiny = large < (f32 ? 0x1p-80 : 0x1p-900);
  Real scale = Select(huge, x.Constant(f32 ? 0x1p-40 : 0x1p-100),
                      Select(tiny, x.Constant(f32 ? 0x1p60 : 0x1p200), x.Constant(1.0)));
  Real b = large * scale, a = small * scale;
  // atan(a/b) = pi/4 + atan((a - b) / (a + b)) for quotients above tan(pi/8).
  Mask upper = a > b * 0.41421356237309503;
  Real numerator = Select(upper, a - b, a), denominator = Select(upper, a + b, b);
  Real t = numerator / denominator;
  // Both 0: the angle is 0. Both infinite: it is pi/4.
  t = Select(large == 0.0, 0.0, t);
  Mask infinite = small == x.Infinity();
  t = Select(infinite, 0.0, t);
  upper = upper | infinite;
  Real z = t * t;
  Real tail = t * z * Polynomial(z, kAtanF32, kAtanF64);
  Real quarter_low = Select(upper, x.Constant(half_pi[1] * 0.5), x.Constant(0.0));
  Real quarter = Select(upper, x.Constant(half_pi[0] * 0.5), x.Constant(0.0));
  // The angle is base +- (quarter + t + tail) for a base of 0, pi/2 or pi.
  Mask left = x.AsInteger() < 0;
  Mask minus = steep ^ left;
  Real base = Select(steep, x.Constant(half_pi[0]), Select(left, x.Constant(2.0 * half_pi[0]), x.Constant(0.0)));
  Real base_low = Select(steep, x.Constant(half_pi[1]), Select(left, x.Constant(2.0 * half_pi[1]), x.Constant(0.0)));
  Real sign = Select(minus, x.Constant(-1.0), x.Constant(1.0));
  // Constants first: they are exact together.
  Real constant = MulAdd(quarter, sign, base);
  Real constant_low = MulAdd(quarter_low, sign, base_low);
  Real turned = sign * t, head = constant + turned;
  Real angle = head + ((turned - (head - constant)) + MulAdd(sign, tail, constant_low));
  Real plain = t + tail;
  angle = Select((constant == 0.0), plain, angle);
  angle = Select(x.IsNan() | y.IsNan(), x.Nan(), angle);
  return CopySign(angle, y);
}

}  // namespace kiln::kernel::math
