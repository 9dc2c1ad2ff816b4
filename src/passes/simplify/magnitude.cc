// Magnitudes of complex numbers of which only the square matters: sums of squares need no root.
#include <limits>

#include "src/analysis/structure.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

// The parts of z, like its magnitude `like`.
struct Parts {
  Instruction *real, *imaginary;
};
Parts PartsOf(Instruction* z, const Shape& like, Builder& builder) {
  return {builder.Add(Opcode::kReal, like, {z}), builder.Add(Opcode::kImag, like, {z})};
}

Instruction* SumOfSquares(Parts z, Builder& builder) {
  const auto square = [&](Instruction* x) { return builder.Binary(Opcode::kMultiply, x, x); };
  return builder.Binary(Opcode::kAdd, square(z.real), square(z.imaginary));
}

Instruction* Infinity(const Shape& shape, Builder& builder) {
  return builder.Splat(shape, std::numeric_limits<double>::infinity());
}

// Where a part is infinite the magnitude is, whatever the other one.
Instruction* IsInfinite(Parts z, Builder& builder) {
  const auto is_infinite = [&](Instruction* x) {
    return builder.Compare(ComparisonDirection::kEq, builder.Unary(Opcode::kAbs, x), Infinity(x->shape(), builder));
  };
  return builder.Binary(Opcode::kOr, is_infinite(z.real), is_infinite(z.imaginary));
}

Instruction* SquareOfMagnitude(const Match& match, Builder& builder) {
  const Shape& shape = match.root()->shape();
  const Parts z = PartsOf(match['z'], shape, builder);
  return builder.Select(IsInfinite(z, builder), Infinity(shape, builder), SumOfSquares(z, builder));
}

// With the square of the constant.
Instruction* CompareSquares(const Match& match, Builder& builder) {
  const Shape& shape = match['t']->shape();
  const Parts z = PartsOf(match['z'], shape, builder);
  const double c = hlo::ElementAsDouble(*SplatValue(*match['c']), 0);
  hlo::CompareAttributes comparison = match.root()->comparison();
  if (match.root()->operand(0) != match['t']) comparison.direction = analysis::Mirrored(comparison.direction);
  Instruction* compared = builder.Add(Opcode::kCompare, match.root()->shape(),
                                      {SumOfSquares(z, builder), builder.Splat(shape, c * c)}, comparison);
  const bool is_below =
      comparison.direction == ComparisonDirection::kLt || comparison.direction == ComparisonDirection::kLe;
  return is_below ? compared : builder.Binary(Opcode::kOr, compared, IsInfinite(z, builder));
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

constexpr Rule kMagnitudeRules[] = {
    {"multiply(abs'(z), abs'(z))", "real(z)^2 + imag(z)^2, or infinity", SquareOfMagnitude, ComplexZ, Rounds},
    {"compare.lt(t:abs'(z), c)", "compare.lt(real(z)^2 + imag(z)^2, c^2)", CompareSquares, ComplexZ, ModerateC, Rounds},
    {"compare.le(t:abs'(z), c)", "compare.le(real(z)^2 + imag(z)^2, c^2)", CompareSquares, ComplexZ, ModerateC, Rounds},
    {"compare.gt(t:abs'(z), c)", "compare.gt(real(z)^2 + imag(z)^2, c^2), or z infinite", CompareSquares, ComplexZ,
     ModerateC, Rounds},
    {"compare.ge(t:abs'(z), c)", "compare.ge(real(z)^2 + imag(z)^2, c^2), or z infinite", CompareSquares, ComplexZ,
     ModerateC, Rounds},
};

}  // namespace

absl::Span<const Rule> MagnitudeRules() { return kMagnitudeRules; }

}  // namespace kiln::passes::simplify
