// Minimum, maximum, clamp. NaN wins over everything.
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

constexpr Rule kRules[] = {
    {"maximum(x, x)", "x"},
    {"maximum(x, lowest)", "x", NotComplex},
    {"maximum(x, highest)", "highest", Integral},
    {"maximum(x, 0)", "x", NonNegativeX},
    {"maximum(t:maximum(x, y), y)", "t", NotComplex},
    {"maximum(maximum(v, c), d)", "maximum(v, maximum(c, d))", NotComplex},
    {"maximum(minimum(x, y), y)", "y", Integral},
    {"maximum(minimum(v, d), c)", "clamp(c, v, d)", Ordered},
    {"maximum(x, negate(x))", "abs(x)", Signed},
    {"maximum(x, negate(x))", "abs(x)", Floating},
    {"minimum(x, x)", "x"},
    {"minimum(x, highest)", "x", NotComplex},
    {"minimum(x, lowest)", "lowest", Integral},
    {"minimum(t:minimum(x, y), y)", "t", NotComplex},
    {"minimum(minimum(v, c), d)", "minimum(v, minimum(c, d))", NotComplex},
    {"minimum(maximum(x, y), y)", "y", Integral},
    {"minimum(maximum(v, c), d)", "clamp(c, v, d)", Ordered},
    {"clamp(lowest, x, highest)", "x", NotComplex},
    {"clamp(lowest, x, c)", "minimum(x, c)", NotComplex},
    {"clamp(c, x, highest)", "maximum(x, c)", NotComplex},
    {"clamp(c, x, c)", "c", Integral},
    {"clamp(c, minimum(v, d), d)", "clamp(c, v, d)", NotComplex},
    {"clamp(c, maximum(v, c), d)", "clamp(c, v, d)", NotComplex},
    {"maximum(clamp(c, x, d), e)", "clamp(maximum(c, e), x, maximum(d, e))", NotComplex},
    {"minimum(clamp(c, x, d), e)", "clamp(c, x, minimum(d, e))", NotComplex},
    {"clamp(c, clamp(d, x, e), f)", "clamp(clamp(c, d, f), x, clamp(c, e, f))", Ranges},
};

}  // namespace

absl::Span<const Rule> MinMaxRules() { return kRules; }

}  // namespace kiln::passes::simplify
