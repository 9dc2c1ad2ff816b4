// Comparisons, and what logic makes of them. The negation of an ordering of floats is no ordering: NaN.
#include "src/analysis/structure.h"
#include "src/passes/simplify/known_bits.h"
#include "src/passes/simplify/known_predicates.h"
#include "src/passes/simplify/rule_node.h"
#include "src/passes/simplify/rules.h"
#include "src/passes/simplify/thresholds.h"

namespace kiln::passes::simplify {
namespace {

// The comparison of the root over other operands, which may be swapped.
Instruction* CompareLike(const Match& match, Instruction* a, Instruction* b, bool swap, Builder& builder) {
  hlo::CompareAttributes compare = match.root()->comparison();
  if (swap) compare.direction = analysis::Mirrored(compare.direction);
  return builder.Add(Opcode::kCompare, match.root()->shape(), {a, b}, compare);
}

Instruction* ConstantToTheRight(const Match& match, Builder& builder) {
  return CompareLike(match, match['v'], match['c'], /*swap=*/true, builder);
}

// Both converted from the same type, which lost nothing and kept the order.
Instruction* CompareOfConverts(const Match& match, Builder& builder) {
  const PrimitiveType from = match['x']->shape().element_type();
  const PrimitiveType to = match['s']->shape().element_type();
  const hlo::TypeClass kind = hlo::ClassOf(from);
  if (match['y']->shape().element_type() != from || hlo::ClassOf(to) != kind || !IsLossless(from, to) ||
      match.root()->comparison().type == hlo::ComparisonType::kTotalOrder) {
    return nullptr;
  }
  return CompareLike(match, match['x'], match['y'], /*swap=*/false, builder);
}

bool IsTotalOrder(const Instruction& compare) {
  return compare.comparison().type == hlo::ComparisonType::kTotalOrder &&
         hlo::IsFloating(compare.operand(0)->shape().element_type());
}

// With a constant that is one of the type before the conversion, which lost nothing and kept the order.
Instruction* CompareOfConvert(const Match& match, Builder& builder) {
  const PrimitiveType from = match['x']->shape().element_type(), to = match['s']->shape().element_type();
  const Literal c = *SplatValue(*match['c']);
  if (hlo::ClassOf(to) != hlo::ClassOf(from) || !IsLossless(from, to) || IsTotalOrder(*match.root())) return nullptr;
  const Literal narrow = hlo::IsIntegral(from) ? hlo::LiteralOf(Shape::Scalar(from), hlo::ElementAsInt64(c, 0))
                                               : hlo::LiteralOf(Shape::Scalar(from), hlo::ElementAsDouble(c, 0));
  const bool is_kept = hlo::IsIntegral(from) ? hlo::ElementAsInt64(narrow, 0) == hlo::ElementAsInt64(c, 0)
                                             : hlo::ElementAsDouble(narrow, 0) == hlo::ElementAsDouble(c, 0);
  if (!is_kept) return nullptr;
  return CompareLike(match, match['x'], builder.Splat(match['x']->shape(), narrow), /*swap=*/false, builder);
}

// Which of less, equal, greater and unordered a comparison takes.
enum Outcomes { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8, kAll = 15 };
int OutcomesOf(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kEq:
      return kEqual;
    case ComparisonDirection::kNe:
      return kLess | kGreater | kUnordered;
    case ComparisonDirection::kLt:
      return kLess;
    case ComparisonDirection::kLe:
      return kLess | kEqual;
    case ComparisonDirection::kGt:
      return kGreater;
    case ComparisonDirection::kGe:
      return kGreater | kEqual;
  }
  return 0;
}

// Two comparisons of x and y are one.
Instruction* OneComparison(const Match& match, Builder& builder) {
  const Instruction &s = *match['s'], &t = *match['t'];
  if (IsTotalOrder(s) || IsTotalOrder(t)) return nullptr;
  const PrimitiveType type = match['x']->shape().element_type();
  const bool swapped = s.operand(0) != t.operand(0);
  const int a = OutcomesOf(s.comparison().direction);
  const int b = OutcomesOf(swapped ? analysis::Mirrored(t.comparison().direction) : t.comparison().direction);
  const Opcode opcode = match.root()->opcode();
  const int possible = hlo::IsFloating(type) || hlo::IsComplex(type) ? kAll : kAll - kUnordered;
  const int both = (opcode == Opcode::kAnd ? a & b : opcode == Opcode::kOr ? a | b : a ^ b) & possible;
  const Shape& shape = match.root()->shape();
  if (both == 0 || both == possible) {
    return builder.Splat(shape,
                         both == 0 ? hlo::ZeroLiteral(shape.element_type()) : hlo::OneLiteral(shape.element_type()));
  }
  for (int i = 0; i < 6; ++i) {
    const auto direction = static_cast<ComparisonDirection>(i);
    if ((OutcomesOf(direction) & possible) != both) continue;
    return builder.Add(Opcode::kCompare, shape, {match['x'], match['y']}, hlo::CompareAttributes{direction});
  }
  return nullptr;
}

// Whether every number that compares so with c compares so with d, which is as `order` says above it.
bool Implies(ComparisonDirection a, ComparisonDirection b, int order) {
  const int of_a = OutcomesOf(a) & ~kUnordered, of_b = OutcomesOf(b) & ~kUnordered;
  // Where a number lies: below both, at the lower one, between, at the upper one, above both.
  for (int place = 0; place < 5; ++place) {
    const int lower = place == 0 ? kLess : place == 1 ? kEqual : kGreater;
    const int upper = place < 3 ? kLess : place == 3 ? kEqual : kGreater;
    if (order == 0 && (place == 2 || place == 3)) continue;
    const int with_c = order == 0 || order > 0 ? lower : upper, with_d = order == 0 || order < 0 ? lower : upper;
    if ((of_a & with_c) != 0 && (of_b & with_d) == 0) return false;
  }
  return true;
}

ComparisonDirection Negated(ComparisonDirection direction) {
  for (int i = 0; i < 6; ++i) {
    const auto other = static_cast<ComparisonDirection>(i);
    if ((OutcomesOf(direction) ^ OutcomesOf(other)) % kUnordered == kAll % kUnordered) return other;
  }
  return direction;
}

// Of two comparisons of x with constants, the one that decides; or what they contradict each other to.
Instruction* TighterBound(const Match& match, Builder& builder) {
  const Instruction &s = *match['s'], &t = *match['t'];
  const ValueRange c = RangeOf(*match['c']), d = RangeOf(*match['d']);
  if (IsTotalOrder(s) || IsTotalOrder(t) || c.low != c.high || d.low != d.high) return nullptr;
  const ComparisonDirection a = s.comparison().direction, b = t.comparison().direction;
  const int order = c.low < d.low ? 1 : c.low > d.low ? -1 : 0;
  const bool is_and = match.root()->opcode() == Opcode::kAnd, has_nan = !IsNeverNan(*match['x']);
  // NaN is unequal to all numbers.
  const bool s_takes_nan = has_nan && a == ComparisonDirection::kNe,
             t_takes_nan = has_nan && b == ComparisonDirection::kNe;
  if (Implies(a, b, order) && (t_takes_nan || !s_takes_nan)) return match[is_and ? 's' : 't'];
  if (Implies(b, a, -order) && (s_takes_nan || !t_takes_nan)) return match[is_and ? 't' : 's'];
  if (is_and && Implies(a, Negated(b), order) && !(s_takes_nan && t_takes_nan)) {
    return builder.Splat(match.root()->shape(), hlo::ZeroLiteral(PrimitiveType::kPred));
  }
  if (!is_and && Implies(Negated(a), b, order) && (!has_nan || s_takes_nan || t_takes_nan)) {
    return builder.Splat(match.root()->shape(), hlo::OneLiteral(PrimitiveType::kPred));
  }
  return nullptr;
}

Instruction* KnownComparison(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  if (IsTotalOrder(root)) return nullptr;
  const ValueRange x = RangeOf(*match['x']), y = RangeOf(*match['y']);
  const bool nothing_but_nan = x.low > x.high || y.low > y.high;
  const int numbers = (x.low < y.high ? kLess : 0) | (x.low <= y.high && y.low <= x.high ? kEqual : 0) |
                      (x.high > y.low ? kGreater : 0);
  const int possible = (nothing_but_nan ? 0 : numbers) | (x.has_nan || y.has_nan ? kUnordered : 0);
  const int taken = OutcomesOf(root.comparison().direction);
  if ((possible & taken) == 0) return builder.Splat(root.shape(), hlo::ZeroLiteral(PrimitiveType::kPred));
  return (possible & ~taken) == 0 ? builder.Splat(root.shape(), hlo::OneLiteral(PrimitiveType::kPred)) : nullptr;
}

bool IsLeast(const ValueRange& x, const ValueRange& c) { return x.low == c.high; }
bool IsMost(const ValueRange& x, const ValueRange& c) { return x.high == c.low; }
bool IsSecond(const ValueRange& x, const ValueRange& c) { return x.low + 1 == c.low; }
constexpr Guard LeastC{"c the least that x may be", HoldsForBoth<IsLeast, 'x', 'c'>};
constexpr Guard MostC{"c the most that x may be", HoldsForBoth<IsMost, 'x', 'c'>};
constexpr Guard SecondC{"c one above the least that x may be", HoldsForBoth<IsSecond, 'x', 'c'>};
// Whether t and u are one function of x and y that gives equal results to equal arguments alone, where asked for that.
bool IsInjective(const Match& match) {
  const Instruction &s = *match['s'], &t = *match['t'], &u = *match['u'];
  const ComparisonDirection direction = s.comparison().direction;
  if (t.opcode() != u.opcode() || t.attributes() != u.attributes() || t.operand(0)->shape() != u.operand(0)->shape() ||
      (direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe)) {
    return false;
  }
  switch (t.opcode()) {
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kXor:
    case Opcode::kNot:
      return IsIntegralOrPred(t.shape().element_type()) && t.shape().element_type() != PrimitiveType::kPred;
    case Opcode::kMultiply: {
      if (match['z'] == nullptr) return false;
      const std::optional<Literal> factor = SplatValue(*match['z']);
      return hlo::IsIntegral(t.shape().element_type()) && factor && hlo::ElementAsInt64(*factor, 0) % 2 != 0;
    }
    case Opcode::kNegate:
      return !IsTotalOrder(s);
    default:
      return false;
  }
}
constexpr Guard InjectiveTU{"t like u, a function that has an inverse", IsInjective};

// Whether they are beyond 0 is known of rectified numbers as well, which are kept in place of what they come from.
Instruction* CompareRectified(const Match& match, Builder& builder) {
  Instruction* rectified = nullptr;
  const auto is_zero = [](const Instruction& y) {
    const std::optional<Literal> value = SplatValue(y);
    return value && hlo::IsSplatOf(*value, 0.0);
  };
  for (Instruction* user : match['v']->users()) {
    if (user->opcode() == Opcode::kMaximum && (is_zero(*user->operand(0)) || is_zero(*user->operand(1)))) {
      rectified = user;
    } else if (user->opcode() != Opcode::kCompare || !is_zero(*user->operand(1)) ||
               user->comparison().direction != ComparisonDirection::kGt) {
      return nullptr;
    }
  }
  return rectified == nullptr ? nullptr : CompareLike(match, rectified, match['c'], /*swap=*/false, builder);
}

// The other side times the factor's inverse: odd numbers have one where products wrap around.
Instruction* CompareOfProduct(const Match& match, Builder& builder) {
  const ComparisonDirection direction = match.root()->comparison().direction;
  const uint64_t factor = static_cast<uint64_t>(hlo::ElementAsInt64(*SplatValue(*match['c']), 0));
  if ((direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe) || factor % 2 == 0) {
    return nullptr;
  }
  uint64_t inverse = factor;  // of the last 3 digits; every step doubles them
  for (int digits = 3; digits < 64; digits *= 2) inverse *= 2 - factor * inverse;
  const uint64_t other = static_cast<uint64_t>(hlo::ElementAsInt64(*SplatValue(*match['d']), 0));
  const Shape& shape = match['v']->shape();
  const Literal number = hlo::LiteralOf(Shape::Scalar(shape.element_type()), static_cast<int64_t>(other * inverse));
  return CompareLike(match, match['v'], builder.Splat(shape, number), /*swap=*/false, builder);
}

// Whether d is within the bounds, where only numbers beyond them are changed.
bool IsWithin(const Match& match) {
  const Instruction& t = *match['t'];
  const ValueRange d = RangeOf(*match['d']), c = RangeOf(*match['c']);
  if (IsTotalOrder(*match.root()) || d.has_nan || c.has_nan) return false;
  if (t.opcode() == Opcode::kMaximum) return c.high < d.low;
  if (t.opcode() == Opcode::kMinimum) return c.low > d.high;
  const ValueRange e = RangeOf(*match['e']);
  return !e.has_nan && c.high < d.low && d.high < e.low;
}
bool HasOtherDigits(const Match& match) {
  const KnownBits x = BitsOf(*match['x']), c = BitsOf(*match['c']);
  return (c.maybe & ~x.maybe) != 0 || (x.always & ~c.maybe) != 0;
}
constexpr Guard NoSuchDigits{"x never has the digits of c", HasOtherDigits};

bool IsWidth(const Match& match) {
  const Literal c = *SplatValue(*match['c']);
  return hlo::ElementAsInt64(c, 0) == hlo::BitWidth(c.shape().element_type());
}
constexpr Guard WidthC{"c the width", IsWidth};
bool IsNumeric(const Match& match) { return !IsTotalOrder(*match.root()); }
constexpr Guard Numeric{"no total order", IsNumeric};
constexpr Guard WithinBounds{"d within the bounds", IsWithin};

constexpr Rule kCompareRules[] = {
    {"compare(c, v)", "compare(v, c), the direction swapped", ConstantToTheRight},
    {"compare(s:convert(x), convert(y))", "compare(x, y), where nothing was lost", CompareOfConverts},
    {"compare(s:convert(x), c)", "compare(x, c), where c is of x's type as well", CompareOfConvert},
    {"s:compare(convert(p), c)", "select(p, s(1, c), s(0, c))", PredicateP},
    {"compare(x, y)", "true or false, where what is known of x and y tells", KnownComparison},
    {"compare.gt(v, c)", "compare.gt(maximum(v, 0), c), where nothing else is made of v", CompareRectified, Floating,
     ZeroC},
    {"compare.eq(x, c)", "false", IntegerX, NoSuchDigits},
    {"compare.ne(x, c)", "true", IntegerX, NoSuchDigits},
    {"compare.eq(x, x)", "true", NeverNanX},
    {"compare.le(x, x)", "true", NeverNanX},
    {"compare.ne(x, x)", "false", NeverNanX},
    {"compare.lt(x, x)", "false"},
    {"compare.eq(x, true)", "x"},
    {"compare.eq(x, false)", "not(x)"},
    {"compare.ne(subtract(0, x), subtract(0, x))", "compare.ne(x, x)", Floating},
    {"compare.ne(x, true)", "not(x)"},
    {"compare.ne(x, false)", "x"},
    {"compare.ne(x, y)", "xor(x, y)", PredicateX},
    {"compare.lt(x, y)", "and(not(x), y)", PredicateX},
    {"compare.le(x, y)", "or(not(x), y)", PredicateX},
    {"compare.le(x, c)", "compare.eq(x, c)", Integral, LeastC},
    {"compare.gt(x, c)", "compare.ne(x, c)", Integral, LeastC},
    {"compare.ge(x, c)", "compare.eq(x, c)", Integral, MostC},
    {"compare.lt(x, c)", "compare.ne(x, c)", Integral, MostC},
    {"compare.lt(x, c)", "compare.eq(x, subtract(c, 1))", Integer, SecondC},
    {"compare.ge(x, c)", "compare.ne(x, subtract(c, 1))", Integer, SecondC},
    {"compare.eq(add(v, c), d)", "compare.eq(v, subtract(d, c))", Integer},
    {"compare.ne(add(v, c), d)", "compare.ne(v, subtract(d, c))", Integer},
    {"compare.eq(subtract(c, v), d)", "compare.eq(v, subtract(c, d))", Integer},
    {"compare.ne(subtract(c, v), d)", "compare.ne(v, subtract(c, d))", Integer},
    {"compare.eq(xor(v, c), d)", "compare.eq(v, xor(c, d))"},
    {"compare.ne(xor(v, c), d)", "compare.ne(v, xor(c, d))"},
    {"compare.eq(negate(v), c)", "compare.eq(v, negate(c))"},
    {"compare.ne(negate(v), c)", "compare.ne(v, negate(c))"},
    {"compare(multiply(v, c), d)", "compare(v, d / c), of odd factors, modulo the type", CompareOfProduct, Integer},
    {"s:compare(t:elementwise(_, _), d)", "compare(v, first number not below d after t)", CompareBeforeOp, Integer},
    {"s:compare(t:elementwise(_, _, _), d)", "compare(v, first number not below d after t)", CompareBeforeOp, Integer},
    {"s:compare(t:maximum'(v, c), d)", "s(v, d)", Floating, WithinBounds},
    {"s:compare(t:minimum'(v, c), d)", "s(v, d)", Floating, WithinBounds},
    {"s:compare(t:clamp'(c, v, e), d)", "s(v, d)", Floating, WithinBounds},
    {"compare.eq(subtract(x, y), 0)", "compare.eq(x, y)", Integer},
    {"compare.ne(subtract(x, y), 0)", "compare.ne(x, y)", Integer},
    {"compare.eq(xor(x, y), 0)", "compare.eq(x, y)"},
    {"compare.ne(xor(x, y), 0)", "compare.ne(x, y)"},
    {"compare.eq(add(x, y), x)", "compare.eq(y, 0)", Integer},
    {"compare.ne(add(x, y), x)", "compare.ne(y, 0)", Integer},
    {"s:compare(t:elementwise(x, z), u:elementwise(y, z))", "s(x, y)", InjectiveTU},
    {"s:compare(t:elementwise(z, x), u:elementwise(z, y))", "s(x, y)", InjectiveTU},
    {"s:compare(t:elementwise(x), u:elementwise(y))", "s(x, y)", InjectiveTU},
    {"s:compare(not(x), not(y))", "s(y, x)", Integer},
    {"s:compare(not(v), c)", "s(not(c), v)", Integer},
    {"s:compare(negate(x), negate(y))", "s(y, x)", Floating},
    {"s:compare(negate(v), c)", "s(negate(c), v)", Floating},
    {"compare.eq(subtract(x, y), x)", "compare.eq(y, 0)", Integer},
    {"compare.ne(subtract(x, y), x)", "compare.ne(y, 0)", Integer},
    {"compare.eq(maximum(x, y), x)", "compare.ge(x, y)", NotComplex},
    {"compare.ne(maximum(x, y), x)", "compare.lt(x, y)", Integral},
    {"compare.le(maximum(x, y), x)", "compare.ge(x, y)", NotComplex},
    {"compare.gt(maximum(v, y), v)", "compare.lt(v, y)", NotComplex},
    {"compare.eq(minimum(x, y), x)", "compare.le(x, y)", NotComplex},
    {"compare.ne(minimum(x, y), x)", "compare.gt(x, y)", Integral},
    {"compare.ge(minimum(x, y), x)", "compare.le(x, y)", NotComplex},
    {"compare.lt(minimum(v, y), v)", "compare.gt(v, y)", NotComplex},
    {"compare.lt(maximum(x, y), x)", "false"},
    {"compare.ge(maximum(x, y), x)", "true", Integral},
    {"compare.gt(minimum(x, y), x)", "false"},
    {"compare.le(minimum(x, y), x)", "true", Integral},
    {"s:compare(sign(x), c)", "s(x, c)", NotComplex, ZeroC},
    {"compare.eq(sign(x), 1)", "compare.gt(x, 0)", NotComplex},
    {"compare.eq(sign(x), -1)", "compare.lt(x, 0)", NotComplex},
    {"compare.ne(sign(x), 1)", "compare.eq(x, 0)", IntegralX, NonNegativeX},
    // Quotients that are rounded down differ from those rounded towards 0 below it.
    {"and(compare.eq(x, 0), compare.ne(and(x, c), 0))", "false", IntegralX},
    {"and(compare.eq(x, 0), compare.ne(remainder(x, c), 0))", "false", IntegralX, NonZeroC},
    {"s:compare(subtract(x, c), 0)", "s(x, c)", WideFloat, FiniteC, Numeric},
    {"s:compare(subtract(c, x), 0)", "s(c, x)", WideFloat, FiniteC, Numeric},
    {"s:compare(add(x, c), 0)", "s(x, negate(c))", WideFloat, FiniteC, Numeric},
    {"compare.le(abs(x), 0)", "compare.eq(x, 0)", Floating},
    {"compare.eq(abs(x), 0)", "compare.eq(x, 0)", RealX},
    {"compare.ne(abs(x), 0)", "compare.ne(x, 0)", RealX},
    {"compare.eq(popcnt(x), 0)", "compare.eq(x, 0)"},
    {"compare.ne(popcnt(x), 0)", "compare.ne(x, 0)"},
    {"compare.eq(count-leading-zeros(x), c)", "compare.eq(x, 0)", WidthC},
    {"compare.ne(count-leading-zeros(x), c)", "compare.ne(x, 0)", WidthC},
    {"and(compare.eq'(x, 0), compare.eq'(y, 0))", "compare.eq(or(x, y), 0)", IntegerX},
    {"or(compare.ne'(x, 0), compare.ne'(y, 0))", "compare.ne(or(x, y), 0)", IntegerX},
    {"and(compare.lt'(x, 0), compare.lt'(y, 0))", "compare.lt(and(x, y), 0)", IntegerX},
    {"or(compare.lt'(x, 0), compare.lt'(y, 0))", "compare.lt(or(x, y), 0)", IntegerX},
    {"xor(compare.lt'(x, 0), compare.lt'(y, 0))", "compare.lt(xor(x, y), 0)", IntegerX},
    {"and(compare.ge'(x, 0), compare.ge'(y, 0))", "compare.ge(or(x, y), 0)", IntegerX},
    {"not(compare.eq'(x, y))", "compare.ne(x, y)"},
    {"not(compare.ne'(x, y))", "compare.eq(x, y)"},
    {"not(compare.lt'(x, y))", "compare.ge(x, y)", IntegralX},
    {"not(compare.le'(x, y))", "compare.gt(x, y)", IntegralX},
    {"and(s:compare(x, c), t:compare(x, d))", "the narrower one, or false", TighterBound},
    {"or(s:compare(x, c), t:compare(x, d))", "the wider one, or true", TighterBound},
    {"and(s:compare(x, y), t:compare(x, y))", "a comparison of x and y", OneComparison},
    {"and(s:compare(x, y), t:compare(y, x))", "a comparison of x and y", OneComparison},
    {"or(s:compare(x, y), t:compare(x, y))", "a comparison of x and y", OneComparison},
    {"or(s:compare(x, y), t:compare(y, x))", "a comparison of x and y", OneComparison},
    {"xor(s:compare(x, y), t:compare(x, y))", "a comparison of x and y", OneComparison},
    {"xor(s:compare(x, y), t:compare(y, x))", "a comparison of x and y", OneComparison},
};

// What a comparison is where another one of the same numbers, or of one of them with constants, is true.
std::optional<bool> KnownByOutcome(const Instruction& asked, const Instruction& given, bool value) {
  if (IsTotalOrder(asked) || IsTotalOrder(given)) return std::nullopt;
  const bool may_be_nan = !IsIntegralOrPred(given.operand(0)->shape().element_type());
  const int all = may_be_nan ? kAll : kAll - kUnordered;
  int a = OutcomesOf(asked.comparison().direction) & all;
  const int outcomes = OutcomesOf(given.comparison().direction) & all, g = value ? outcomes : all & ~outcomes;
  if (asked.operand(0) == given.operand(1) && asked.operand(1) == given.operand(0)) {
    a = OutcomesOf(analysis::Mirrored(asked.comparison().direction)) & all;
  } else if (asked.operand(0) != given.operand(0)) {
    return std::nullopt;
  } else if (asked.operand(1) != given.operand(1)) {
    const ValueRange c = RangeOf(*given.operand(1)), d = RangeOf(*asked.operand(1));
    if (!SplatValue(*given.operand(1)) || !SplatValue(*asked.operand(1)) || c.has_nan || d.has_nan ||
        (g & kUnordered) != 0) {
      return std::nullopt;
    }
    const ComparisonDirection direction = value ? given.comparison().direction : Negated(given.comparison().direction);
    const int order = c.low < d.low ? 1 : c.low > d.low ? -1 : 0;
    if (Implies(direction, asked.comparison().direction, order)) return true;
    if (Implies(direction, Negated(asked.comparison().direction), order)) return false;
    return std::nullopt;
  }
  if ((g & ~a) == 0) return true;
  return (g & a) == 0 ? std::optional(false) : std::nullopt;
}

}  // namespace

