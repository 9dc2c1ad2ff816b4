// Comparisons, and what logic makes of them. The negation of an ordering of floats is no ordering: NaN.
#include "src/analysis/structure.h"
#include "src/passes/simplify/indices.h"
#include "src/passes/simplify/rule_node.h"
#include "src/passes/simplify/rules.h"

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

// Whether each of the two constants is equal, less, ... is known.
Instruction* CompareOfChoice(const Match& match, Builder& builder) {
  Instruction* of_c = CompareLike(match, match['c'], match['e'], /*swap=*/false, builder);
  return builder.Select(match['p'], of_c, CompareLike(match, match['d'], match['e'], /*swap=*/false, builder));
}

// Of two bounds of x on one side, the one that decides: both of them hold, or one.
Instruction* TighterBound(const Match& match, Builder&) {
  const Instruction &s = *match['s'], &t = *match['t'];
  const ComparisonDirection direction = s.comparison().direction;
  if (s.attributes() != t.attributes() || analysis::Mirrored(direction) == direction) return nullptr;
  const double c = hlo::ElementAsDouble(*SplatValue(*match['c']), 0);
  const double d = hlo::ElementAsDouble(*SplatValue(*match['d']), 0);
  if (!(c < d || d < c)) return nullptr;  // NaN, or numbers past 2^53
  const bool upper = direction == ComparisonDirection::kLt || direction == ComparisonDirection::kLe;
  const bool takes_less = upper == (match.root()->opcode() == Opcode::kAnd);
  return match[(c < d) == takes_less ? 's' : 't'];
}

// A count ends below c.
bool CountsBelow(const Match& match) {
  const Shape& shape = match['t']->shape();
  const int64_t count = shape.dimensions(match['t']->dimensions()[0]);
  if (!hlo::IsIntegral(shape.element_type()) || count == 0 || !FitsIndex(count - 1, shape.element_type())) return false;
  const int64_t bound = hlo::ElementAsInt64(*SplatValue(*match['c']), 0);
  return bound >= count || (bound < 0 && hlo::IsUnsignedIntegral(shape.element_type()));  // a u64 past s64's range
}
constexpr Guard BelowC{"it ends below c", CountsBelow};

constexpr Rule kRules[] = {
    {"compare(c, v)", "compare(v, c), the direction swapped", ConstantToTheRight},
    {"compare(s:convert(x), convert(y))", "compare(x, y), where nothing was lost", CompareOfConverts},
    {"compare(select'(p, c, d), e)", "select(p, compare(c, e), compare(d, e))", CompareOfChoice, SameShape},
    {"compare.lt(t:iota(), c)", "true", BelowC},
    {"compare.le(t:iota(), c)", "true", BelowC},
    {"compare.ne(t:iota(), c)", "true", BelowC},
    {"compare.eq(t:iota(), c)", "false", BelowC},
    {"compare.gt(t:iota(), c)", "false", BelowC},
    {"compare.ge(t:iota(), c)", "false", BelowC},
    {"compare.lt(x, 0)", "false", NonNegativeX},
    {"compare.ge(x, 0)", "true", Integer, NonNegativeX},
    {"compare.eq(x, x)", "true", FiniteX},
    {"compare.le(x, x)", "true", FiniteX},
    {"compare.ne(x, x)", "false", FiniteX},
    {"compare.lt(x, x)", "false"},
    {"compare.eq(x, true)", "x"},
    {"compare.eq(x, false)", "not(x)"},
    {"compare.ne(x, true)", "not(x)"},
    {"compare.ne(x, false)", "x"},
    {"compare.ne(x, y)", "xor(x, y)", PredicateX},
    {"compare.lt(x, lowest)", "false", Integral},
    {"compare.ge(x, lowest)", "true", Integral},
    {"compare.gt(x, highest)", "false", Integral},
    {"compare.le(x, highest)", "true", Integral},
    {"compare.le(x, lowest)", "compare.eq(x, lowest)", Integral},
    {"compare.gt(x, lowest)", "compare.ne(x, lowest)", Integral},
    {"compare.ge(x, highest)", "compare.eq(x, highest)", Integral},
    {"compare.lt(x, highest)", "compare.ne(x, highest)", Integral},
    {"compare.eq(add(v, c), d)", "compare.eq(v, subtract(d, c))", Integer},
    {"compare.ne(add(v, c), d)", "compare.ne(v, subtract(d, c))", Integer},
    {"compare.eq(subtract(c, v), d)", "compare.eq(v, subtract(c, d))", Integer},
    {"compare.ne(subtract(c, v), d)", "compare.ne(v, subtract(c, d))", Integer},
    {"compare.eq(xor(v, c), d)", "compare.eq(v, xor(c, d))"},
    {"compare.ne(xor(v, c), d)", "compare.ne(v, xor(c, d))"},
    {"compare.eq(negate(v), c)", "compare.eq(v, negate(c))"},
    {"compare.ne(negate(v), c)", "compare.ne(v, negate(c))"},
    {"compare.eq(subtract(x, y), 0)", "compare.eq(x, y)", Integer},
    {"compare.ne(subtract(x, y), 0)", "compare.ne(x, y)", Integer},
    {"compare.eq(xor(x, y), 0)", "compare.eq(x, y)"},
    {"compare.ne(xor(x, y), 0)", "compare.ne(x, y)"},
    {"compare.eq(add(x, y), x)", "compare.eq(y, 0)", Integer},
    {"compare.ne(add(x, y), x)", "compare.ne(y, 0)", Integer},
    {"compare.eq(abs(x), 0)", "compare.eq(x, 0)", RealX},
    {"compare.ne(abs(x), 0)", "compare.ne(x, 0)", RealX},
    {"compare.ne(convert(p), 0)", "p", PredicateP},
    {"compare.eq(convert(p), 0)", "not(p)", PredicateP},
    {"compare.eq(convert(p), 1)", "p", PredicateP},
    {"compare.ne(convert(p), 1)", "not(p)", PredicateP},
    {"not(compare.eq'(x, y))", "compare.ne(x, y)"},
    {"not(compare.ne'(x, y))", "compare.eq(x, y)"},
    {"not(compare.lt'(x, y))", "compare.ge(x, y)", IntegralX},
    {"not(compare.le'(x, y))", "compare.gt(x, y)", IntegralX},
    {"and(s:compare(x, c), t:compare(x, d))", "the narrower one", TighterBound},
    {"or(s:compare(x, c), t:compare(x, d))", "the wider one", TighterBound},
    {"and(compare.le(x, y), compare.ge(x, y))", "compare.eq(x, y)"},
    {"and(compare.lt(x, y), compare.gt(x, y))", "false"},
    {"and(compare.lt(x, y), compare.ge(x, y))", "false"},
    {"and(compare.lt(x, y), compare.eq(x, y))", "false"},
    {"and(compare.le(x, y), compare.ne(x, y))", "compare.lt(x, y)"},
    {"or(compare.lt(x, y), compare.eq(x, y))", "compare.le(x, y)"},
    {"or(compare.lt(x, y), compare.gt(x, y))", "compare.ne(x, y)", IntegralX},
    {"or(compare.le(x, y), compare.ge(x, y))", "true", IntegralX},
    {"or(compare.lt(x, y), compare.ge(x, y))", "true", IntegralX},
};

}  // namespace

absl::Span<const Rule> CompareRules() { return kRules; }

}  // namespace kiln::passes::simplify
