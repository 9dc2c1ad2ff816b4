// Roundings, powers, roots, exponentials, trigonometric functions, complex numbers. Special values keep their meaning.
#include <cmath>

#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

// By repeated squaring; longer products are left to the loop that powers are.
Instruction* IntegerPower(const Match& match, Builder& builder) {
  constexpr int64_t kMostExponent = 1024;
  const std::optional<Literal> exponent = SplatValue(*match['c']);
  const bool is_whole = exponent && hlo::IsIntegral(exponent->shape().element_type());
  int64_t rest = is_whole   ? hlo::ElementAsInt64(*exponent, 0)
                 : exponent ? static_cast<int64_t>(hlo::ElementAsDouble(*exponent, 0))
                            : 0;
  if (rest < 2 || rest > kMostExponent) return nullptr;
  Instruction *power = match['x'], *product = nullptr;
  for (; rest > 0; rest >>= 1) {
    if (rest % 2 != 0) product = product == nullptr ? power : builder.Binary(Opcode::kMultiply, product, power);
    if (rest > 1) power = builder.Binary(Opcode::kMultiply, power, power);
  }
  return product;
}

// Up to here the product is as accurate as the power: each of its numbers is rounded once, and none lies beyond it.
bool IsSmall(const Match& match) {
  const double exponent = hlo::ElementAsDouble(*SplatValue(*match['c']), 0);
  return exponent >= 5 && exponent <= 8 && exponent == std::floor(exponent);
}

// f(-x) = f(x).
bool IsEven(const Match& match) {
  switch (match['t']->opcode()) {
    case Opcode::kAbs:
      return !hlo::IsUnsignedIntegral(match['x']->shape().element_type());
    case Opcode::kCos:
    case Opcode::kCosh:
    case Opcode::kIsFinite:
      return true;
    default:
      return false;
  }
}

// f(-x) = -f(x), to the bit.
bool IsOdd(const Match& match) {
  const Instruction& t = *match['t'];
  switch (t.opcode()) {
    case Opcode::kReal:
    case Opcode::kImag:
      return true;
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtanh:
    case Opcode::kCbrt:
    case Opcode::kErf:
    case Opcode::kReducePrecision:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kSign:
    case Opcode::kSin:
    case Opcode::kSinh:
    case Opcode::kTan:
    case Opcode::kTanh:
      return hlo::IsFloating(t.shape().element_type());
    default:
      return false;
  }
}
constexpr Guard OddT{"t odd", IsOdd};

