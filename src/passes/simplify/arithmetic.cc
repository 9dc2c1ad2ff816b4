// Arithmetic. NaN, infinities and the sign of zero keep their meaning, except that x + 0 is x also for x = -0.
#include <cmath>

#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// A division by a power of two whose reciprocal is exact, and so is every product with it that the quotient is.
Instruction* DivideByPowerOfTwo(const Match& match, hlo::Builder& builder) {
  const std::optional<hlo::Literal> divisor = SplatValue(*match['c']);
  const hlo::PrimitiveType type = match.root()->shape().element_type();
  // The reciprocal of the smallest f64 powers is infinite, of the largest ones subnormal.
  const double value = hlo::ElementAsDouble(*divisor, 0);
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  const int limit = type == hlo::PrimitiveType::kF64 ? 1000 : type == hlo::PrimitiveType::kF16 ? 12 : 120;
  if (std::abs(mantissa) != 0.5 || std::abs(exponent) > limit || hlo::BitWidth(type) < 16) return nullptr;
  return builder.Binary(Opcode::kMultiply, match['x'], builder.Splat(match.root()->shape(), 1 / value));
}

// op(op(x, c), d) = op(x, op(c, d)) for the associative integer op of the root, unless all three are constants, which
// folding takes.
Instruction* Reassociate(const Match& match, hlo::Builder& builder) {
  if (SplatValue(*match['x'])) return nullptr;
  const Opcode opcode = match.root()->opcode();
  return builder.Binary(opcode, match['x'], builder.Binary(opcode, match['c'], match['d']));
}

// Floats wide enough that a function rounded once is no other answer than its parts rounded each.
bool WideFloat(const Instruction& root) {
  return hlo::IsFloating(root.shape().element_type()) && hlo::BitWidth(root.shape().element_type()) >= 16;
}

// e^(x ln 2), as JAX writes 2^x: the product's rounding error would be multiplied by the exponent.
Instruction* PowerOfTwo(const Match& match, hlo::Builder& builder) {
  const hlo::Literal ln2 = hlo::LiteralOf(hlo::Shape::Scalar(match.root()->shape().element_type()), M_LN2);
  if (!(*SplatValue(*match['c']) == ln2)) return nullptr;
  return builder.Unary(Opcode::kExp2, match['x']);
}

constexpr Rule kRules[] = {
    {"add(x, 0)", "x"},
    {"add(x, negate(y))", "subtract(x, y)"},
    {"add(add(x, c), d)", Reassociate, Integral},
    {"subtract(x, 0)", "x"},
    {"subtract(x, x)", "0", Integral},
    {"subtract(x, negate(y))", "add(x, y)"},
    {"subtract(add(x, y), x)", "y", Integral},
    {"subtract(add(x, y), y)", "x", Integral},
    {"add(subtract(x, y), y)", "x", Integral},
    {"multiply(x, 1)", "x"},
    {"multiply(x, 0)", "0", Integral},
    {"multiply(x, -1)", "negate(x)", NotComplex},
    {"multiply(negate(x), negate(y))", "multiply(x, y)"},
    {"multiply(multiply(x, c), d)", Reassociate, Integral},
    {"divide(x, 1)", "x"},
    {"divide(negate(x), negate(y))", "divide(x, y)", Floating},
    {"divide(x, c)", DivideByPowerOfTwo, Floating},
    {"divide(1, add'(1, exponential'(negate(x))))", "logistic(x)", WideFloat},
    {"exponential(multiply(x, c))", PowerOfTwo, WideFloat},
    {"remainder(x, 1)", "0", Integral},
    {"negate(negate(x))", "x"},
    {"negate(subtract(x, y))", "subtract(y, x)", Integral},
    {"abs(t:abs(x))", "t"},
    {"abs(negate(x))", "abs(x)"},
    {"power(x, 0)", "1", NotComplex},
    {"power(x, 1)", "x", NotComplex},
    {"power(x, 2)", "multiply(x, x)", NotComplex},
    {"power(x, 3)", "multiply(multiply(x, x), x)", NotComplex},
    {"power(x, -1)", "divide(1, x)", Floating},
    {"maximum(x, x)", "x"},
    {"maximum(x, lowest)", "x", NotComplex},
    {"maximum(x, highest)", "highest", Integral},
    {"minimum(x, x)", "x"},
    {"minimum(x, highest)", "x", NotComplex},
    {"minimum(x, lowest)", "lowest", Integral},
    {"clamp(lowest, x, highest)", "x", NotComplex},
    {"shift-left(x, 0)", "x"},
    {"shift-left(0, x)", "0"},
    {"shift-right-arithmetic(x, 0)", "x"},
    {"shift-right-logical(x, 0)", "x"},
    {"shift-right-logical(0, x)", "0"},
    {"real(complex(x, y))", "x"},
    {"imag(complex(x, y))", "y"},
    {"complex(real(x), imag(x))", "x"},
    {"floor(t:floor(x))", "t"},
    {"ceil(t:ceil(x))", "t"},
    {"round-nearest-even(t:round-nearest-even(x))", "t"},
    {"round-nearest-afz(t:round-nearest-afz(x))", "t"},
    {"sign(t:sign(x))", "t", NotComplex},
};

}  // namespace

absl::Span<const Rule> ArithmeticRules() { return kRules; }

}  // namespace kiln::passes::simplify
