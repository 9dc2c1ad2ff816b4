// Bits and predicates. Shifts past the width give 0, or the sign.
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

constexpr Rule kRules[] = {
    {"and(x, x)", "x"},
    {"and(x, 0)", "0"},
    {"and(x, true)", "x"},
    {"and(x, -1)", "x"},
    {"and(x, highest)", "x", Unsigned},
    {"and(x, not(x))", "0"},
    {"and(t:and(x, y), x)", "t"},
    {"and(x, or(x, y))", "x"},
    {"and(and(v, c), d)", "and(v, and(c, d))"},
    {"and(not'(x), not'(y))", "not(or(x, y))"},
    {"and(or'(x, y), or'(x, z))", "or(x, and(y, z))"},
    {"and(x, not(and(x, y)))", "and(x, not(y))"},

    {"or(x, x)", "x"},
    {"or(x, 0)", "x"},
    {"or(x, true)", "true"},
    {"or(x, -1)", "-1"},
    {"or(x, highest)", "highest", Unsigned},
    {"or(x, not(x))", "not(0)"},
    {"or(t:or(x, y), x)", "t"},
    {"or(x, and(x, y))", "x"},
    {"or(or(v, c), d)", "or(v, or(c, d))"},
    {"or(not'(x), not'(y))", "not(and(x, y))"},
    {"or(and'(x, y), and'(x, not(y)))", "x"},
    {"or(and'(x, y), and'(x, z))", "and(x, or(y, z))"},
    {"or(x, not(or(x, y)))", "or(x, not(y))"},

    {"xor(x, x)", "0"},
    {"xor(x, 0)", "x"},
    {"xor(x, true)", "not(x)"},
    {"xor(x, -1)", "not(x)"},
    {"xor(x, highest)", "not(x)", Unsigned},
    {"xor(x, not(x))", "not(0)"},
    {"xor(xor(x, y), y)", "x"},
    {"xor(not(x), not(y))", "xor(x, y)"},
    {"xor(not(v), c)", "xor(v, not(c))"},
    {"xor(xor(v, c), d)", "xor(v, xor(c, d))"},

    {"not(not(x))", "x"},
    {"not(negate(x))", "subtract(x, 1)", Integer},
    {"not(xor'(v, c))", "xor(v, not(c))", Integer},

    {"shift-left(x, 0)", "x"},
    {"shift-left(0, x)", "0"},
    {"shift-left(x, c)", "0", PastWidth},
    {"shift-left(shift-left(v, c), d)", "shift-left(v, add(c, d))", Shifts},
    {"shift-left(shift-right-logical(v, c), c)", "and(v, shift-left(not(0), c))"},
    {"shift-right-logical(x, 0)", "x"},
    {"shift-right-logical(0, x)", "0"},
    {"shift-right-logical(x, c)", "0", PastWidth},
    {"shift-right-logical(shift-right-logical(v, c), d)", "shift-right-logical(v, add(c, d))", Shifts},
    {"shift-right-logical(shift-left(v, c), c)", "and(v, shift-right-logical(not(0), c))"},
    {"shift-right-arithmetic(x, 0)", "x"},
    {"shift-right-arithmetic(0, x)", "0"},
    {"shift-right-arithmetic(-1, x)", "-1"},
    {"shift-right-arithmetic(shift-right-arithmetic(v, c), d)", "shift-right-arithmetic(v, add(c, d))", Shifts},
};

}  // namespace

absl::Span<const Rule> LogicRules() { return kRules; }

}  // namespace kiln::passes::simplify
