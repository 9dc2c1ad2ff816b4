// Textbook algebra on floats: real numbers, no NaN, no infinity, no overflow, roundings as they come. Only where asked
// for: `kiln opt --passes=algebraic-simplifier-fast-math`.
#include <algorithm>
#include <iterator>

#include "src/passes/simplify/dot.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

constexpr char kSpreads[] = {'s', 't', 'u'};

bool IsInexact(PrimitiveType type) { return !IsIntegralOrPred(type); }
constexpr Guard Inexact{"floats", TypeIs<IsInexact>};

// The broadcasts s, t and u, as far as the rule has them: of one shape, along the same dimensions.
bool AreEqualSpreads(const Match& match) {
  const Instruction& t = *match['t'];
  return t.operand(0)->shape().element_count() < t.shape().element_count() &&
         std::all_of(std::begin(kSpreads), std::end(kSpreads), [&](char letter) {
           const Instruction* spread = match[letter];
           return spread == nullptr ||
                  (spread->dimensions() == t.dimensions() && spread->operand(0)->shape() == t.operand(0)->shape());
         });
}
constexpr Guard EqualSpreads{"of few, along the same dimensions", AreEqualSpreads};

constexpr Rule kFastMathRules[] = {
    {"add(add(v, c), d)", "add(v, add(c, d))", Inexact},
    {"add(multiply'(x, y), multiply'(x, z))", "multiply(x, add(y, z))", Inexact},
    {"add(divide'(x, y), divide'(z, y))", "divide(add(x, z), y)", Inexact},
    {"add(subtract(x, y), y)", "x", Inexact},
    {"add(log'(x), log'(y))", "log(multiply(x, y))", Inexact},
    {"subtract(x, x)", "0", Inexact},
    {"subtract(0, x)", "negate(x)", Inexact},
    {"subtract(add(x, y), x)", "y", Inexact},
    {"subtract(multiply'(x, y), multiply'(x, z))", "multiply(x, subtract(y, z))", Inexact},
    {"subtract(log'(x), log'(y))", "log(divide(x, y))", Inexact},
    {"multiply(x, 0)", "0", Inexact},
    {"multiply(multiply(v, c), d)", "multiply(v, multiply(c, d))", Inexact},
    {"multiply(divide'(x, y), y)", "x", Inexact},
    {"multiply(exponential'(x), exponential'(y))", "exponential(add(x, y))", Inexact},
    {"multiply(sqrt(x), sqrt(x))", "x", Floating},
    {"multiply(rsqrt(x), rsqrt(x))", "divide(1, x)", Floating},
    {"divide(x, x)", "1", Inexact},
    {"divide(0, x)", "0", Inexact},
    {"divide(x, c)", "multiply(x, divide(1, c))", Inexact},
    {"divide(divide'(x, y), divide'(z, w))", "divide(multiply(x, w), multiply(y, z))", Inexact},
    {"divide(divide'(x, y), z)", "divide(x, multiply(y, z))", Inexact},
    {"divide(x, divide'(y, z))", "divide(multiply(x, z), y)", Inexact},
    {"divide(multiply'(x, y), y)", "x", Inexact},
    {"divide(x, exponential(y))", "multiply(x, exponential(negate(y)))", Inexact},
    {"divide(x, power(y, z))", "multiply(x, power(y, negate(z)))", Floating},
    {"power(exponential(x), y)", "exponential(multiply(x, y))", Floating},
    {"power(power(x, y), z)", "power(x, multiply(y, z))", Floating},
    {"log(power(x, y))", "multiply(y, log(x))", Floating},
    {"log(sqrt(x))", "multiply(log(x), 0.5)", Floating},
    {"log(rsqrt(x))", "multiply(log(x), -0.5)", Floating},
    {"log(add'(1, x))", "log-plus-one(x)", Floating},
    {"exponential(log(x))", "x", Floating},
    {"subtract(exponential'(x), 1)", "exponential-minus-one(x)", Floating},
    {"sqrt(exponential(x))", "exponential(multiply(x, 0.5))", Floating},
    {"rsqrt(divide(1, x))", "sqrt(x)", Floating},
    {"maximum(minimum(x, y), y)", "y", Floating},
    {"minimum(maximum(x, y), y)", "y", Floating},
    {"select(compare.eq(x, y), x, y)", "y", Floating},
    {"select(compare.lt(x, y), x, y)", "minimum(x, y)", Floating},
    {"select(compare.lt(x, y), y, x)", "maximum(x, y)", Floating},
    {"select(compare.lt(x, 0), negate(x), x)", "abs(x)", Floating},
    {"not(compare.lt'(x, y))", "compare.ge(x, y)"},
    {"not(compare.le'(x, y))", "compare.gt(x, y)"},
    {"t:reduce.add(multiply'(v, c), 0)", "multiply(t(v, 0), c)", Inexact},
    // Statistics of rows and channels: all that is one number per row or channel is made of these, once.
    {"add(multiply'(subtract'(x, s:broadcast(m)), t:broadcast(a)), u:broadcast(b))",
     "add(multiply(x, t(a)), t(subtract(b, multiply(m, a))))", Inexact, EqualSpreads},
    {"multiply(multiply'(x, s:broadcast(a)), t:broadcast(b))", "multiply(x, t(multiply(a, b)))", Inexact, EqualSpreads},
    {"add(add'(x, s:broadcast(a)), t:broadcast(b))", "add(x, t(add(a, b)))", Inexact, EqualSpreads},
    {"add(subtract'(x, s:broadcast(a)), t:broadcast(b))", "add(x, t(subtract(b, a)))", Inexact, EqualSpreads},
    {"divide(x, t:broadcast(a))", "multiply(x, t(divide(1, a)))", Inexact, EqualSpreads},
    {"dot(0, _)", "0", Inexact},
    {"dot(_, 0)", "0", Inexact},
    {"dot(x, i)", "x, where i is an identity matrix", DotWithIdentity},
    {"dot(i, x)", "x, where i is an identity matrix", DotWithIdentity},
    {"t:dot(multiply'(x, broadcast(s)), y)", "multiply(t(x, y), broadcast(s))", Inexact, SmallProduct},
    {"t:dot(y, multiply'(x, broadcast(s)))", "multiply(t(y, x), broadcast(s))", Inexact, SmallProduct},
    {"dot(t:dot'(x, y), z)", "dot(x, dot(y, z)), where that is cheaper", DotToTheRight},
    {"dot(x, t:dot'(y, z))", "dot(dot(x, y), z), where that is cheaper", DotToTheLeft},
};

}  // namespace

absl::Span<const Rule> FastMathRules() { return kFastMathRules; }

}  // namespace kiln::passes::simplify
