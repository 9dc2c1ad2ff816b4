#include "src/kernel/math/complex_math.h"

#include "src/kernel/math/coefficients.h"
#include "src/kernel/math/pair.h"
#include "src/kernel/math/real_math.h"

namespace kiln::kernel::math {
namespace {

using kernel::Select;
using kernel::Sqrt;

Mask IsInfinite(Real x) { return x.Abs() == x.Infinity(); }
Real Larger(Real a, Real b) { return Select(a > b, a, b); }
Real Smaller(Real a, Real b) { return Select(a > b, b, a); }

// A power of two near 1 / x and its inverse, both normal, for x >= 0.
struct PowerOfTwo {
  Real down, up;
  Real exponent;  // of `up`
};

PowerOfTwo ScaleOf(Real x) {
  const int64_t one = int64_t{1} << x.mantissa_bits(), twice_bias = 2 * x.exponent_bias();
  // Brought into range before it loses its fraction, where each bound is one instruction.
  Integer bits = x.AsInteger();
  bits = Select(bits < one, one, bits);
  bits = Select(bits > (twice_bias - 1) * one, (twice_bias - 1) * one, bits);
  Integer up = bits & (twice_bias + 1) * one;
  Real exponent = (up.Shr(x.mantissa_bits()) - x.exponent_bias()).SignedToReal(x.bits());
  return {(up.Constant(twice_bias * one) - up).AsReal(), up.AsReal(), exponent};
}

// (1 + p)^2 + n^2 - 1, accurate where it cancels.
Real SquareMinusOne(Real p, Real n) {
  Real p2 = p * p, n2 = n * n;
  Pair first = TwoSum(p * 2.0, n2);
  Pair second = TwoSum(first.high, p2);
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

namespace {

// x a + y b without cancellation of what rounding left.
Real SumOfProducts(Real x, Real a, Real y, Real b) {
  Real product = y * b, rounding = Fma(y, b, -product), sum = Fma(x, a, product);
  // An infinite product has no rounding error. Adding an error of 0 would make a sum of -0 one of 0.
  return Select(rounding.IsNan() | (rounding == 0.0), sum, sum + rounding);
}

// x * 2^exponent, rounded once, for x near 1; the exponent is an integer of up to twice the format's range.
Real Scale(Real x, Real exponent) {
  Real half = Floor(exponent * 0.5);
  auto power = [&](Real e) {
    // An integer lands in the lowest bits of a large number.
    const double rounder = (x.bits() == 32 ? 0x1.8p23 : 0x1.8p52) + x.exponent_bias();
    return (e + rounder).AsInteger().Shl(x.mantissa_bits()).AsReal();
  };
  return x * power(half) * power(exponent - half);
}

}  // namespace

Complex Divide(Complex a, Complex b) {
  PowerOfTwo scale = ScaleOf(Larger(b.re.Abs(), b.im.Abs())), numerator = ScaleOf(Larger(a.re.Abs(), a.im.Abs()));
  Real c = b.re * scale.down, d = b.im * scale.down;
  Real norm = MulAdd(c, c, d * d);
  Real x = a.re * numerator.down, y = a.im * numerator.down;
  Real exponent = numerator.exponent - scale.exponent;
  Complex quotient = {Scale(SumOfProducts(x, c, y, d) / norm, exponent),
                      Scale(SumOfProducts(y, c, -x, d) / norm, exponent)};
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

Complex Exp2(Complex z) { return Exp(z * kLn2FullF64[0]); }

Complex Expm1(Complex z) {
  Real cosine = Cos(z.im), sine = Sin(z.im), half_sine = Sin(z.im * 0.5);
  Real re = MulAdd(Expm1(z.re), cosine, half_sine * half_sine * -2.0);
  // Where e^x would overflow by itself, 1 does not matter.
  re = Select(z.re > (IsF32(re) ? 80.0 : 700.0), ExpTimes(z.re, cosine), re);
  Complex result = {re, Select(z.im == 0.0, z.im, ExpTimes(z.re, sine))};
  // e^-infinity is 0 whatever the angle is.
  Mask vanishes = (z.re == -re.Infinity()) & !(z.im.Abs() < re.Infinity());
  return {Select(vanishes, -1.0, result.re), Select(vanishes, 0.0, result.im)};
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

Complex Log2(Complex z) { return Log(z) * kLog2EF64[0]; }

Complex Log1p(Complex z) {
  Complex far = Log({z.re + 1.0, z.im});
  // Where |1 + z| is not small and not large, the sum with 1 would lose what the logarithm needs.
  Real square = SquareMinusOne(z.re, z.im), zero = square.Constant(0.0);
  Mask is_near = (z.re.Abs() < 1.5) & (z.im.Abs() < 1.5) & (square > -0.5);
  return {Select(is_near, Log1pPositive(square, zero, zero) * 0.5, far.re), far.im};
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

namespace {

// What is asked of the real and imaginary parts of sin and cos: f(x) cosh(y) and g(x) sinh(y), overflowing only where
// the products do. With infinite y, which NaN of f(x) or g(x) does not hide, the first is infinite for cos, the second
// for sin.
Complex TimesHyperbolic(Real f, Real g, Real y) {
  Real size = y.Abs();
  Mask far = size > (IsF32(y) ? 40.0 : 300.0);
  Real signed_g = CopySign(g, g * CopySign(g.Constant(1.0), y));
  return {Select(far, ExpTimes(size, f, -1), f * Cosh(y)), Select(far, ExpTimes(size, signed_g, -1), g * Sinh(y))};
}

}  // namespace

Complex Sin(Complex z) {
  Complex r = TimesHyperbolic(Sin(z.re), Cos(z.re), z.im);
  Mask no_angle = !(z.re.Abs() < z.re.Infinity());
  r.im = Select(no_angle & ((z.im == 0.0) | IsInfinite(z.im)), z.im, r.im);
  return {Select(z.re == 0.0, z.re, r.re), r.im};
}

Complex Cos(Complex z) {
  Complex r = TimesHyperbolic(Cos(z.re), -Sin(z.re), z.im);
  r.re = Select(!(z.re.Abs() < z.re.Infinity()) & IsInfinite(z.im), z.im.Abs(), r.re);
  // 0 times infinity or NaN.
  Real zero = CopySign(z.re.Constant(1.0), z.re) * CopySign(z.re.Constant(1.0), z.im) * -0.0;
  return {r.re, Select(((z.re == 0.0) | (z.im == 0.0)) & r.im.IsNan(), zero, r.im)};
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
  re = Select(far & (angle | IsInfinite(magnitude)), 1.0, re);
  re = Select(magnitude == 0.0, 0.0, re);
  im = Select(far, far_im, im);
  return {CopySign(re, z.re), Select(z.im == 0.0, z.im, im)};
}

// The inverse functions after Kahan: real functions of sqrt(1 - z) and sqrt(1 + z), which keep signed zeros and both
// sides of the branch cuts.
// Far from 0 they are logarithms, and next to it z itself.
namespace {

Mask IsFar(Complex z, double bound) { return (z.re.Abs() > bound) | (z.im.Abs() > bound); }
Mask IsNear(Complex z) { return (z.re.Abs() < 0x1p-28) & (z.im.Abs() < 0x1p-28); }
Real LogOfTwice(Complex z) { return Log(z).re + kLn2FullF64[0]; }

}  // namespace

Complex Asin(Complex z) {
  Complex below = Sqrt({1.0 - z.re, -z.im}), above = Sqrt({z.re + 1.0, z.im});
  Complex r = {Atan2(z.re, below.re * above.re - below.im * above.im),
               Asinh(below.re * above.im - below.im * above.re)};
  r = Select(IsNear(z), z, r);
  r = Select(IsFar(z, 0x1p30), Complex{Atan2(z.re, z.im.Abs()), CopySign(LogOfTwice(z), z.im)}, r);
  return {Select(z.re == 0.0, z.re, r.re), r.im};
}

Complex Acos(Complex z) {
  Complex below = Sqrt({1.0 - z.re, -z.im}), above = Sqrt({z.re + 1.0, z.im});
  Complex r = {Atan2(below.re, above.re) * 2.0, Asinh(above.re * below.im - above.im * below.re)};
  const double half_pi = IsF32(z.re) ? kHalfPiF32[0] : kHalfPiF64[0];
  r = Select(IsNear(z), Complex{half_pi - z.re, -z.im}, r);
  r = Select(IsFar(z, 0x1p30), Complex{Atan2(z.im.Abs(), z.re), CopySign(LogOfTwice(z), -z.im)}, r);
  return {Select((z.re == 0.0) & z.im.IsNan(), half_pi, r.re), r.im};
}

Complex Asinh(Complex z) {
  // -i asin(i z)
  Complex s = Asin({-z.im, z.re});
  return {s.im, -s.re};
}

Complex Acosh(Complex z) {
  // i acos(z) or -i acos(z), whichever is to the right.
  Complex s = Acos(z);
  return {s.im.Abs(), CopySign(s.re, z.im)};
}

Complex Atanh(Complex z) {
  // Odd in the real part: for negative ones the logarithm's argument would come near -1.
  Real x = z.re.Abs(), y = z.im.Abs(), y2 = y * y;
  Real left = 1.0 - x;
  Real re = Log1p(x * 4.0 / MulAdd(left, left, y2)) * 0.25;
  Real im = Atan2(z.im * 2.0, left * (x + 1.0) - y2) * 0.5;
  // At 1 the squares underflow: log|1 + z| - log|1 - z|.
  Real distance = Larger(left.Abs(), y);
  Real pole = (left * -0.5 + kLn2FullF64[0] - LogAbs(distance, Smaller(left.Abs(), y), distance)) * 0.5;
  Mask at_pole = (left == 0.0) & (y == 0.0);
  re = Select((left.Abs() < 0x1p-40) & (y < 0x1p-40), Select(at_pole, x.Infinity(), pole), re);
  // Far away they overflow: 1 / z and a right angle.
  Mask far = IsFar(z, 0x1p54);
  Real inverse = Divide({x.Constant(1.0), x.Constant(0.0)}, z).re;
  re = Select(far, Select(IsInfinite(x) | IsInfinite(y), 0.0, inverse), re);
  Real right = CopySign(x.Constant(IsF32(x) ? kHalfPiF32[0] : kHalfPiF64[0]), z.im);
  im = Select(far & !z.im.IsNan() & (!x.IsNan() | IsInfinite(y)), right, Select(far, x.Nan(), im));
  return {CopySign(Select(x == 0.0, 0.0, re), z.re), im};
}

Complex Logistic(Complex z) {
  // With q = e^-|x|, m = 1 - q and h = cos(y / 2), 1 + q e^iy has the square m^2 + 4 q h^2, in which nothing cancels.
  Real decay = -z.re.Abs();
  Real q = Exp(decay), m = -Expm1(decay);
  Real h = Cos(z.im * 0.5), sine = Sin(z.im * 0.5);
  Real twice = q * 2.0 * h;
  Real inverse = 1.0 / MulAdd(twice * 2.0, h, m * m);
  Mask left = z.re < 0.0;
  Real cosine = Cos(z.im);
  Real sum = Select(cosine < -0.5, MulAdd(h * 2.0, h, -m), cosine + q);  // of q and the cosine
  Real re = Select(left, q * sum, MulAdd(twice, h, m)) * inverse;
  Real im = twice * sine * inverse;
  // Nothing is left of q: whatever the angle is.
  Mask gone = q == 0.0;
  return {Select(gone, Select(left, z.re.Constant(0.0), z.re.Constant(1.0)), re),
          Select(gone, CopySign(z.re.Constant(0.0), z.im), im)};
}

Complex Atan2(Complex y_narrow, Complex x_narrow) {
  // The difference of squares needs more than single precision has.
  const Complex y_given = To(y_narrow, 64), x_given = To(x_narrow, 64);
  Real largest = Larger(Larger(x_given.re.Abs(), x_given.im.Abs()), Larger(y_given.re.Abs(), y_given.im.Abs()));
  PowerOfTwo scale = ScaleOf(largest);
  Complex x = {x_given.re * scale.down, x_given.im * scale.down},
          y = {y_given.re * scale.down, y_given.im * scale.down};
  // With p = x + iy and q = x - iy the result is -i/2 log(p / q), up to half a turn. Nothing cancels in p and q that
  // matters; what would cancel in |p|^2 - |q|^2 and in p times the conjugate of q is written out.
  Complex p = {x.re - y.im, x.im + y.re}, q = {x.re + y.im, x.im - y.re};
  Real half = Atan2(SumOfProducts(x.re, y.re, x.im, y.im) * 2.0, SumOfProducts(p.re, q.re, p.im, q.im)) * 0.5;
  Real difference = SumOfProducts(x.im, y.re, -x.re, y.im) * 4.0, zero = half.Constant(0.0);
  Mask p_larger = difference > 0.0;
  Complex smaller = Select(p_larger, q, p);
  Real ratio = difference.Abs() / MulAdd(smaller.re, smaller.re, smaller.im * smaller.im);
  Real im = Select(ratio < ratio.Infinity(), Log1pPositive(ratio, zero, zero), ratio) * 0.25;
  // Whether half a turn is missing says the direction itself, p / sqrt(x^2 + y^2); to which side, the rest.
  Complex square = {SumOfProducts(x.re, x.re, -x.im, x.im) + SumOfProducts(y.re, y.re, -y.im, y.im),
                    SumOfProducts(x.re, x.im, y.re, y.im) * 2.0};
  Complex direction = Divide(p, Sqrt(square));
  Real turn = Atan2(direction.im, direction.re) - half;
  const double pi = 2 * kHalfPiF64[0];
  Real opposite = half - CopySign(half.Constant(pi), Select(half == 0.0, -turn, half));
  Real re = Select(turn.Abs() > pi / 2, opposite, half);
  return To({Select(turn.IsNan(), turn, re), CopySign(im, -difference)}, y_narrow.re.bits());
}

}  // namespace kiln::kernel::math