constexpr Rule kFunctionsRules[] = {
    {"floor(x)", "x", WholeX},
    {"ceil(x)", "x", WholeX},
    {"round-nearest-even(x)", "x", WholeX},
    {"round-nearest-afz(x)", "x", WholeX},
    {"t:elementwise(negate(x))", "t(x)", Guard{"t even", IsEven}},
    {"t:elementwise(abs(x))", "t(x)", Guard{"t even", IsEven}, RealX},
    {"t:elementwise(subtract(0, x))", "t(x)", Guard{"t even", IsEven}},
    {"t:elementwise(negate'(x))", "negate(t(x))", OddT},
    {"negate(t:elementwise(negate(x)))", "t(x)", OddT},
    {"negate(floor'(negate(x)))", "ceil(x)"},
    {"negate(ceil'(negate(x)))", "floor(x)"},
    {"atan2(negate'(x), y)", "negate(atan2(x, y))", NotComplex},
    {"is-finite(x)", "true", FiniteX},

    {"power(x, 0)", "1", NotComplex},
    {"power(x, 1)", "x", NotComplex},
    {"power(1, x)", "1", Floating},
    {"power(x, 2)", "multiply(x, x)", NotComplex, Rounds},
    {"power(x, 3)", "multiply(multiply(x, x), x)", NotComplex, Rounds},
    {"power(x, 4)", "multiply(multiply(x, x), multiply(x, x))", WideFloat, Rounds},
    {"power(x, c)", "product of x and its repeated squares", IntegerPower, Integer},
    {"power(x, c)", "product of x and its repeated squares", IntegerPower, WideFloat,
     Guard{"c is 5, 6, 7 or 8", IsSmall}, Rounds},
    {"power(x, -1)", "divide(1, x)", Floating, Rounds},
    {"power(x, -2)", "multiply(divide(1, x), divide(1, x))", WideFloat, Rounds},
    {"power(x, 0.5)", "sqrt(x)", WideFloat, NonNegativeX, Rounds},
    // The root of -inf is NaN and that of -0 is -0; the powers are inf and 0.
    {"power(x, 0.5)", "select(compare.eq(x, lowest), highest, abs(sqrt(x)))", WideFloat, Rounds},
    {"power(x, -0.5)", "rsqrt(x)", WideFloat, NonNegativeX, Rounds},
    {"power(x, -0.5)", "select(compare.eq(x, lowest), 0, abs(rsqrt(x)))", WideFloat, Rounds},
    {"power(x, 1.5)", "multiply(x, sqrt(x))", WideFloat, NonNegativeX, Rounds},
    {"power(x, 1.5)", "select(compare.eq(x, lowest), highest, multiply(x, sqrt(x)))", WideFloat, Rounds},
    {"power(2, x)", "exp2(x)", WideFloat, Rounds},

    {"log(exponential(x))", "x", WideFloat, NoOverflowBetween, SignlessZero},
    {"log(sqrt(x))", "multiply(log(x), 0.5)", Precise, Rounds},
    {"log(rsqrt(x))", "multiply(log(x), -0.5)", Precise, NoOverflowBetween, SignlessZero},
    {"log(power(x, c))", "multiply(log(abs(x)), c)", Precise, EvenC, NoOverflowBetween},
    {"log(power(x, c))", "multiply(log(x), c)", Precise, OddC, NoOverflowBetween},
    {"multiply(exponential'(x), exponential'(y))", "exponential(add(x, y))", Precise, NoOverflowBetween},
    {"divide(exponential'(x), exponential'(y))", "exponential(subtract(x, y))", Precise, NoOverflowBetween},
    {"divide(x, exponential'(y))", "multiply(x, exponential(negate(y)))", Precise, NoOverflowBetween},
    {"divide(x, power'(y, z))", "multiply(x, power(y, negate(z)))", Precise, NoOverflowBetween},
    {"power(exponential'(x), c)", "exponential(multiply(x, c))", Precise, NoOverflowBetween},
    {"power(power'(x, c), d)", "power(x, multiply(c, d))", Precise, NonNegativeX, NoOverflowBetween},
    {"sqrt(multiply(x, x))", "abs(x)", WideFloat, NoOverflowBetween},
    {"multiply(sqrt(x), sqrt(x))", "x", WideFloat, NonNegativeX, Rounds},
    {"multiply(rsqrt(x), rsqrt(x))", "divide(1, x)", WideFloat, NonNegativeX, Rounds},
    {"rsqrt(multiply(x, x))", "divide(1, abs(x))", WideRange, NoOverflowBetween},
    {"divide(1, sqrt(x))", "rsqrt(x)", WideFloat, Rounds},
    {"divide(x, rsqrt(y))", "multiply(x, sqrt(y))", WideFloat, Rounds},
    {"divide(x, sqrt(y))", "multiply(x, rsqrt(y))", WideFloat, Rounds},
    {"divide(x, t:broadcast(sqrt(y)))", "multiply(x, t(rsqrt(y)))", WideFloat, Rounds},
    {"divide(1, add'(1, exponential'(negate(x))))", "logistic(x)", WideFloat, Rounds},
    // log(1 + e^x) as JAX writes it passes NaN on by itself, and its derivative is a function of its own.
    {"select(compare.ne(x, x), x, add(maximum(x, 0), w))", "add(maximum(x, 0), w)", Floating},
    {"select(compare.ne(x, x), negate(x), add(maximum(negate(x), 0), w))", "add(maximum(negate(x), 0), w)", Floating},
    {"exponential(subtract(select(compare.eq(x, highest), 0, x), select(compare.eq(s:add(maximum(x, 0), "
     "log-plus-one(exponential(negate(abs(x))))), highest), 0, s)))",
     "logistic(x)", WideFloat, Rounds},
    {"exponential(subtract(select(compare.eq(x, lowest), 0, negate(x)), select(compare.eq(s:add(maximum(negate(x), 0), "
     "log-plus-one(exponential(negate(abs(x))))), highest), 0, s)))",
     "logistic(negate(x))", WideFloat, Rounds},
    // With u = e^x it is (u^2 + 2u) / (u^2 + 2u + 2), and with s = 1 / u (1 + 2s) / (1 + 2s + 2s^2).
    {"tanh(add(maximum(x, 0), log-plus-one(s:exponential(negate(abs(x))))))",
     "divide(select(compare.lt(x, 0), multiply(s, add(s, 2)), add(multiply(s, 2), 1)), add(select(compare.lt(x, 0), "
     "multiply(s, add(s, 2)), add(multiply(s, 2), 1)), select(compare.lt(x, 0), 2, multiply(multiply(s, s), 2))))",
     Precise, Rounds},
    // The normal distribution's as JAX writes it.
    {"select(compare.lt(abs(x), c), add(1, erf(x)), select(compare.gt(x, 0), subtract(2, erfc(abs(x))), erfc(abs(x))))",
     "erfc(negate(x))", WideFloat, Rounds},
    // 2^x as JAX writes it: the product's rounding error would be multiplied by the exponent.
    {"exponential(multiply(v, c))", "exp2(v)", WideFloat, Ln2, Rounds},
    // As JAX writes it; powers of two are exact.
    {"divide(log(x), c)", "log2(x)", WideFloat, Ln2, Rounds},

    {"real(complex(x, y))", "x"},
    {"imag(complex(x, y))", "y"},
    {"complex(real(x), imag(x))", "x"},
    {"real(x)", "x", RealX},
    {"real(convert(x))", "convert(x)", RealX},
    {"imag(convert(x))", "0", RealX},
    {"imag(x)", "0", RealX},
    {"real(add'(x, y))", "add(real(x), real(y))"},
    {"imag(add'(x, y))", "add(imag(x), imag(y))"},
    {"real(subtract'(x, y))", "subtract(real(x), real(y))"},
    {"imag(subtract'(x, y))", "subtract(imag(x), imag(y))"},
    {"abs(complex(x, 0))", "abs(x)"},
    {"abs(complex(0, x))", "abs(x)"},
    {"abs(complex(x, negate(y)))", "abs(complex(x, y))"},
    {"abs(complex(negate(x), y))", "abs(complex(x, y))"},
};

}  // namespace

absl::Span<const Rule> FunctionRules() { return kFunctionsRules; }

}  // namespace kiln::passes::simplify
