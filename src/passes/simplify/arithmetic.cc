// Sums, products, quotients. NaN, infinities and the sign of zero keep their meaning, except that x + 0 is x also for
// x = -0. Integers wrap around; division by zero gives -1, the remainder by zero is x.
#include <algorithm>
#include <cmath>

#include "src/passes/simplify/rules.h"
#include "src/passes/simplify/shortest_sum.h"
#include "src/passes/simplify/thresholds.h"

namespace kiln::passes::simplify {
namespace {

bool HasSign(PrimitiveType type) { return hlo::IsSignedIntegral(type) || hlo::IsFloating(type); }
constexpr Guard SignedOrFloat{"signed integers and real floats", TypeIs<HasSign>};

bool IsSmaller(const ValueRange& x, const ValueRange& y) {
  const long double least = std::max(y.low, -y.high);  // of |y|
  return !y.has_nan && least > 0 && x.low > -least && x.high < least;
}
constexpr Guard SmallerThanY{"|x| < |y|", HoldsForBoth<IsSmaller>};

// The lowest integer has no negation.
bool IsNegative(const Match& match) {
  const auto [c, high, minus_zero, has_nan] = RangeOf(*match['c']);
  return high < 0 && !has_nan &&
         (!hlo::IsIntegral(TypeOf(match)) || -c < std::ldexp(1.0L, hlo::BitWidth(TypeOf(match)) - 1));
}
bool IsNegativePower(const Match& match) {
  int exponent = 0;
  return IsNegative(match) && std::frexp(RangeOf(*match['c']).high, &exponent) == -0.5L;
}
constexpr Guard NegativeC{"c < 0", IsNegative};
constexpr Guard NegativePower{"-c a power of two", IsNegativePower};

// Then the sign of what is not 0 does not count.
bool IsTestedForZero(const Match& match) {
  const Instruction& root = *match.root();
  return !root.IsRoot() && absl::c_all_of(root.users(), [&](const Instruction* user) {
    if (user->opcode() != Opcode::kCompare) return false;
    const ComparisonDirection direction = user->comparison().direction;
    const std::optional<Literal> other = SplatValue(*user->operand(user->operand(0) == &root ? 1 : 0));
    return (direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe) && other &&
           hlo::IsSplatOf(*other, 0);
  });
}
constexpr Guard TestedForZero{"only compared with 0", IsTestedForZero};

bool IsFromZero(const Match& match) { return IsFinite(*match['c']) && IsNonNegative(*match['c']); }
constexpr Guard FiniteFromZero{"c finite, not below 0", IsFromZero};

// In the numbers, not modulo the type.
bool IsMultiple(const Match& match) {
  const int64_t c = hlo::ElementAsInt64(*SplatValue(*match['c']), 0),
                d = hlo::ElementAsInt64(*SplatValue(*match['d']), 0);
  if (c == 0 || d == 0) return false;
  if (TypeOf(match) == PrimitiveType::kU64) return static_cast<uint64_t>(c) % static_cast<uint64_t>(d) == 0;
  return d == -1 || c % d == 0;
}
constexpr Guard MultipleC{"c a multiple of d", IsMultiple};

bool IsWantedItself(const Match& match) { return !IsOnlyCompared(match); }
constexpr Guard NotJustCompared{"not compared alone", IsWantedItself};

bool IsSignPlace(const Match& match) {
  return hlo::ElementAsInt64(*SplatValue(*match['c']), 0) == hlo::BitWidth(TypeOf(match)) - 1;
}
constexpr Guard SignPlace{"c the sign's place", IsSignPlace};

constexpr Rule kArithmeticRules[] = {
    {"add(x, 0)", "x", SignlessZero},
    {"add(multiply(x, 0), y)", "y", Floating, FiniteX, SignlessZero},
    {"add(x, negate(y))", "subtract(x, y)"},
    {"add(x, not(x))", "not(0)", Integer},
    {"add(not(x), 1)", "negate(x)", Integer},
    {"add(add(v, c), d)", "add(v, add(c, d))", Integer},
    {"add(add(v, c), d)", "add(v, add(c, d))", WideFloat, OneSign, AnyOrder},
    {"add(subtract(v, c), d)", "add(v, subtract(d, c))", Integer},
    {"add(subtract(c, v), d)", "subtract(add(c, d), v)", Integer},
    {"add(add'(v, c), add'(x, d))", "add(add(v, x), add(c, d))", Integer},
    {"add(subtract(x, y), y)", "x", Integer},
    {"add(multiply'(x, y), multiply'(x, z))", "multiply(x, add(y, z))", Integer},
    {"add(multiply(divide(x, y), y), remainder(x, y))", "x", Integer},
    {"add(multiply'(v, c), v)", "multiply(v, add(c, 1))", Integer},
    {"add(multiply'(x, c), multiply'(y, c))", "multiply(add(x, y), c)", Floating, ExactReciprocal, NoOverflowBetween},
    {"add(minimum(x, y), maximum(x, y))", "add(x, y)", NotComplex},
    {"add(and(x, y), or(x, y))", "add(x, y)", Integer},
    {"add(and(x, y), xor(x, y))", "or(x, y)", Integer},
    {"add(x, y)", "the sum with the fewest ops", ShortestSum, Integer},

    {"subtract(x, 0)", "x", SignlessZero},
    {"subtract(x, x)", "0", FiniteX},
    {"subtract(0, x)", "negate(x)", Integer},
    {"subtract(x, negate(y))", "add(x, y)"},
    {"subtract(negate(x), 1)", "not(x)", Integer},
    {"subtract(not(x), not(y))", "subtract(y, x)", Integer},
    {"subtract(c, x)", "negate(x)", Floating, ZeroC, MinusZeroC},
    {"subtract(-1, x)", "not(x)", Integer},
    {"subtract(1, convert(p))", "convert(not(p))", NotComplex, PredicateP},
    {"subtract(or(x, y), and(x, y))", "xor(x, y)", Integer},
    {"subtract(or(x, y), y)", "and(x, not(y))", Integer},
    {"subtract(add(x, y), add'(x, z))", "subtract(y, z)", Integer},
    {"subtract(subtract(x, y), subtract'(z, y))", "subtract(x, z)", Integer},
    {"subtract(add(x, y), x)", "y", Integer},
    {"subtract(x, add(x, y))", "negate(y)", Integer},
    {"subtract(subtract(x, y), x)", "negate(y)", Integer},
    {"subtract(x, maximum(x, 0))", "minimum(x, 0)", Integer},
    {"subtract(x, minimum(x, 0))", "maximum(x, 0)", Integer},
    {"subtract(add(x, y), maximum(x, y))", "minimum(x, y)", Integer},
    {"subtract(add(x, y), minimum(x, y))", "maximum(x, y)", Integer},
    {"subtract(x, select'(p, x, 0))", "select(p, 0, x)", Integer, SameShape},
    {"subtract(x, select'(p, 0, x))", "select(p, x, 0)", Integer, SameShape},
    {"subtract(x, subtract(x, y))", "y", Integer},
    {"subtract(add(v, c), d)", "add(v, subtract(c, d))", Integer},
    {"subtract(subtract(v, c), d)", "subtract(v, add(c, d))", Integer},
    {"subtract(subtract(v, c), d)", "subtract(v, add(c, d))", WideFloat, OneSign, AnyOrder},
    {"subtract(c, add(v, d))", "subtract(subtract(c, d), v)", Integer},
    {"subtract(c, subtract(v, d))", "subtract(add(c, d), v)", Integer},
    {"subtract(c, subtract(d, v))", "add(v, subtract(c, d))", Integer},
    {"subtract(multiply'(x, y), multiply'(x, z))", "multiply(x, subtract(y, z))", Integer},
    {"subtract(x, multiply'(divide(x, y), y))", "remainder(x, y)", Integer},
    {"subtract(multiply'(v, c), v)", "multiply(v, subtract(c, 1))", Integer},
    {"subtract(x, y)", "the sum with the fewest ops", ShortestSum, Integer},

    {"multiply(x, 1)", "x"},
    {"multiply(x, 0)", "0", Integral},
    {"multiply(x, c)", "c", ZeroC, FiniteX, NonNegativeX},
    {"multiply(x, -1)", "negate(x)", NotComplex},
    {"multiply(negate(x), negate(y))", "multiply(x, y)"},
    {"multiply(negate(v), c)", "multiply(v, negate(c))", NotComplex},
    {"multiply(negate'(x), y)", "negate(multiply(x, y))", NotComplex},
    {"multiply(minimum(x, y), maximum(x, y))", "multiply(x, y)", NotComplex},
    {"multiply(shift-left(v, c), d)", "multiply(v, shift-left(d, c))", Integer},
    {"multiply(abs(x), abs(x))", "multiply(x, x)", NotComplex},
    {"multiply(abs(x), abs'(y))", "abs(multiply(x, y))", Floating, RealX},
    {"multiply(sign(x), abs(x))", "x", NotComplex},
    {"multiply(sign(x), x)", "abs(x)", Signed},
    {"multiply(sign(x), x)", "abs(x)", Floating},
    {"multiply(shift-left(1, x), y)", "shift-left(y, x)", Integer},
    {"multiply(multiply(v, c), d)", "multiply(v, multiply(c, d))", Integer},
    {"multiply(multiply(v, c), d)", "multiply(v, multiply(c, d))", ExactScale, NoOverflowBetween},
    {"multiply(multiply(v, c), d)", "multiply(v, multiply(c, d))", WideRange, NormalProduct, NoOverflowBetween},
    {"multiply(divide'(v, c), d)", "multiply(v, divide(d, c))", WideRange, NormalQuotient, NoOverflowBetween},
    {"multiply(convert(p), convert(q))", "convert(and(p, q))", PredicateP, PredicateQ, NotComplex},
    {"multiply(multiply'(multiply'(v, c), x), d)", "multiply(multiply(v, x), multiply(c, d))", Integer},
    {"multiply(multiply'(v, c), multiply'(x, d))", "multiply(multiply(v, x), multiply(c, d))", Integer},
    {"multiply(convert(p), x)", "select(p, x, 0)", Integer, PredicateP},
    {"multiply(convert(p), c)", "select(p, c, 0)", Floating, PredicateP, FiniteFromZero},

    {"divide(x, 1)", "x"},
    {"divide(x, -1)", "negate(x)", Signed},
    {"divide(x, -1)", "negate(x)", Floating},
    {"divide(negate(x), negate(y))", "divide(x, y)", Floating},
    {"divide(negate(v), c)", "divide(v, negate(c))", Floating},
    {"divide(negate'(x), y)", "negate(divide(x, y))", Floating},
    {"divide(x, negate'(y))", "negate(divide(x, y))", Floating},
    {"divide(abs(x), abs'(y))", "abs(divide(x, y))", Floating, RealX},
    {"divide(x, c)", "multiply(x, divide(1, c))", Floating, ExactReciprocal},
    // Gradients of maxima divide by two where both are equal.
    {"divide(x, select(p, c, d))", "multiply(x, select(p, divide(1, c), divide(1, d)))", Floating, ExactReciprocals},
    {"divide(v, k)", "multiply(v, divide(1, k))", Floating, PowersK},
    {"divide(divide(v, c), d)", "divide(v, multiply(c, d))", Integer, ProductOfCD},
    {"divide(multiply'(v, c), d)", "multiply(v, divide(c, d))", WideRange, NormalQuotient, NoOverflowBetween},
    {"divide(divide'(x, y), divide'(z, w))", "divide(multiply(x, w), multiply(y, z))", WideRange, NoOverflowOfProducts},
    {"divide(divide'(x, y), z)", "divide(x, multiply(y, z))", WideRange, NoOverflowOfProducts},
    {"divide(x, divide'(y, z))", "divide(multiply(x, z), y)", WideRange, NoOverflowOfProducts},
    {"divide(shift-right-logical(v, c), d)", "divide(v, shift-left(d, c))", Unsigned, ShiftedD},
    {"divide(v, c)", "negate(divide(v, negate(c)))", Signed, NegativePower},
    {"divide(x, y)", "0", Integer, SmallerThanY},
    {"divide(v, c)", "shift-right-logical(v, popcnt(subtract(c, 1)))", Integer, PowerOfTwo, NonNegativeV},
    {"divide(v, k)", "shift-right-logical(v, popcnt(subtract(k, 1)))", Integer, PowersK, NonNegativeV},
    // Negative numbers are rounded up: the shift rounds down. Shifting past the width leaves the sign.
    {"divide(v, c)",
     "shift-right-arithmetic(add(v, and(shift-right-arithmetic(v, highest), subtract(c, 1))), popcnt(subtract(c, 1)))",
     Signed, PowerOfTwo, NotJustCompared},
    {"divide(v, k)",
     "shift-right-arithmetic(add(v, and(shift-right-arithmetic(v, highest), subtract(k, 1))), popcnt(subtract(k, 1)))",
     Signed, PowersK, NotJustCompared},

    {"remainder(x, 1)", "0", Integer},
    {"remainder(x, x)", "0", Integer},
    {"remainder(0, x)", "0", Integer},
    {"remainder(v, c)", "remainder(v, negate(c))", SignedOrFloat, NegativeC},
    {"remainder(x, negate(y))", "remainder(x, y)", SignedOrFloat},
    {"remainder(x, abs(y))", "remainder(x, y)", NotComplex},
    {"remainder(negate'(x), y)", "negate(remainder(x, y))", Floating},
    {"remainder(t:remainder(x, y), y)", "t", NotComplex},
    {"remainder(remainder(v, c), d)", "remainder(v, d)", Integer, MultipleC},
    {"remainder(x, y)", "x", SmallerThanY},
    {"remainder(v, c)", "and(v, subtract(c, 1))", Integer, PowerOfTwo, NonNegativeV},
    {"remainder(v, c)", "and(v, subtract(c, 1))", Signed, PowerOfTwo, TestedForZero},
    {"remainder(v, k)", "and(v, subtract(k, 1))", Integer, PowersK, NonNegativeV},
    {"remainder(v, c)",
     "subtract(and(add(v, and(shift-right-arithmetic(v, highest), subtract(c, 1))), subtract(c, 1)), "
     "and(shift-right-arithmetic(v, highest), subtract(c, 1)))",
     Signed, PowerOfTwo},
    {"remainder(v, k)",
     "subtract(and(add(v, and(shift-right-arithmetic(v, highest), subtract(k, 1))), subtract(k, 1)), "
     "and(shift-right-arithmetic(v, highest), subtract(k, 1)))",
     Signed, PowersK},

    {"negate(negate(x))", "x"},
    {"negate(subtract(x, y))", "subtract(y, x)", Integer},
    {"negate(add'(v, c))", "subtract(negate(c), v)", Integer},
    {"negate(multiply'(v, c))", "multiply(v, negate(c))", NotComplex},
    {"negate(divide'(v, c))", "divide(v, negate(c))", Floating},
    {"negate(not(x))", "add(x, 1)", Integer},
    {"negate(shift-right-arithmetic'(x, c))", "shift-right-logical(x, c)", Signed, SignPlace},
    {"negate(shift-right-logical'(x, c))", "shift-right-arithmetic(x, c)", Signed, SignPlace},
    {"abs(t:abs(x))", "t"},
    {"abs(x)", "x", NonNegativeX},
    {"sign(t:sign(x))", "t", NotComplex},
};

}  // namespace

absl::Span<const Rule> ArithmeticRules() { return kArithmeticRules; }

}  // namespace kiln::passes::simplify
