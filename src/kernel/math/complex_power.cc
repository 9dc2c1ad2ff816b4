// Powers of complex numbers: the product with the exponent multiplies the logarithm's error, so that is computed in f64
// for f32 and in pairs for f64.
#include "src/kernel/math/coefficients.h"
#include "src/kernel/math/complex_math.h"
#include "src/kernel/math/pair.h"

namespace kiln::kernel::math {
namespace {

using kernel::Select;

// atan(t) = t - t w (1/3 - w (1/5 - w / 7 + ...)) with w = t^2: from 1/5 on, for t below 0.2.
constexpr double kAtanRest[] = {1.0 / 5,  -1.0 / 7,  1.0 / 9,  -1.0 / 11, 1.0 / 13, -1.0 / 15,
                                1.0 / 17, -1.0 / 19, 1.0 / 21, -1.0 / 23, 1.0 / 25, -1.0 / 27};

Pair Select(Mask m, Pair a, Pair b) { return {Select(m, a.high, b.high), Select(m, a.low, b.low)}; }
Pair Negated(Pair a) { return {-a.high, -a.low}; }

Pair Quotient(Pair a, Pair b) {
  Real q = a.high / b.high;
  return FastSum(q, (Fma(-q, b.high, a.high) + (a.low - q * b.low)) / b.high);
}

Pair SquareRoot(Pair a) {
  Real root = kernel::Sqrt(a.high);
  return FastSum(root, (Fma(-root, root, a.high) + a.low) / (root * 2.0));
}

// atan(t) for t from 0 to 1.
Pair Atan(Pair t) {
  const Pair one = {t.high.Constant(1.0), t.high.Constant(0.0)};
  // Half the angle, twice.
  for (int i = 0; i < 2; ++i) t = Quotient(t, Sum(SquareRoot(Sum(one, Product(t, t))), one));
  Pair w = Product(t, t);
  Pair factor = FastSum(t.high.Constant(1.0 / 3), 0x1.5555555555555p-56 - w.high * Polynomial(w.high, kAtanRest));
  Pair atan = Sum(t, Negated(Product(Product(w, factor), t)));
  return {atan.high * 4.0, atan.low * 4.0};
}

struct ComplexPair {
  Pair re, im;
};

// log(z) of finite z other than 0; anything for others.
ComplexPair ComplexLogToPair(Complex z) {
  Real a = z.re.Abs(), b = z.im.Abs(), zero = a.Constant(0.0);
  Mask steep = b > a;
  Real large = Select(steep, b, a), small = Select(steep, a, b);
  // Squares neither overflow nor vanish.
  Mask huge = large > 0x1p500, tiny = large < 0x1p-400;
  Real scale = Select(huge, a.Constant(0x1p-600), Select(tiny, a.Constant(0x1p600), a.Constant(1.0)));
  Real exponent = Select(huge, a.Constant(600.0), Select(tiny, a.Constant(-600.0), zero));
  large = large * scale;
  small = small * scale;
  Pair square = Sum(Product(large, large), Product(small, small));
  Pair log = math::LogToPair(square.high);
  log = TwoSum(log.high, log.low + square.low / square.high);
  Pair re = Sum(TwoSum(exponent * kLn2F64[0], exponent * kLn2F64[1]), {log.high * 0.5, log.low * 0.5});
  Pair angle = Atan(Quotient({small, zero}, {large, zero}));
  const Pair quarter = {a.Constant(kHalfPiF64[0]), a.Constant(kHalfPiF64[1])};
  angle = Select(steep, Sum(quarter, Negated(angle)), angle);
  angle = Select(z.re < 0.0, Sum({quarter.high * 2.0, quarter.low * 2.0}, Negated(angle)), angle);
  return {re, Select(z.im.AsInteger() < 0, Negated(angle), angle)};
}

// w log z, without a product of 0 and infinity where w is real.
Complex Exponent(Complex z, Complex w) {
  Complex log = Log(z);
  return Select(w.im == 0.0, Complex{log.re * w.re, log.im * w.re}, Multiply(w, log));
}

// e^(w log z); f64.
Complex ExpOfProduct(Complex z, Complex w) {
  Complex high = Exponent(z, w);
  ComplexPair log = ComplexLogToPair(z);
  auto product = [](Real x, Pair y) { return Product({x, x.Constant(0.0)}, y); };
  Pair re = Sum(product(w.re, log.re), Negated(product(w.im, log.im)));
  Pair im = Sum(product(w.re, log.im), product(w.im, log.re));
  // Where anything is infinite, vanishes or is too large for its angle to be known the plain product stands.
  const double limit = 0x1p26;
  Mask ordinary = (Abs(z) > 0.0) & (Abs(z) < z.re.Infinity()) & (re.high.Abs() < limit) & (im.high.Abs() < limit);
  // Of a zero the plain product knows the sign.
  high = Select(ordinary, Complex{re.high, Select(im.high == 0.0, high.im, im.high)}, high);
  Complex low = Select(ordinary, Complex{re.low, im.low}, Complex{z.re.Constant(0.0), z.re.Constant(0.0)});
  Complex result = Exp(high);
  Complex more = Multiply(result, low);
  return {Select(more.re.Abs() < more.re.Infinity(), result.re + more.re, result.re),
          Select(more.im.Abs() < more.im.Infinity(), result.im + more.im, result.im)};
}

}  // namespace

Complex Pow(Complex z, Complex w) {
  const int bits = z.re.bits();
  Complex result = To(bits == 32 ? Exp(Exponent(To(z, 64), To(w, 64))) : ExpOfProduct(z, w), bits);
  Complex one = {z.re.Constant(1.0), z.re.Constant(0.0)}, zero = {one.im, one.im};
  Mask base_zero = (z.re == 0.0) & (z.im == 0.0);
  result = Select(base_zero & (w.re > 0.0), zero, result);
  return Select((w.re == 0.0) & (w.im == 0.0), one, result);
}

}  // namespace kiln::kernel::math
