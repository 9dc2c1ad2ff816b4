// Select.
#include "src/passes/simplify/known_predicates.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

// Of two ops that differ in one operand, one op over the selection. Comparisons of constants go the other way.
Instruction* SelectOperand(const Match& match, Builder& builder) {
  const Instruction &s = *match['s'], &t = *match['t'];
  if (s.opcode() != t.opcode() || s.opcode() == Opcode::kCompare || s.attributes() != t.attributes()) return nullptr;
  int64_t place = -1;
  for (int64_t i = 0; i < s.operand_count(); ++i) {
    if (s.operand(i) == t.operand(i)) continue;
    if (place >= 0 || s.operand(i)->shape() != t.operand(i)->shape()) return nullptr;
    place = i;
  }
  if (place < 0 || !Shape::SameDimensions(s.operand(place)->shape(), s.shape())) return nullptr;
  std::vector<Instruction*> operands(s.operands().begin(), s.operands().end());
  operands[place] = builder.Select(match['p'], operands[place], t.operand(place));
  return builder.Add(s.opcode(), s.shape(), std::move(operands), s.attributes());
}

// x on one side of a number, that number or its neighbour on the other.
Instruction* SelectOfNeighbours(const Match& match, Builder& builder) {
  const Instruction& compare = *match['s'];
  const ValueRange c = RangeOf(*match['c']), d = RangeOf(*match['d']);
  const auto direction = compare.comparison().direction;
  if (direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe) return nullptr;
  const bool is_low = direction == ComparisonDirection::kLt || direction == ComparisonDirection::kLe;
  const bool with_c = direction == ComparisonDirection::kLe || direction == ComparisonDirection::kGt;
  const long double last = with_c ? c.low : c.low - 1;  // of the lower side
  if (d.low != last && d.low != last + 1) return nullptr;
  const bool x_is_low = is_low == (match.root()->operand(1) == match['x']);
  return builder.Binary(x_is_low ? Opcode::kMinimum : Opcode::kMaximum, match['x'], match['d']);
}

// Within a choice, one that the first has made already.
Instruction* SelectWithin(const Match& match, Builder& builder) {
  const Instruction& inner = *match['s'];
  const bool is_first = match.root()->operand(1) == &inner;
  const std::optional<bool> known = Known(*match['q'], *match['p'], is_first);
  if (!known) return nullptr;
  Instruction* taken = inner.operands()[*known ? 1 : 2];
  return is_first ? builder.Select(match['p'], taken, match['x']) : builder.Select(match['p'], match['x'], taken);
}

uint64_t Bits(const Match& match, char letter) {
  return static_cast<uint64_t>(hlo::ElementAsInt64(*SplatValue(*match[letter]), 0));
}
bool IsMaskBelowD(const Match& match) {
  return Bits(match, 'd') == Bits(match, 'c') + 1 && (Bits(match, 'd') & Bits(match, 'c')) == 0;
}
constexpr Guard MaskBelowD{"d a power of two, c = d - 1", IsMaskBelowD};
bool IsMaskOfDBits(const Match& match) {
  return Bits(match, 'd') < 63 && Bits(match, 'c') == (uint64_t{1} << Bits(match, 'd')) - 1;
}
constexpr Guard MaskOfDBits{"c = 2^d - 1", IsMaskOfDBits};

