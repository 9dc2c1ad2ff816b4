#include "src/frontend/stablehlo/special_functions.h"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

namespace kiln::stablehlo {
namespace {

using hlo::ComparisonDirection;
using hlo::Opcode;
using hlo::PrimitiveType;
using passes::ArrayValue;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;

ArrayValue Wide(const ArrayValue& x) { return x.Convert(PrimitiveType::kF64); }
ArrayValue Abs(const ArrayValue& x) { return x.Unary(Opcode::kAbs); }
ArrayValue Exp(const ArrayValue& x) { return x.Unary(Opcode::kExp); }
ArrayValue Log(const ArrayValue& x) { return x.Unary(Opcode::kLog); }
ArrayValue Floor(const ArrayValue& x) { return x.Unary(Opcode::kFloor); }
ArrayValue Power(const ArrayValue& x, const ArrayValue& y) { return x.Binary(Opcode::kPower, y); }
ArrayValue IsEqual(const ArrayValue& a, const ArrayValue& b) { return Compare(ComparisonDirection::kEq, a, b); }
ArrayValue IsLess(const ArrayValue& a, double b) { return Compare(ComparisonDirection::kLt, a, a.Number(b)); }
ArrayValue IsInteger(const ArrayValue& x) { return IsEqual(x, Floor(x)); }
ArrayValue Not(const ArrayValue& x) { return x.Unary(Opcode::kNot); }
ArrayValue SignOf(const ArrayValue& magnitude, const ArrayValue& sign) {
  // Of -0 as well.
  const ArrayValue is_negative = IsLess(sign.BitcastConvert(PrimitiveType::kS64), 0);
  return Select(is_negative, magnitude.Unary(Opcode::kNegate), magnitude);
}

// Lanczos's approximation of the gamma function with g = 7.
constexpr double kLanczosG = 7;
constexpr double kLanczosBase = 0.99999999999980993227684700473478;
constexpr double kLanczos[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                               771.3234287776530788486528258894,   -176.61502916214059906584551354,
                               12.507343278686904814458936853,     -0.13857109526572011689554707,
                               9.984369578019570859563e-6,         1.50563273514931155834e-7};

struct Lanczos {
  ArrayValue reflected;  // where x < 1/2, for which gamma(1 - x) stands
  ArrayValue z, t, log_t;
  ArrayValue sum, slope;  // of the series, and its derivative
};

Lanczos LanczosOf(const ArrayValue& x) {
  Lanczos at;
  at.reflected = IsLess(x, 0.5);
  at.z = Select(at.reflected, x.Unary(Opcode::kNegate), x - x.Number(1.0));
  at.sum = x.Number(kLanczosBase);
  at.slope = x.Number(0.0);
  for (size_t i = 0; i < std::size(kLanczos); ++i) {
    const ArrayValue place = at.z + x.Number(static_cast<double>(i + 1));
    const ArrayValue term = x.Number(kLanczos[i]) / place;
    at.sum = at.sum + term;
    at.slope = at.slope - term / place;
  }
  at.t = at.z + x.Number(kLanczosG + 0.5);
  at.log_t = x.Number(std::log(kLanczosG + 0.5)) + (at.z / x.Number(kLanczosG + 0.5)).Unary(Opcode::kLogPlusOne);
  return at;
}

// coefficients[0] + coefficients[1] T1(t) + ... by Clenshaw's recurrence.
ArrayValue Chebyshev(absl::Span<const double> coefficients, const ArrayValue& t) {
  ArrayValue b1 = t.Number(0.0), b2 = b1;
  for (size_t k = coefficients.size() - 1; k > 0; --k) {
    const ArrayValue b0 = t.Number(2.0) * t * b1 - b2 + t.Number(coefficients[k]);
    b2 = std::exchange(b1, b0);
  }
  return t * b1 - b2 + t.Number(coefficients[0]);
}

}  // namespace

ArrayValue LogGamma(const ArrayValue& operand) {
  const ArrayValue x = Wide(operand);
  const Lanczos at = LanczosOf(x);
  const ArrayValue direct =
      x.Number(0.5 * std::log(2 * kPi)) + (at.z + x.Number(0.5) - at.t / at.log_t) * at.log_t + Log(at.sum);
  // log(pi / |sin(pi x)|) - log gamma(1 - x); at its poles the sine is 0.
  const ArrayValue magnitude = Abs(x), part = magnitude - Floor(magnitude);
  const ArrayValue nearest = Select(Compare(ComparisonDirection::kGt, part, x.Number(0.5)), x.Number(1.0) - part, part);
  const ArrayValue sine = Log((nearest * x.Number(kPi)).Unary(Opcode::kSin));
  const ArrayValue reflected =
      Select(sine.Unary(Opcode::kIsFinite), x.Number(std::log(kPi)) - sine - direct, sine.Unary(Opcode::kNegate));
  const ArrayValue result = Select(at.reflected, reflected, direct);
  return Select(IsEqual(magnitude, x.Number(kInfinity)), x.Number(kInfinity), result).Convert(operand.type());
}

ArrayValue Digamma(const ArrayValue& operand) {
  const ArrayValue x = Wide(operand);
  const Lanczos at = LanczosOf(x);
  const ArrayValue direct = at.log_t + at.slope / at.sum - x.Number(kLanczosG) / at.t;
  const ArrayValue turn = (x + Abs(Floor(x + x.Number(0.5)))) * x.Number(kPi);
  const ArrayValue reflected = direct - x.Number(kPi) * turn.Unary(Opcode::kCos) / turn.Unary(Opcode::kSin);
  const ArrayValue pole = Compare(ComparisonDirection::kLe, x, x.Number(0.0)) & IsInteger(x);
  return Select(pole, x.Number(kNan), Select(at.reflected, reflected, direct)).Convert(operand.type());
}

ArrayValue InverseErf(const ArrayValue& operand) {
  // Giles, "Approximating the erfinv function": to single precision, in w = -log(1 - x^2).
  constexpr double kCentral[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                 -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  constexpr double kTail[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                              -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  const ArrayValue x = Wide(operand), a = Abs(x), one = x.Number(1.0);
  const ArrayValue w = (x * x).Unary(Opcode::kNegate).Unary(Opcode::kLogPlusOne).Unary(Opcode::kNegate);
  const ArrayValue central = IsLess(w, 5);
  const ArrayValue t = Select(central, w - x.Number(2.5), w.Unary(Opcode::kSqrt) - x.Number(3.0));
  ArrayValue y = x.Number(0.0);
  for (size_t i = 0; i < std::size(kTail); ++i) y = y * t + Select(central, x.Number(kCentral[i]), x.Number(kTail[i]));
  // Beyond it the first terms of the asymptotic series.
  const ArrayValue far = (w - x.Number(0.5) * Log(w * x.Number(kPi))).Unary(Opcode::kSqrt);
  y = Select(Compare(ComparisonDirection::kGt, w, x.Number(16.0)), far, y * a);
  // Halley's steps on erf or, where that is close to 1, erfc.
  for (int i = 0; i < 3; ++i) {
    const ArrayValue error = Select(IsLess(a, 0.5), y.Unary(Opcode::kErf) - a, (one - a) - y.Unary(Opcode::kErfc));
    const ArrayValue slope = x.Number(2 / std::sqrt(kPi)) * Exp((y * y).Unary(Opcode::kNegate));
    const ArrayValue step = error / slope;
    y = y - step / (one + y * step);
  }
  y = Select(IsEqual(a, one), x.Number(kInfinity), y);
  y = Select(Compare(ComparisonDirection::kGt, a, one), x.Number(kNan), y);
  return SignOf(Select(IsEqual(a, x.Number(0.0)), a, y), x).Convert(operand.type());
}

ArrayValue BesselI1e(const ArrayValue& operand) {
  // Chebyshev series of exp(-x) I1(x) / x over [0, 8], in x / 4 - 1.
  constexpr double kNear[] = {
      0.12629359322181682,    -0.17641651835783406,    0.1026436586898471,     -0.05294598120809499,
      0.024726449030626516,   -0.010564084894626197,   0.004156422944312888,   -0.0015135724506312532,
      0.0005122859561685758,  -0.00016176081582589674, 4.781565107550054e-05,  -1.3273163656039436e-05,
      3.4702513081376785e-06, -8.568720264695455e-07,  2.0032947535521353e-07, -4.445059128796328e-08,
      9.381537386495773e-09,  -1.8872497517228294e-09, 3.625590281552117e-10,  -6.663489723502027e-11,
      1.1736186298890901e-11, -1.9839743977649436e-12, 3.223793365945575e-13,  -5.042185504727912e-14,
      7.600684294735408e-15,  -1.1055969477353862e-15, 1.5536319577362005e-16, -2.111421214358166e-17,
      2.7779141127610464e-18};
  // Of exp(-x) I1(x) sqrt(x) over [8, inf], in 16 / x - 1.
  constexpr double kFar[] = {
      0.38928811750914005,     -0.009761097491361469,   -0.00011058893876262371, -3.882564808877691e-06,
      -2.512236237870209e-07,  -2.6314688468895196e-08, -3.835380385964237e-09,  -5.589743462196584e-10,
      -1.8974958123505413e-11, 3.2526035830154884e-11,  1.4125807436613782e-11,  2.0356285441470896e-12,
      -7.198551776245908e-13,  -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
      1.0420276984128802e-14,  -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16,
      2.96262899764595e-16,    -3.209525921993424e-17,  -4.6503053684893586e-17, 4.414348323071708e-18,
      7.517296310842105e-18};
  const ArrayValue x = Wide(operand), a = Abs(x), eight = x.Number(8.0);
  const ArrayValue near = Chebyshev(kNear, a * x.Number(0.25) - x.Number(1.0)) * a;
  const ArrayValue large = a.Binary(Opcode::kMaximum, eight);
  const ArrayValue far = Chebyshev(kFar, x.Number(16.0) / large - x.Number(1.0)) * large.Unary(Opcode::kRsqrt);
  return SignOf(Select(Compare(ComparisonDirection::kLe, a, eight), near, far), x).Convert(operand.type());
}

ArrayValue Zeta(const ArrayValue& x_operand, const ArrayValue& q_operand) {
  // Euler and Maclaurin: ten terms, the integral of the rest and its corrections B(2j) / (2j)!.
  constexpr double kCorrections[] = {0.08333333333333333,    -0.001388888888888889,   3.306878306878307e-05,
                                     -8.267195767195768e-07, 2.08767569878681e-08,    -5.284190138687493e-10,
                                     1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15,
                                     -2.174868698558062e-16, 5.5090028283602295e-18,  -1.3954464685812522e-19};
  constexpr int kTerms = 10;
  const ArrayValue x = Wide(x_operand), q = Wide(q_operand), minus_x = x.Unary(Opcode::kNegate);
  ArrayValue sum = x.Number(0.0);
  for (int k = 0; k < kTerms; ++k) sum = sum + Power(q + x.Number(static_cast<double>(k)), minus_x);
  const ArrayValue a = q + x.Number(static_cast<double>(kTerms));
  ArrayValue power = Power(a, minus_x);
  sum = sum + power * a / (x - x.Number(1.0)) + x.Number(0.5) * power;
  ArrayValue factor = x;
  power = power / a;
  for (size_t j = 0; j < std::size(kCorrections); ++j) {
    sum = sum + x.Number(kCorrections[j]) * factor * power;
    const double next = 2.0 * static_cast<double>(j) + 1;
    factor = factor * (x + x.Number(next)) * (x + x.Number(next + 1));
    power = power / (a * a);
  }
  const ArrayValue not_positive = Compare(ComparisonDirection::kLe, q, x.Number(0.0));
  const ArrayValue even = IsInteger(x * x.Number(0.5));
  const ArrayValue pole = Select(even, x.Number(kInfinity), x.Number(kNan));
  ArrayValue result = Select(not_positive & IsInteger(q), pole, sum);
  result = Select(not_positive & Not(IsInteger(x)), x.Number(kNan), result);
  result = Select(IsLess(x, 1), x.Number(kNan), result);
  return Select(IsEqual(x, x.Number(1.0)), x.Number(kInfinity), result).Convert(x_operand.type());
}

ArrayValue Polygamma(const ArrayValue& n_operand, const ArrayValue& x_operand) {
  const ArrayValue n = Wide(n_operand), x = Wide(x_operand), one = n.Number(1.0);
  const ArrayValue odd = Not(IsInteger(n * n.Number(0.5)));
  const ArrayValue magnitude = Exp(LogGamma(n + one)) * Zeta(n + one, x);
  const ArrayValue higher = Select(odd, magnitude, magnitude.Unary(Opcode::kNegate));
  const ArrayValue result = Select(IsEqual(n, n.Number(0.0)), Digamma(x), higher);
  return Select(IsLess(n, 0) | Not(IsInteger(n)), n.Number(kNan), result).Convert(n_operand.type());
}

ArrayValue NextAfter(const ArrayValue& x, const ArrayValue& y) {
  const int width = hlo::BitWidth(x.type());
  const PrimitiveType type = width == 16   ? PrimitiveType::kU16
                             : width == 32 ? PrimitiveType::kU32
                                           : PrimitiveType::kU64;
  const ArrayValue from = x.BitcastConvert(type), to = y.BitcastConvert(type);
  const ArrayValue sign_bit = from.Number(static_cast<int64_t>(uint64_t{1} << (width - 1)));
  const ArrayValue one = from.Number(int64_t{1}), zero = from.Number(int64_t{0});
  const ArrayValue from_size = from & (sign_bit - one), to_size = to & (sign_bit - one);
  const ArrayValue away = Compare(ComparisonDirection::kGt, from_size, to_size) |
                          Compare(ComparisonDirection::kNe, from & sign_bit, to & sign_bit);
  ArrayValue result = Select(away, from - one, from + one);
  result = Select(IsEqual(from_size, zero), (to & sign_bit) | one, result);
  result = Select(IsEqual(x, y), to, result);
  const ArrayValue is_nan = Compare(ComparisonDirection::kNe, x, x) | Compare(ComparisonDirection::kNe, y, y);
  return Select(is_nan, x + y, result.BitcastConvert(x.type()));
}

}  // namespace kiln::stablehlo
