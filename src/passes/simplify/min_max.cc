// Minimum, maximum, clamp. NaN wins over everything.
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

Instruction* Greater(const Match& match, Builder&) {
  const ValueRange x = RangeOf(*match['x']), y = RangeOf(*match['y']);
  return analysis::IsNeverBelow(x, y) ? match['x'] : analysis::IsNeverBelow(y, x) ? match['y'] : nullptr;
}

Instruction* Less(const Match& match, Builder&) {
  const ValueRange x = RangeOf(*match['x']), y = RangeOf(*match['y']);
  return analysis::IsNeverAbove(x, y) ? match['x'] : analysis::IsNeverAbove(y, x) ? match['y'] : nullptr;
}

bool AreNotOrdered(const Match& match) { return !AreOrdered(match); }
constexpr Guard NotOrdered{"c > d", AreNotOrdered};

constexpr Rule kMinMaxRules[] = {
    {"maximum(x, x)", "x"},
    {"maximum(x, y)", "x, where it is never below y, or y", Greater},
    {"maximum(t:maximum(x, y), y)", "t", NotComplex},
    {"maximum(t:maximum(maximum(x, _), _), x)", "t", NotComplex},
    {"maximum(minimum(minimum(x, _), _), x)", "x", Integral},
    {"maximum(t:maximum(x, y), maximum'(x, z))", "maximum(t, z)", NotComplex},
    {"maximum(negate'(x), negate'(y))", "negate(minimum(x, y))", Floating},
    {"maximum(x, y)", "or(x, y)", Predicates},
    {"maximum(convert(p), convert(q))", "convert(or(p, q))", NotComplex, PredicateP, PredicateQ},
    {"maximum(maximum(v, c), d)", "maximum(v, maximum(c, d))", NotComplex},
    {"maximum(maximum'(maximum'(v, c), x), d)", "maximum(maximum(v, x), maximum(c, d))", NotComplex},
    {"maximum(maximum'(v, c), maximum'(x, d))", "maximum(maximum(v, x), maximum(c, d))", NotComplex},
    {"maximum(t:subtract(x, y), subtract'(y, x))", "abs(t)", Signed},
    {"maximum(t:subtract(x, y), subtract'(y, x))", "abs(t)", Floating},
    {"maximum(minimum(x, y), y)", "y", Integral},
    {"maximum(minimum(x, y), y)", "y", Floating, NeverNanX},
    {"maximum(minimum(v, d), c)", "clamp(c, v, d)", Ordered},
    {"maximum(t:abs(x), x)", "t", NotComplex},
    {"maximum(t:abs(x), negate(x))", "t", NotComplex},
    {"maximum(minimum'(x, y), minimum'(x, z))", "minimum(x, maximum(y, z))", NotComplex},
    {"maximum(x, negate(x))", "abs(x)", Signed},
    {"maximum(x, negate(x))", "abs(x)", Floating},
    {"minimum(x, x)", "x"},
    {"minimum(x, y)", "x, where it is never above y, or y", Less},
    {"minimum(t:minimum(x, y), y)", "t", NotComplex},
    {"minimum(t:minimum(minimum(x, _), _), x)", "t", NotComplex},
    {"minimum(maximum(maximum(x, _), _), x)", "x", Integral},
    {"minimum(t:minimum(x, y), minimum'(x, z))", "minimum(t, z)", NotComplex},
    {"minimum(negate'(x), negate'(y))", "negate(maximum(x, y))", Floating},
    {"minimum(abs(x), x)", "x", NotComplex},
    {"minimum(abs(x), t:negate(x))", "t", Signed},
    {"minimum(maximum'(x, y), maximum'(x, z))", "maximum(x, minimum(y, z))", NotComplex},
    {"minimum(x, negate(x))", "negate(abs(x))", Signed},
    {"minimum(x, negate(x))", "negate(abs(x))", Floating},
    {"minimum(x, y)", "and(x, y)", Predicates},
    {"minimum(convert(p), convert(q))", "convert(and(p, q))", NotComplex, PredicateP, PredicateQ},
    {"minimum(minimum(v, c), d)", "minimum(v, minimum(c, d))", NotComplex},
    {"minimum(minimum'(minimum'(v, c), x), d)", "minimum(minimum(v, x), minimum(c, d))", NotComplex},
    {"minimum(minimum'(v, c), minimum'(x, d))", "minimum(minimum(v, x), minimum(c, d))", NotComplex},
    {"minimum(maximum(x, y), y)", "y", Integral},
    {"minimum(maximum(x, y), y)", "y", Floating, NeverNanX},
    {"minimum(maximum(v, c), d)", "clamp(c, v, d)", Ordered},
    {"clamp(y, x, c)", "minimum(x, c)", NeverBelowY},
    {"clamp(c, x, y)", "maximum(x, c)", NeverAboveY},
    {"clamp(c, x, c)", "c", Integral},
    {"clamp(c, _, d)", "d", Integral, NotOrdered},
    {"clamp(_, _, lowest)", "lowest", Integral},
    {"clamp(x, _, x)", "x", Integral},
    {"clamp(x, x, y)", "minimum(x, y)"},
    {"clamp(y, x, x)", "x", Integral},
    {"maximum(clamp(c, x, d), e)", "clamp(maximum(c, e), x, maximum(d, e))", NotComplex},
    {"minimum(clamp(c, x, d), e)", "clamp(c, x, minimum(d, e))", NotComplex},
    {"clamp(c, clamp(d, x, e), f)", "clamp(clamp(c, d, f), x, clamp(c, e, f))", Ranges},
};

}  // namespace

absl::Span<const Rule> MinMaxRules() { return kMinMaxRules; }

}  // namespace kiln::passes::simplify