std::optional<bool> Known(const Instruction& asked, const Instruction& given, bool value, int steps) {
  if (&asked == &given) return value;
  if (steps == 0) return std::nullopt;
  if (given.opcode() == Opcode::kNot) return Known(asked, *given.operand(0), !value, steps - 1);
  if (asked.opcode() == Opcode::kNot) {
    const std::optional<bool> known = Known(*asked.operand(0), given, value, steps - 1);
    return known ? std::optional(!*known) : std::nullopt;
  }
  if (given.opcode() == (value ? Opcode::kAnd : Opcode::kOr)) {
    const std::optional<bool> known = Known(asked, *given.operand(0), value, steps - 1);
    return known ? known : Known(asked, *given.operand(1), value, steps - 1);
  }
  if (asked.opcode() == Opcode::kAnd || asked.opcode() == Opcode::kOr) {
    // One operand decides, or is the other one.
    const bool decides = asked.opcode() == Opcode::kOr;
    const std::optional<bool> a = Known(*asked.operand(0), given, value, steps - 1),
                              b = Known(*asked.operand(1), given, value, steps - 1);
    if (a == decides || b == decides) return decides;
    return a && b ? std::optional(!decides) : std::nullopt;
  }
  if (asked.opcode() == Opcode::kCompare && given.opcode() == Opcode::kCompare) {
    return KnownByOutcome(asked, given, value);
  }
  return std::nullopt;
}

absl::Span<const Rule> CompareRules() { return kCompareRules; }

}  // namespace kiln::passes::simplify
