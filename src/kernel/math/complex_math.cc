#include "src/kernel/math/complex_math.h"

#include "src/kernel/math/exp_log.h"
#include "src/kernel/math/hyperbolic.h"
#include "src/kernel/math/inverse_trigonometric.h"
#include "src/kernel/math/trigonometric.h"

namespace kiln::kernel::math {
namespace {

using kernel::Select;
using kernel::Sqrt;

bool IsF32(Real x) { return x.bits() == 32; }
Mask IsInfinite(Real x) { return x.Abs() == x.Infinity(); }
Real Larger(Real a, Real b) { return Select(a > b, a, b); }
Real Smaller(Real a, Real b) { return Select(a > b, b, a); }

// A power of two near 1 / x and its inverse, both normal, for x >= 0.
struct PowerOfTwo {
  Real down, up;
  Real exponent;  // of `up`
};

PowerOfTwo ScaleOf(Real x) {
  const int64_t twice_bias = 2 * x.exponent_bias();
  Integer field = x.AsInteger().Shr(x.mantissa_bits());
  field = Select(field < 1, 1, Select(field > twice_bias - 1, twice_bias - 1, field));
  Real exponent = (field - x.exponent_bias()).SignedToReal(x.bits());
  return {(field.Constant(twice_bias) - field).Shl(x.mantissa_bits()).AsReal(), field.Shl(x.mantissa_bits()).AsReal(),
          exponent};
}

struct Sum {
  Real high, low;
};

Sum TwoSum(Real a, Real b) {
  Real sum = a + b;
  Real b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// (1 + p)^2 + n^2 - 1, accurate where it cancels.
Real SquareMinusOne(Real p, Real n) {
  Real p2 = p * p, n2 = n * n;
  Sum first = TwoSum(p * 2.0, n2);
  Sum second = TwoSum(first.high, p2);
  return second.high + (second.low + (first.low + (Fma(p, p, -p2) + Fma(n, n, -n2))));
}

// log|z| for |z| neither 0 nor infinite; `p` is the larger part's magnitude less 1.
Real LogAbs(Real large, Real small, Real p) {
  Real zero = large.Constant(0.0);
  PowerOfTwo scale = ScaleOf(large);
  Real a = large * scale.down, b = small * scale.down;
  Real far = LogPositive(MulAdd(a, a, b * b), scale.exponent * 2.0);
  Real near = Log1pPositive(SquareMinusOne(p, small), zero, zero);
  Mask is_near = (large > 0.5) & (MulAdd(large, large, small * small) < 2.0);
  return Select(is_near, near, far) * 0.5;
}

}  // namespace

Complex Multiply(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

Complex Divide(Complex a, Complex b) {
  PowerOfTwo scale = ScaleOf(Larger(b.re.Abs(), b.im.Abs()));
  Real c = b.re * scale.down, d = b.im * scale.down;
  Real norm = MulAdd(c, c, d * d);
  Complex quotient = {MulAdd(a.re, c, a.im * d) / norm * scale.down, MulAdd(a.im, c, -(a.re * d)) / norm * scale.down};
  // Both NaN: recover infinities and zeros.
  Mask lost = quotient.re.IsNan() & quotient.im.IsNan();
  Real infinity = c.Infinity();
  Mask zero_divisor = (b.re == 0.0) & (b.im == 0.0) & !(a.re.IsNan() & a.im.IsNan());
  Real signed_infinity = CopySign(infinity, b.re);
  Complex by_zero = {signed_infinity * a.re, signed_infinity * a.im};
  auto unit = [](Real x) { return CopySign(Select(IsInfinite(x), x.Constant(1.0), x.Constant(0.0)), x); };
  auto finite = [](Complex z) { return (z.re.Abs() < z.re.Infinity()) & (z.im.Abs() < z.im.Infinity()); };
  auto infinite = [](Complex z) { return IsInfinite(z.re) | IsInfinite(z.im); };
  Real ar = unit(a.re), ai = unit(a.im);
  Complex from_infinity = {infinity * (ar * b.re + ai * b.im), infinity * (ai * b.re - ar * b.im)};
  Real br = unit(b.re), bi = unit(b.im);
  Complex to_zero = {0.0 * (a.re * br + a.im * bi), 0.0 * (a.im * br - a.re * bi)};
  Complex recovered = Select(infinite(b) & finite(a), to_zero, quotient);
  recovered = Select(infinite(a) & finite(b), from_infinity, recovered);
  recovered = Select(zero_divisor, by_zero, recovered);
  return Select(lost, recovered, quotient);
}

Real Abs(Complex z) {
  Real a = z.re.Abs(), b = z.im.Abs();
  PowerOfTwo scale = ScaleOf(Larger(a, b));
  Real x = a * scale.down, y = b * scale.down;
  Real result = Sqrt(MulAdd(x, x, y * y)) * scale.up;
  return Select(IsInfinite(a) | IsInfinite(b), a.Infinity(), result);
}

Complex Sign(Complex z) {
  PowerOfTwo scale = ScaleOf(Larger(z.re.Abs(), z.im.Abs()));
  Complex scaled = {z.re * scale.down, z.im * scale.down};
  Real size = Abs(scaled);
  Mask zero = (z.re == 0.0) & (z.im == 0.0);
  return Select(zero, z, Complex{scaled.re / size, scaled.im / size});
}

Complex Exp(Complex z) {
  Real cosine = Cos(z.im), sine = Sin(z.im);
  Complex result = {ExpTimes(z.re, cosine), Select(z.im == 0.0, z.im, ExpTimes(z.re, sine))};
  // e^-infinity is 0 and e^infinity infinite whatever the angle is.
  Mask angle = z.im.Abs() < z.im.Infinity();
  Real infinity = z.re.Infinity();
  result.re = Select(!angle & (z.re == infinity), infinity, result.re);
  Mask vanishes = !angle & (z.re == -infinity);
  return {Select(vanishes, 0.0, result.re), Select(vanishes, 0.0, result.im)};
}

Complex Expm1(Complex z) {
  Real cosine = Cos(z.im), sine = Sin(z.im), half_sine = Sin(z.im * 0.5);
  Real re = MulAdd(Expm1(z.re), cosine, half_sine * half_sine * -2.0);
  // Where e^x would overflow by itself, 1 does not matter.
  re = Select(z.re > (IsF32(re) ? 80.0 : 700.0), ExpTimes(z.re, cosine), re);
  return {re, Select(z.im == 0.0, z.im, ExpTimes(z.re, sine))};
}

Complex Log(Complex z) {
  Real a = z.re.Abs(), b = z.im.Abs();
  Real large = Larger(a, b);
  Real re = LogAbs(large, Smaller(a, b), large - 1.0);
  re = Select(large == 0.0, -re.Infinity(), re);
  re = Select(a.IsNan() | b.IsNan(), re.Nan(), re);
  re = Select(IsInfinite(a) | IsInfinite(b), re.Infinity(), re);
  return {re, Atan2(z.im, z.re)};
}

Complex Log1p(Complex z) {
  Real x = z.re + 1.0;
  Complex far = Log({x, z.im});
  // Near 0 the sum with 1 would lose z.
  Real near = Log1pPositive(SquareMinusOne(z.re, z.im), x.Constant(0.0), x.Constant(0.0)) * 0.5;
  Mask is_near = (z.re.Abs() < 0.5) & (z.im.Abs() < 0.5);
  return {Select(is_near, near, far.re), far.im};
}

Complex Sqrt(Complex z) {
  const bool f32 = IsF32(z.re);
  Real large = Larger(z.re.Abs(), z.im.Abs());
  Mask huge = large > (f32 ? 0x1p126 : 0x1p1022);
  Mask tiny = large < (f32 ? 0x1p-100 : 0x1p-960);
  auto pick = [&](double h, double t) {
    return Select(huge, large.Constant(h), Select(tiny, large.Constant(t), large.Constant(1.0)));
  };
  Real scale = pick(0x1p-4, f32 ? 0x1p60 : 0x1p200), unscale = pick(0x1p2, f32 ? 0x1p-30 : 0x1p-100);
  Complex s = {z.re * scale, z.im * scale};
  Real t = Sqrt((s.re.Abs() + Abs(s)) * 0.5);
  Real other = s.im.Abs() / (t * 2.0);
  Mask right = s.re >= 0.0;
  Complex result = {Select(right, t, other) * unscale, CopySign(Select(right, other, t), z.im) * unscale};
  Mask zero = (z.re == 0.0) & (z.im == 0.0);
  result = {Select(zero, 0.0, result.re), Select(zero, z.im, result.im)};
  // An infinite imaginary part wins over anything; an infinite real part alone decides the direction.
  Mask real_infinite = IsInfinite(z.re);
  Complex at_infinity = {Select(z.re > 0.0, z.re, Select(z.im.IsNan(), z.im, z.im.Constant(0.0))),
                         Select(z.re > 0.0, Select(z.im.IsNan(), z.im, CopySign(z.im.Constant(0.0), z.im)),
                                CopySign(z.re.Infinity(), z.im))};
  result = Select(real_infinite, at_infinity, result);
  return Select(IsInfinite(z.im), Complex{z.re.Infinity(), z.im}, result);
}

Complex Rsqrt(Complex z) { return Divide({z.re.Constant(1.0), z.re.Constant(0.0)}, Sqrt(z)); }

Complex Cbrt(Complex z) {
  Complex root = Exp(Log(z) * (1.0 / 3.0));
  return Select((z.re == 0.0) & (z.im == 0.0), z, root);
}

Complex Sin(Complex z) {
  Real re = Sin(z.re) * Cosh(z.im), im = Cos(z.re) * Sinh(z.im);
  return {Select(z.re == 0.0, z.re, re), Select(z.im == 0.0, z.im, im)};
}

Complex Cos(Complex z) {
  Real im = -(Sin(z.re) * Sinh(z.im));
  Mask on_axis = (z.re == 0.0) | (z.im == 0.0);
  return {Cos(z.re) * Cosh(z.im), Select(on_axis, z.re.Constant(0.0), im)};
}

// i f(-i z) and its relatives: sinh(z) = -i sin(iz), cosh(z) = cos(iz), tan(z) = -i tanh(iz).
Complex Sinh(Complex z) {
  Complex s = Sin({-z.im, z.re});
  return {s.im, -s.re};
}

Complex Cosh(Complex z) { return Cos({-z.im, z.re}); }

Complex Tan(Complex z) {
  Complex t = Tanh({-z.im, z.re});
  return {t.im, -t.re};
}

Complex Tanh(Complex z) {
  const bool f32 = IsF32(z.re);
  // With t = tan(y), s = sinh(x), c = 1 + t^2 and d = 1 + c s^2: (c s sqrt(1 + s^2) + i t) / d.
  Real magnitude = z.re.Abs();
  Real s = Sinh(AtMost(magnitude, f32 ? 12.0 : 24.0));
  Real t = Tan(z.im);
  Real c = MulAdd(t, t, 1.0);
  Real s2 = s * s;
  Real divisor = MulAdd(c, s2, z.re.Constant(1.0));
  Real re = c * s * Sqrt(s2 + 1.0) / divisor;
  Real im = t / divisor;
  // Far from the imaginary axis: 1 + 4 i sin(y) cos(y) e^-2x.
  Mask far = magnitude > (f32 ? 11.0 : 22.0);
  Real far_im = ExpTimes(magnitude * -2.0, Sin(z.im) * Cos(z.im) * 4.0);
  Mask angle = z.im.Abs() < z.im.Infinity();
  far_im = Select(!angle & IsInfinite(magnitude), CopySign(z.im.Constant(0.0), z.im), far_im);
  re = Select(far, 1.0, re);
  im = Select(far, far_im, im);
  return {CopySign(re, z.re), Select(z.im == 0.0, z.im, im)};
}

// The inverse functions after Kahan: real functions of sqrt(1 - z) and sqrt(1 + z), which keep signed zeros and both
// sides of the branch cuts.
Complex Asin(Complex z) {
  Complex below = Sqrt({1.0 - z.re, -z.im}), above = Sqrt({z.re + 1.0, z.im});
  return {Atan2(z.re, below.re * above.re - below.im * above.im), Asinh(below.re * above.im - below.im * above.re)};
}

Complex Acos(Complex z) {
  Complex below = Sqrt({1.0 - z.re, -z.im}), above = Sqrt({z.re + 1.0, z.im});
  return {Atan2(below.re, above.re) * 2.0, Asinh(above.re * below.im - above.im * below.re)};
}

Complex Asinh(Complex z) {
  // -i asin(i z)
  Complex s = Asin({-z.im, z.re});
  return {s.im, -s.re};
}

Complex Acosh(Complex z) {
  Complex below = Sqrt({z.re - 1.0, z.im}), above = Sqrt({z.re + 1.0, z.im});
  return {Asinh(below.re * above.re + below.im * above.im), Atan2(below.im, above.re) * 2.0};
}

Complex Atanh(Complex z) {
  // Odd in the real part: for negative ones the logarithm's argument would come near -1.
  Real x = z.re.Abs(), y2 = z.im * z.im;
  Real left = 1.0 - x;
  Real re = Log1p(x * 4.0 / MulAdd(left, left, y2)) * 0.25;
  Real im = Atan2(z.im * 2.0, left * (x + 1.0) - y2) * 0.5;
  return {CopySign(re, z.re), im};
}

Complex Logistic(Complex z) {
  // e^(z/2) / (2 cosh(z/2)) over e^|x/2|: accurate at the poles, where 1 + e^-z would cancel, and free of overflow.
  Real decay = -z.re.Abs();
  Real q = Exp(decay);
  Real cosine = Cos(z.im * 0.5), sine = Sin(z.im * 0.5);
  Real factor = Select(z.re < 0.0, q, 1.0);
  return Divide({factor * cosine, factor * sine}, {(q + 1.0) * cosine, CopySign(Expm1(decay), z.re) * sine});
}

Complex Pow(Complex z, Complex w) {
  Complex result = Exp(Multiply(w, Log(z)));
  Complex one = {z.re.Constant(1.0), z.re.Constant(0.0)}, zero = {one.im, one.im};
  Mask base_zero = (z.re == 0.0) & (z.im == 0.0);
  result = Select(base_zero & (w.re > 0.0), zero, result);
  return Select((w.re == 0.0) & (w.im == 0.0), one, result);
}

Complex Atan2(Complex y, Complex x) {
  Complex square = Multiply(x, x) + Multiply(y, y);
  Complex direction = Divide({x.re - y.im, x.im + y.re}, Sqrt(square));
  Complex log = Log(direction);
  return {log.im, -log.re};
}

}  // namespace kiln::kernel::math
