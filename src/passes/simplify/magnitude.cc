// Magnitudes of complex numbers of which only the square matters: sums of squares need no root.
#include <limits>

#include "src/analysis/structure.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

// The square of |z|, an instruction like `magnitude`; and where a part is infinite, which that is then, whatever the
// other one.
struct Square {
  Instruction *sum, *is_infinite;
};
Square SquareOf(Instruction* z, const Shape& magnitude, Builder& builder) {
  Instruction* real = builder.Add(Opcode::kReal, magnitude, {z});
  Instruction* imaginary = builder.Add(Opcode::kImag, magnitude, {z});
  const auto square = [&](Instruction* x) { return builder.Binary(Opcode::kMultiply, x, x); };
  const auto is_infinite = [&](Instruction* x) {
    const Literal infinity =
        hlo::LiteralOf(Shape::Scalar(magnitude.element_type()), std::numeric_limits<double>::infinity());
    return builder.Compare(ComparisonDirection::kEq, builder.Unary(Opcode::kAbs, x),
                           builder.Splat(magnitude, infinity));
  };
  return {builder.Binary(Opcode::kAdd, square(real), square(imaginary)),
          builder.Binary(Opcode::kOr, is_infinite(real), is_infinite(imaginary))};
}

Instruction* SquareOfMagnitude(const Match& match, Builder& builder) {
  const Shape& shape = match.root()->shape();
  const Square square = SquareOf(match['z'], shape, builder);
  const Literal infinity = hlo::LiteralOf(Shape::Scalar(shape.element_type()), std::numeric_limits<double>::infinity());
  return builder.Select(square.is_infinite, builder.Splat(shape, infinity), square.sum);
}

// With the square of the constant.
Instruction* CompareSquares(const Match& match, Builder& builder) {
  const Shape& shape = match['t']->shape();
  const Square square = SquareOf(match['z'], shape, builder);
  const Literal c = *SplatValue(*match['c']);
  const double number = hlo::ElementAsDouble(c, 0);
  hlo::CompareAttributes comparison = match.root()->comparison();
  if (match.root()->operand(0) != match['t']) comparison.direction = analysis::Mirrored(comparison.direction);
  Instruction* squared = builder.Splat(shape, hlo::LiteralOf(c.shape(), number * number));
  Instruction* compared = builder.Add(Opcode::kCompare, match.root()->shape(), {square.sum, squared}, comparison);
  const bool is_below =
      comparison.direction == ComparisonDirection::kLt || comparison.direction == ComparisonDirection::kLe;
  return is_below ? compared : builder.Binary(Opcode::kOr, compared, square.is_infinite);
}

bool IsComplexZ(const Match& match) { return hlo::IsComplex(match['z']->shape().element_type()); }
constexpr Guard ComplexZ{"z complex", IsComplexZ};

// Squares next to that of c are neither infinite nor imprecise.
bool IsModerate(const Match& match) {
  constexpr double kMost = 0x1p40, kLeast = 0x1p-40;
  const double c = hlo::ElementAsDouble(*SplatValue(*match['c']), 0);
  return c >= kLeast && c <= kMost;
}
constexpr Guard ModerateC{"c neither small nor large", IsModerate};

constexpr Rule kRules[] = {
    {"multiply(abs'(z), abs'(z))", "real(z)^2 + imag(z)^2, or infinity", SquareOfMagnitude, ComplexZ, Rounds},
    {"compare.lt(t:abs'(z), c)", "compare.lt(real(z)^2 + imag(z)^2, c^2)", CompareSquares, ComplexZ, ModerateC, Rounds},
    {"compare.le(t:abs'(z), c)", "compare.le(real(z)^2 + imag(z)^2, c^2)", CompareSquares, ComplexZ, ModerateC, Rounds},
    {"compare.gt(t:abs'(z), c)", "compare.gt(real(z)^2 + imag(z)^2, c^2), or z infinite", CompareSquares, ComplexZ,
     ModerateC, Rounds},
    {"compare.ge(t:abs'(z), c)", "compare.ge(real(z)^2 + imag(z)^2, c^2), or z infinite", CompareSquares, ComplexZ,
     ModerateC, Rounds},
};

}  // namespace

absl::Span<const Rule> MagnitudeRules() { return kRules; }

}  // namespace kiln::passes::simplify
