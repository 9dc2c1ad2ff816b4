#include <cmath>
#include <vector>

#include "src/kernel/math/coefficients.h"
#include "src/kernel/math/real_math.h"
#include "src/kernel/math/scale.h"

namespace kiln::kernel::math {
namespace {

// Adding this rounds to an integer and leaves it in the lowest bits of the sum.
double Rounder(Real x) { return IsF32(x) ? 0x1.8p23 : 0x1.8p52; }

// x = n ln 2 + r with |r| <= ln 2 / 2: `rounded` holds n + offset in its lowest bits; e^r = 1 + r + r^2 q / unit.
struct ExpReduction {
  Integer rounded;
  Real n, r, q;
  double unit;

  // For a unit of 1.
  Real Tail() const { return r * r * q; }
  // unit * e^r
  Real Significand() const { return MulAdd(r, MulAdd(r, q, unit), unit); }
};

struct ExpReductionOptions {
  int offset = 0;
  double unit = 1;
  bool negates_rest = false;  // x = n ln 2 - r
  // With an n of a few bits: of f32, ln 2 is one number then, whose error counts for little.
  bool has_small_n = false;
};

std::vector<double> Times(absl::Span<const double> coefficients, double unit) {
  std::vector<double> products(coefficients.begin(), coefficients.end());
  for (double& c : products) c *= unit;
  return products;
}

// Of x + low.
ExpReduction ReduceExp(Real x, const ExpReductionOptions& options, const Real* low = nullptr) {
  const bool f32 = IsF32(x);
  const double rounder = Rounder(x) + options.offset, sign = options.negates_rest ? -1 : 1;
  Real z = MulAdd(x, f32 ? kLog2EF32[0] : kLog2EF64[0], x.Constant(rounder));
  Real n = z - rounder;
  const bool in_one = f32 && options.has_small_n;
  Real r = MulAdd(n, -sign * (in_one ? kLn2FullF32[0] : f32 ? kLn2F32[0] : kLn2F64[0]), options.negates_rest ? -x : x);
  if (!in_one) r = MulAdd(n, -sign * (f32 ? kLn2F32[1] : kLn2F64[1]), r);
  if (low != nullptr) r = r + *low;
  Real q = Polynomial(r, Times(kExpF32, options.unit), Times(kExpF64, options.unit));
  return {z.AsInteger(), n, r, q, options.unit};
}

// The significand for ScaleInTwo(), but 0 for an n beyond its reach, where 2^n is zero even if 256 times as large.
Real InReach(Real significand, Real n) {
  return HasScaling(n.builder()) ? significand : Select(n < (IsF32(n) ? -160.0 : -1090.0), 0.0, significand);
}

}  // namespace

Real ExpShifted(Real x, int shift) {
  const bool f32 = IsF32(x);
  // Past these the result is infinity or 0 anyway, and n stays within what two scalings reach.
  Real clamped = AtLeast(AtMost(x, f32 ? 89.0 - shift : 711.0), f32 ? -105.0 : -747.0);
  ExpReduction e = ReduceExp(clamped, {.offset = ScaleOffset(x) + shift, .unit = ScaleUnit(x)});
  return Scale(e.Significand(), shift == 0 ? e.n : e.n + shift, e.rounded);
}

Real Exp(Real x) { return ExpShifted(x, 0); }

Real ExpTimes(Real x, Real factor, int shift) {
  const bool f32 = IsF32(x);
  // A tiny factor takes some of the exponent first: it may be subnormal, and the product finite for large x.
  const int lift = f32 ? 64 : 128;
  Mask tiny = factor.Abs() < (f32 ? 0x1p-100 : 0x1p-900);
  Real lifted = Select(tiny, factor * std::ldexp(1.0, lift), factor);
  Real most = Select(tiny, x.Constant(f32 ? 200.0 : 1460.0), x.Constant(f32 ? 170.0 : 1400.0));
  Real least = Select(tiny, x.Constant(f32 ? -120.0 : -1300.0), x.Constant(f32 ? -170.0 : -1400.0));
  Real clamped = Select(x > most, most, Select(x < least, least, x));
  ExpReduction e = ReduceExp(clamped, {.offset = 2 * x.exponent_bias() + shift});
  Integer exponent = e.rounded - Select(tiny, e.rounded.Constant(lift), e.rounded.Constant(0));
  Real n = e.n + Select(tiny, x.Constant(shift - lift), x.Constant(shift));
  return ScaleInTwo(InReach(e.Significand(), e.n) * lifted, n, exponent);
}

Real ExpTimes(Real x, Real low, Real factor, Real factor_low) {
  ExpReduction e = ReduceExp(AtLeast(x, IsF32(x) ? -170.0 : -1400.0), {.offset = 2 * x.exponent_bias()}, &low);
  Real em1 = e.r + e.Tail();
  Real significand = factor + (MulAdd(factor, em1, factor_low) + factor_low * em1);
  return ScaleInTwo(InReach(significand, e.n), e.n, e.rounded);
}

Real ExpBounded(Real x) {
  ExpReduction e = ReduceExp(x, {.offset = x.exponent_bias()});
  if (HasScaling(x.builder())) return ScaleByInstruction(e.Significand(), e.n);
  return e.Significand() * e.rounded.Shl(x.mantissa_bits()).AsReal();
}

Real ExpFlushed(Real x, bool may_be_large) {
  const VectorBuilder& b = x.builder();
  if (HasScaling(b) && !may_be_large) {
    ExpReduction e = ReduceExp(AtLeast(x, IsF32(x) ? -105.0 : -747.0), {});
    return ScaleByInstruction(e.Significand(), e.n);
  }
  if (!IsF32(x) || !b.flushes_subnormals || b.target != Target::kCpu || HasScaling(b)) return Exp(x);
  // At the least x the bits of the power are those of zero. The largest power is infinite, and half of it is not.
  const int halved = may_be_large ? 1 : 0;
  Real clamped = AtLeast(may_be_large ? AtMost(x, 89.0) : x, may_be_large ? -87.3 : -88.0);
  ExpReduction e = ReduceExp(clamped, {.offset = x.exponent_bias() - halved, .unit = std::ldexp(1.0, halved)});
  return e.Significand() * e.rounded.Shl(x.mantissa_bits()).AsReal();
}

Real TanhOfHalf(Real x) {
  ExpReduction e = ReduceExp(x, {.offset = x.exponent_bias(), .has_small_n = true});
  Real power = e.rounded.Shl(x.mantissa_bits()).AsReal();
  // Of f64 the remainder's larger part is exact, and e^r - 1 rounded once.
  Real em1 =
      IsF32(x) ? MulAdd(e.r * e.r, e.q, e.r) : MulAdd(e.r * e.r, e.q, e.n * -kLn2F64[1]) + MulAdd(e.n, -kLn2F64[0], x);
  // Dividend and divisor apart are rounded once each: from one to the other errors would add.
  return MulAdd(em1, power, power - 1.0) / MulAdd(em1, power, power + 1.0);
}

// Past these bounds a half is infinity or 0.
Real ExpOfHalf(Real x) { return ExpBounded(AtLeast(AtMost(x, 12.0), -18.0)); }

Real LogisticOfHalf(Real x) { return 1.0 / (ExpBounded(-AtLeast(AtMost(x, 18.0), -18.0)) + 1.0); }

Real Exp2(Real x) {
  const bool f32 = IsF32(x);
  Real clamped = AtLeast(AtMost(x, f32 ? 128.0 : 1025.0), f32 ? -151.0 : -1076.0);
  const double rounder = Rounder(x) + ScaleOffset(x);
  Real z = clamped + rounder;
  Real n = z - rounder;
  Real r = clamped - n;
  const double unit = ScaleUnit(x);
  Real q = Polynomial(r, Times(kExp2F32, unit), Times(kExp2F64, unit));
  Real significand = MulAdd(r, unit * (f32 ? kLn2FullF32[0] : kLn2FullF64[0]), r * r * q) + unit;
  return Scale(significand, n, z.AsInteger());
}

Real Expm1(Real x) {
  const bool f32 = IsF32(x);
  Real clamped = AtLeast(AtMost(x, f32 ? 89.0 : 710.0), f32 ? -20.0 : -40.0);
  // Half of 2^n, which is finite for the largest n.
  ExpReduction e = ReduceExp(clamped, {.offset = x.exponent_bias() - 1});
  Real half_scale = e.rounded.Shl(x.mantissa_bits()).AsReal();
  Real tail = e.Tail();
  Real em1 = e.r + tail;
  // What the sum lost: for n = 1 half of its size cancels.
  Real lost = tail - (em1 - e.r);
  Real scaled = (MulAdd(em1, half_scale, half_scale - 0.5) + lost * half_scale) * 2.0;
  return CopySign(Select(e.n == 0.0, em1, scaled), x);
}

Real Logistic(Real x) {
  const bool f32 = IsF32(x);
  // Past the bounds the result is 1 or 0.
  Real clamped = AtLeast(AtMost(x, f32 ? 20.0 : 40.0), f32 ? -105.0 : -747.0);
  if (HasScaling(x.builder())) {
    // With x = n ln 2 - r it is 2^n / (2^n + e^r).
    ExpReduction e = ReduceExp(clamped, {.negates_rest = true});
    Real power = ScaleByInstruction(clamped.Constant(1.0), e.n);
    Real rest = e.r + e.Tail();  // of e^r, beside 1
    // 2^n + 1 is exact unless n is so small that their sum loses bits, and so large that they do not matter.
    Mask small = e.n < -20.0;
    Real divisor = Select(small, x.Constant(1.0), power + 1.0) + Select(small, rest + power, rest);
    return ScaleByInstruction(1.0 / divisor, e.n);
  }
  // Dividend and divisor are so much smaller than 1 and 1 + e^-x that the divisor stays finite where the quotient is
  // subnormal.
  const int shift = f32 ? 30 : 60;
  const double unit = std::ldexp(1.0, -shift);
  ExpReduction e = ReduceExp(-clamped, {.offset = x.exponent_bias() - shift});
  Real power = e.rounded.Shl(x.mantissa_bits()).AsReal();
  // What would be less than half of the smallest number is zero at once (scale.h).
  Real dividend = Select(x < (f32 ? -104.0 : -745.2), 0.0, x.Constant(unit));
  // The power last: a 1 beside it would be lost where it is large.
  return dividend / (MulAdd(e.r + e.Tail(), power, x.Constant(unit)) + power);
}

namespace {

// x = 2^e (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).
struct LogReduction {
  Integer exponent;
  Real e, f;
};

// The exponent counts `shift` more.
LogReduction ReduceLog(Real x, Real shift) {
  const int m = x.mantissa_bits();
  const int64_t root_half = IsF32(x) ? 0x3f3504f3 : 0x3fe6a09e667f3bcd;
  Integer shifted = x.AsInteger() - root_half;
  Integer exponent = shifted.Sar(m);
  Integer mantissa = (shifted & ((int64_t{1} << m) - 1)) + root_half;
  // A small integer becomes a float by landing in the lowest bits of one.
  const Real rounder = x.Constant(Rounder(x));
  Real e = (exponent + rounder.AsInteger()).AsReal() - (rounder - shift);
  return {exponent, e, mantissa.AsReal() - 1.0};
}

// log(1 + f) - f
Real LogTail(Real f) {
  if (IsF32(f)) return f * f * MulAdd(f, Polynomial(f, kLogF32), -0.5);
  // With s = f / (2 + f): log(1+f) = 2 atanh(s), and 2s = f - s f = f - f^2/2 + s f^2/2.
  Real s = f / (f + 2.0);
  Real w = s * s;
  Real series = w * Polynomial(w, kLogF64);
  Real half_square = f * f * 0.5;
  return s * (half_square + series) - half_square;
}

// e log(2) + log(1 + f); `g` is f, or 0 where squares of f count for nothing.
Real LogOf(Real e, Real f, Real g) {
  const bool f32 = IsF32(f);
  if (f32 && (f.builder().target != Target::kCpu || HasFma())) {
    // What is multiplied and added at once keeps the product: log(2) in f32 is off by a twentieth of a unit, and what
    // is rounded before is no larger than the result.
    return Fma(e, kLn2FullF32[0], Fma(g * g, MulAdd(g, Polynomial(g, kLogF32), -0.5), f));
  }
  const Real low = MulAdd(e, f32 ? kLn2F32[1] : kLn2F64[1], LogTail(g));
  return MulAdd(e, f32 ? kLn2F32[0] : kLn2F64[0], f + low);
}

// Brings subnormals into the normal range; `shift` is the exponent to add.
struct Scaled {
  Real x, shift;
};

Scaled ScaleSubnormal(Real x) {
  const bool f32 = IsF32(x);
  const double shift = f32 ? 25 : 54;
  Mask tiny = x < (f32 ? 0x1p-126 : 0x1p-1022);
  return {Select(tiny, x * std::ldexp(1.0, static_cast<int>(shift)), x),
          Select(tiny, x.Constant(-shift), x.Constant(0.0))};
}

// Results of log at 0 (-infinity), below (NaN), at infinity and NaN (themselves); `x` is what 1 was added to or not.
Real LogSpecials(Real x, double zero_at, Real result) {
  result = Select(x.Compare(llvm::CmpInst::FCMP_UGE, x.Infinity()), x, result);
  const auto at_zero = [&](Real other) { return Select(x == zero_at, -x.Infinity(), other); };
  // Below 0 is what has a sign, which chooses without a comparison, -0 and NaN as well.
  if (zero_at == 0) return at_zero(Select(x.AsInteger() < 0, x.Nan(), result));
  return Select(x < zero_at, x.Nan(), at_zero(result));
}

}  // namespace

Real LogPositive(Real x, Real shift) {
  LogReduction reduced = ReduceLog(x, shift);
  return LogOf(reduced.e, reduced.f, reduced.f);
}

Real Log(Real x) {
  Scaled scaled = ScaleSubnormal(x);
  return LogSpecials(x, 0.0, LogPositive(scaled.x, scaled.shift));
}

Real Log2(Real x) {
  const bool f32 = IsF32(x);
  Scaled scaled = ScaleSubnormal(x);
  LogReduction reduced = ReduceLog(scaled.x, scaled.shift);
  const double high = f32 ? kLog2EF32[0] : kLog2EF64[0];
  const double low = f32 ? kLog2EF32[1] : kLog2EF64[1];
  Real tail = MulAdd(reduced.f, low, LogTail(reduced.f) * high);
  return LogSpecials(x, 0.0, MulAdd(reduced.f, high, tail) + reduced.e);
}

Real Log1pPositive(Real x, Real low, Real shift) {
  Real u = x + 1.0;
  // What rounding lost of 1 + x + low.
  Real one = u - x;
  Real lost = (1.0 - one) + (x - (u - one)) + low;
  LogReduction reduced = ReduceLog(u, shift);
  Real unscale = (reduced.exponent.Constant(x.exponent_bias()) - reduced.exponent).Shl(x.mantissa_bits()).AsReal();
  // For large exponents it does not matter, and the scale may be out of range.
  Real correction = Select(reduced.exponent > 64, 0.0, lost * unscale);
  Real f = reduced.f + correction;
  return LogOf(reduced.e, f, f);
}

Real Log1p(Real x) {
  // There the square is lost next to x, and subnormal sooner or later.
  Mask tiny = x.Abs() < 0x1p-60;
  Real result = Log1pPositive(Select(tiny, 0.0, x), x.Constant(0.0), x.Constant(0.0));
  return Select(tiny, x, LogSpecials(x, -1.0, result));
}

Real Log1pOfUnit(Real x) {
  // Half of 1 + x, and that less 1, are exact.
  Mask above = x > 0x1.a8279ap-2;
  Real e = Select(above, x.Constant(1.0), x.Constant(0.0));
  Real f = Select(above, x * 0.5 - 0.5, x);
  return LogOf(e, f, Select(x < 0x1p-60, 0.0, f));
}

}  // namespace kiln::kernel::math
