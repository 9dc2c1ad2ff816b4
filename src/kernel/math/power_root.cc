#include "src/kernel/math/coefficients.h"
#include "src/kernel/math/pair.h"
#include "src/kernel/math/real_math.h"

namespace kiln::kernel::math {
namespace {

// x = 2^e (1 + f), sqrt(1/2) <= 1 + f <= sqrt(2); f64, normal.
struct Split {
  Real e, f;
};

Split SplitExponent(Real x) {
  constexpr int64_t kRootHalf = 0x3fe6a09e667f3bcd;
  Integer shifted = x.AsInteger() - kRootHalf;
  Integer mantissa = (shifted & ((int64_t{1} << 52) - 1)) + kRootHalf;
  Real e = (shifted.Sar(52) + x.Constant(0x1.8p52).AsInteger()).AsReal() - 0x1.8p52;
  return {e, mantissa.AsReal() - 1.0};
}

}  // namespace

Pair LogToPair(Real x) {
  Mask tiny = x < 0x1p-1022;
  Split split = SplitExponent(Select(tiny, x * 0x1p54, x));
  Real e = split.e - Select(tiny, x.Constant(54.0), x.Constant(0.0));
  Real f = split.f;
  // s = f / (2 + f) with its rest.
  Pair divisor = FastSum(f.Constant(2.0), f);
  Real inverse = 1.0 / divisor.high;
  Real quotient = f * inverse;
  Real rest = Fma(-quotient, divisor.high, f) - quotient * divisor.low;
  Pair s = FastSum(quotient, rest * inverse);
  // 2 atanh(s) = 2s + s w (2/3 + w p(w)) with w = s^2.
  Pair w = Product(s, s);
  Pair factor = FastSum(f.Constant(2.0 / 3.0), MulAdd(w.high, Polynomial(w.high, kPowLogF64), 0x1.5555555555555p-55));
  Pair cubic = Product(Product(w, factor), s);
  Pair sum = FastSum(s.high * 2.0, cubic.high);
  Real sum_low = sum.low + (cubic.low + s.low * 2.0);
  // The first part of ln 2 times e is exact, and larger than the rest unless it is 0.
  Pair total = FastSum(e * kLn2F64[0], sum.high);
  total = {Select(e == 0.0, sum.high, total.high), Select(e == 0.0, f.Constant(0.0), total.low)};
  return FastSum(total.high, total.low + MulAdd(e, kLn2F64[1], sum_low));
}

namespace {

// e^(high + low), f64.
Real ExpOfPair(Real high, Real low) {
  const double rounder = 0x1.8p52 + 2046;
  Real z = MulAdd(high, kLog2EF64[0], high.Constant(rounder));
  Real n = z - rounder;
  // The first difference is exact; what the sum loses is kept.
  Real first = MulAdd(n, -kLn2F64[0], high), rest = MulAdd(n, -kLn2F64[1], low);
  Real r = first + rest;
  Real lost = rest - (r - first);
  // 1 + r with its rounding error.
  Real head = r + 1.0;
  Real significand = head + (r * r * Polynomial(r, kExpF64) + ((r - (head - 1.0)) + lost));
  Integer rounded = z.AsInteger();
  Integer half = rounded.Shr(1);
  return significand * half.Shl(52).AsReal() * (rounded - half).Shl(52).AsReal();
}

// |x|^y for finite positive |x|; anything for others.
Real PositivePowF64(Real magnitude, Real y) {
  Pair log = LogToPair(magnitude);
  Pair product = Product(y, log.high);
  Real low = MulAdd(y, log.low, product.low);
  Mask moderate = product.high.Abs() < 800.0;
  Real high = AtLeast(AtMost(product.high, 800.0), -800.0);
  return ExpOfPair(high, Select(moderate, low, 0.0));
}

Real PositivePowF32(Real magnitude32, Real y32) {
  const VectorBuilder& b = magnitude32.builder();
  if (b.lanes == 1 && b.target == Target::kCpu) return ScalarPositivePowF32(magnitude32, y32);
  Real x = magnitude32.To(64);
  Split split = SplitExponent(x);
  Real s = split.f / (split.f + 2.0);
  Real w = s * s;
  Real log = MulAdd(s * w, Polynomial(w, kLogReducedF64), s * 2.0);
  Real t = y32.To(64) * MulAdd(split.e, kLn2FullF64[0], log);
  t = AtLeast(AtMost(t, 200.0), -200.0);
  Real z = MulAdd(t, kLog2EF64[0], x.Constant(0x1.8p52));
  Real r = MulAdd(z - 0x1.8p52, -kLn2FullF64[0], t);
  Real significand = (r + r * r * Polynomial(r, kExpReducedF64)) + 1.0;
  return (significand.AsInteger() + z.AsInteger().Shl(52)).AsReal().To(32);
}

llvm::Value* EmitPow(Real x, Real y) {
  Real magnitude = x.Abs();
  Real power = x.bits() == 64 ? PositivePowF64(magnitude, y) : PositivePowF32(magnitude, y);
  Mask is_integer = Floor(y) == y;
  Real half = y * 0.5;
  Mask is_odd = is_integer & (Floor(half) != half);
  Mask is_negative = is_odd & (x.AsInteger() < 0);
  const auto with_sign = [&](Real value) { return Select(is_negative, -value, value); };
  // What is no power of a finite positive number is chosen first: the power takes longest.
  // Zeros and infinities: which way the logarithm times y points.
  Real direction = Select(magnitude < 1.0, -y, y);
  Mask extreme = (magnitude == 0.0) | (magnitude == x.Infinity()) | (y.Abs() == x.Infinity());
  Real end = Select(direction > 0.0, x.Infinity(), x.Constant(0.0));
  Real other = with_sign(Select(magnitude == 1.0, 1.0, end));
  Mask undefined = ((x < 0.0) & (x > -x.Infinity()) & !is_integer) | x.IsNan() | y.IsNan();
  Mask is_one = (x == 1.0) | (y == 0.0);
  other = Select(is_one, 1.0, Select(undefined, x.Nan(), other));
  return Select(extreme | undefined | is_one, other, with_sign(power));
}

}  // namespace

Real Pow(Real x, Real y) {
  const VectorBuilder& outer = x.builder();
  return {outer, outer.CallHelper(x.bits() == 64 ? "pow.f64" : "pow.f32", x.value()->getType(), {x, y},
                                  [](VectorBuilder& b, llvm::ArrayRef<llvm::Value*> arguments) {
                                    return EmitPow(Real(b, arguments[0]), Real(b, arguments[1]));
                                  })};
}

Real Cbrt(Real x) {
  const bool f32 = IsF32(x);
  const int m = x.mantissa_bits();
  Real magnitude = x.Abs();
  Mask tiny = magnitude < (f32 ? 0x1p-126 : 0x1p-1022);
  // 2^24 and 2^54 have exact cube roots 2^8 and 2^18.
  Real normal = Select(tiny, magnitude * (f32 ? 0x1p24 : 0x1p54), magnitude);
  Integer bits = normal.AsInteger();
  const int64_t bias = x.exponent_bias();
  // exponent = 3 third + left, 0 <= left <= 2; a positive multiple of 3 is added for the division, by multiplication.
  constexpr int64_t kThirds = 400;
  Integer dividend = bits.Shr(m) + (3 * kThirds - bias);
  Integer third = (dividend * 21846).Shr(16);
  Integer left = dividend - third * 3;
  Real significand = ((bits & ((int64_t{1} << m) - 1)) | (bias << m)).AsReal();
  Real scaled = (significand.AsInteger() + left.Shl(m)).AsReal();
  const double step = 0x1.965fea53d6e3dp-1;  // 2^(-1/3)
  Real root = Select(left == 0, x.Constant(1.0), Select(left == 1, x.Constant(step), x.Constant(0x1.428a2f98d728bp-1)));
  // Newton's iteration for the inverse root needs no division.
  Real z = Polynomial(significand, kInverseCubeRoot) * root;
  for (int i = 0; i < (f32 ? 1 : 2); ++i) {
    Real error = 1.0 - scaled * z * (z * z);
    z = MulAdd(z * (1.0 / 3.0), error, z);
  }
  Real square = z * z;
  Real y = scaled * square;
  // One last step with an exact residual.
  Real y2 = y * y;
  Real residual = Fma(y2, y, -scaled) + Fma(y, y, -y2) * y;
  y = y - residual * (square * (1.0 / 3.0));
  Integer exponent = third - Select(tiny, bits.Constant(kThirds + (f32 ? 8 : 18)), bits.Constant(kThirds));
  Real result = (y.AsInteger() + exponent.Shl(m)).AsReal();
  Mask itself = (magnitude == 0.0) | magnitude.Compare(llvm::CmpInst::FCMP_UGE, x.Infinity());
  return CopySign(Select(itself, magnitude, result), x);
}

}  // namespace kiln::kernel::math
