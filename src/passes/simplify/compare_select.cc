// Comparisons, select and clamp.
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::ComparisonDirection;
using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

// Whether a comparison of equal values holds.
bool HoldsForEqual(ComparisonDirection direction) {
  return direction == ComparisonDirection::kEq || direction == ComparisonDirection::kGe ||
         direction == ComparisonDirection::kLe;
}

ComparisonDirection Swapped(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kGe:
      return ComparisonDirection::kLe;
    case ComparisonDirection::kGt:
      return ComparisonDirection::kLt;
    case ComparisonDirection::kLe:
      return ComparisonDirection::kGe;
    case ComparisonDirection::kLt:
      return ComparisonDirection::kGt;
    default:
      return direction;
  }
}

ComparisonDirection Negated(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kEq:
      return ComparisonDirection::kNe;
    case ComparisonDirection::kNe:
      return ComparisonDirection::kEq;
    case ComparisonDirection::kGe:
      return ComparisonDirection::kLt;
    case ComparisonDirection::kGt:
      return ComparisonDirection::kLe;
    case ComparisonDirection::kLe:
      return ComparisonDirection::kGt;
    default:
      return ComparisonDirection::kGe;
  }
}

Instruction* CompareAs(const Instruction& original, ComparisonDirection direction, Instruction* a, Instruction* b,
                       hlo::Builder& builder) {
  return builder.Add(Opcode::kCompare, original.shape(), {a, b},
                     hlo::CompareAttributes{direction, original.comparison().type});
}

Instruction* CompareEqual(const Match& match, hlo::Builder& builder) {
  return builder.Splat(match.root()->shape(), HoldsForEqual(match.root()->comparison().direction) ? 1 : 0);
}

// Of two predicates, the second being `value`.
Instruction* ComparePredicate(const Match& match, hlo::Builder& builder, bool value) {
  const ComparisonDirection direction = match.root()->comparison().direction;
  if (direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe) return nullptr;
  const bool same = (direction == ComparisonDirection::kEq) == value;
  return same ? match['x'] : builder.Unary(Opcode::kNot, match['x']);
}
Instruction* CompareTrue(const Match& match, hlo::Builder& builder) { return ComparePredicate(match, builder, true); }
Instruction* CompareFalse(const Match& match, hlo::Builder& builder) { return ComparePredicate(match, builder, false); }

Instruction* ConstantToTheRight(const Match& match, hlo::Builder& builder) {
  if (SplatValue(*match['x'])) return nullptr;
  return CompareAs(*match.root(), Swapped(match.root()->comparison().direction), match['x'], match['c'], builder);
}

// No unsigned value is below zero.
Instruction* CompareUnsignedZero(const Match& match, hlo::Builder& builder) {
  const PrimitiveType type = match['x']->shape().element_type();
  const ComparisonDirection direction = match.root()->comparison().direction;
  if (!hlo::IsUnsignedIntegral(type)) return nullptr;
  if (direction == ComparisonDirection::kLt) return builder.Splat(match.root()->shape(), 0);
  if (direction == ComparisonDirection::kGe) return builder.Splat(match.root()->shape(), 1);
  return nullptr;
}

// The negation of an ordering of floats is no ordering: NaN. Equality and integers may be negated.
Instruction* NegateCompare(const Match& match, hlo::Builder& builder) {
  const Instruction& compare = *match['t'];
  const ComparisonDirection direction = compare.comparison().direction;
  const bool equality = direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe;
  if (!equality && !Integral(compare)) return nullptr;
  return CompareAs(compare, Negated(direction), match['x'], match['y'], builder);
}

constexpr Rule kRules[] = {
    {"compare(x, x)", CompareEqual, Integral},
    {"compare(x, true)", CompareTrue},
    {"compare(x, false)", CompareFalse},
    {"compare(x, 0)", CompareUnsignedZero},
    {"compare(c, x)", ConstantToTheRight},
    {"not(t:compare'(x, y))", NegateCompare},
    {"select(true, x, y)", "x"},
    {"select(false, x, y)", "y"},
    {"select(p, x, x)", "x"},
    {"select(not(p), x, y)", "select(p, y, x)"},
    {"select(p, true, false)", "p"},
    {"select(p, false, true)", "not(p)"},
    {"select(p, select'(p, x, y), z)", "select(p, x, z)"},
    {"select(p, x, select'(p, y, z))", "select(p, x, z)"},
};

}  // namespace

absl::Span<const Rule> CompareSelectRules() { return kRules; }

}  // namespace kiln::passes::simplify