constexpr Rule kSelectRules[] = {
    {"select(true, x, y)", "x"},
    {"select(false, x, y)", "y"},
    {"select(p, x, x)", "x"},
    {"select(not(p), x, y)", "select(p, y, x)"},
    {"select(p, true, false)", "p"},
    {"select(p, false, true)", "not(p)", SameShape},
    {"select(p, true, q)", "or(p, q)", SameShape},
    {"select(p, q, false)", "and(p, q)", SameShape},
    {"select(p, false, q)", "and(not(p), q)", SameShape},
    {"select(p, q, true)", "or(not(p), q)", SameShape},
    {"select(p, p, x)", "or(p, x)", SameShape},
    {"select(p, x, p)", "and(p, x)", SameShape},
    {"select(p, 1, 0)", "convert(p)", SameShape},
    {"select(p, 0, 1)", "convert(not(p))", SameShape},
    {"select(p, s:select(q, _, _), x)", "select(p, y, x), where q is known of p", SelectWithin},
    {"select(p, x, s:select(q, _, _))", "select(p, x, y), where q is known of p", SelectWithin},
    {"select(p, select'(q, x, y), select'(q, y, x))", "select(xor(p, q), y, x)", SameShape},
    {"select(p, not(q), q)", "xor(p, q)", SameShape, PredicateQ},
    {"select(p, q, not(q))", "not(xor(p, q))", SameShape, PredicateQ},
    {"select(p, convert(p), x)", "select(p, 1, x)", SameShape},
    {"select(p, x, convert(p))", "select(p, x, 0)", SameShape},
    {"select(p, select'(q, x, y), y)", "select(and(p, q), x, y)", SameShape},
    {"select(p, x, select'(q, x, y))", "select(or(p, q), x, y)", SameShape},
    {"select(p, s:elementwise'(...), t:elementwise'(...))", "s(select(p, x, y)), where they differ in one operand",
     SelectOperand},
    {"t:elementwise(select'(p, c, d))", "select(p, t(c), t(d))", SameShape},
    {"t:elementwise(select'(p, c, d), e)", "select(p, t(c, e), t(d, e))", SameShape},
    {"t:elementwise(e, select'(p, c, d))", "select(p, t(e, c), t(e, d))", SameShape},
    {"t:elementwise(select'(p, c, d), select'(p, e, f))", "select(p, t(c, e), t(d, f))", SameShape},
    {"and(p, select(p, x, y))", "and(p, x)"},
    {"or(p, select(p, x, y))", "or(p, y)"},
    {"select(compare.eq(x, c), x, c)", "c", NonZeroC},
    {"select(compare.eq(x, c), c, x)", "x", NonZeroC},
    {"select(compare.ne(x, c), x, c)", "x", NonZeroC},
    {"select(compare.ne(x, c), c, x)", "c", NonZeroC},
    {"select(compare.eq(x, y), x, y)", "y", IntegralX},
    {"select(compare.ne(x, y), x, y)", "x", IntegralX},
    {"select(compare.lt(x, y), x, y)", "minimum(x, y)", IntegralX},
    {"select(compare.le(x, y), x, y)", "minimum(x, y)", IntegralX},
    {"select(compare.lt(x, y), y, x)", "maximum(x, y)", IntegralX},
    {"select(compare.le(x, y), y, x)", "maximum(x, y)", IntegralX},
    {"select(s:compare(x, c), x, d)", "minimum(x, d) or maximum(x, d), of c and its neighbour d", SelectOfNeighbours,
     Integer},
    {"select(s:compare(x, c), d, x)", "minimum(x, d) or maximum(x, d), of c and its neighbour d", SelectOfNeighbours,
     Integer},
    // Remainders and quotients by powers of two, rounded down.
    {"select(compare.lt(t:subtract(and(add(v, m:and(shift-right-arithmetic(v, highest), c)), c), m), 0), add(t, d), t)",
     "and(v, c)", Signed, MaskBelowD},
    {"select(and(compare.ne(sign(v), 1), compare.ne(and(v, c), 0)), subtract(t, 1), "
     "t:shift-right-arithmetic(add(v, and(shift-right-arithmetic(v, highest), c)), d))",
     "shift-right-arithmetic(v, d)", Signed, MaskOfDBits},
    {"select(compare.lt(x, 0), negate(x), x)", "abs(x)", Signed},
    {"select(compare.lt(x, 0), x, negate(x))", "negate(abs(x))", Signed},
    {"select(compare.ge(x, 0), x, negate(x))", "abs(x)", Signed},
    {"select(compare.gt(x, 0), x, negate(x))", "abs(x)", Signed},
};

}  // namespace

absl::Span<const Rule> SelectRules() { return kSelectRules; }

}  // namespace kiln::passes::simplify
