// Sums, products, quotients. NaN, infinities and the sign of zero keep their meaning, except that x + 0 is x also for
// x = -0. Integers wrap around; division by zero gives -1, the remainder by zero is x.
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

constexpr Rule kRules[] = {
    {"add(x, 0)", "x", SignlessZero},
    {"add(multiply(x, 0), y)", "y", Floating, FiniteX, SignlessZero},
    {"add(x, negate(y))", "subtract(x, y)"},
    {"add(x, not(x))", "not(0)", Integer},
    {"add(not(x), 1)", "negate(x)", Integer},
    {"add(add(v, c), d)", "add(v, add(c, d))", Integer},
    {"add(subtract(v, c), d)", "add(v, subtract(d, c))", Integer},
    {"add(subtract(c, v), d)", "subtract(add(c, d), v)", Integer},
    {"add(add'(v, c), add'(x, d))", "add(add(v, x), add(c, d))", Integer},
    {"add(subtract(x, y), y)", "x", Integer},
    {"add(multiply'(x, y), multiply'(x, z))", "multiply(x, add(y, z))", Integer},
    {"add(multiply(divide(x, y), y), remainder(x, y))", "x", Integer},
    {"add(multiply'(v, c), v)", "multiply(v, add(c, 1))", Integer},

    {"subtract(x, 0)", "x", SignlessZero},
    {"subtract(x, x)", "0", FiniteX},
    {"subtract(0, x)", "negate(x)", Integer},
    {"subtract(x, negate(y))", "add(x, y)"},
    {"subtract(add(x, y), x)", "y", Integer},
    {"subtract(x, add(x, y))", "negate(y)", Integer},
    {"subtract(subtract(x, y), x)", "negate(y)", Integer},
    {"subtract(x, subtract(x, y))", "y", Integer},
    {"subtract(add(v, c), d)", "add(v, subtract(c, d))", Integer},
    {"subtract(subtract(v, c), d)", "subtract(v, add(c, d))", Integer},
    {"subtract(c, add(v, d))", "subtract(subtract(c, d), v)", Integer},
    {"subtract(c, subtract(v, d))", "subtract(add(c, d), v)", Integer},
    {"subtract(c, subtract(d, v))", "add(v, subtract(c, d))", Integer},
    {"subtract(multiply'(x, y), multiply'(x, z))", "multiply(x, subtract(y, z))", Integer},
    {"subtract(x, multiply'(divide(x, y), y))", "remainder(x, y)", Integer},
    {"subtract(multiply'(v, c), v)", "multiply(v, subtract(c, 1))", Integer},

    {"multiply(x, 1)", "x"},
    {"multiply(x, 0)", "0", Integral},
    {"multiply(x, c)", "c", ZeroC, FiniteX, NonNegativeX},
    {"multiply(x, -1)", "negate(x)", NotComplex},
    {"multiply(negate(x), negate(y))", "multiply(x, y)"},
    {"multiply(negate(v), c)", "multiply(v, negate(c))", NotComplex},
    {"multiply(abs(x), abs(x))", "multiply(x, x)", NotComplex},
    {"multiply(sign(x), abs(x))", "x", NotComplex},
    {"multiply(multiply(v, c), d)", "multiply(v, multiply(c, d))", Integer},
    {"multiply(convert(p), x)", "select(p, x, 0)", Integer, PredicateP},

    {"divide(x, 1)", "x"},
    {"divide(x, -1)", "negate(x)", Signed},
    {"divide(x, -1)", "negate(x)", Floating},
    {"divide(negate(x), negate(y))", "divide(x, y)", Floating},
    {"divide(negate(v), c)", "divide(v, negate(c))", Floating},
    {"divide(x, c)", "multiply(x, divide(1, c))", Floating, ExactReciprocal},
    {"divide(v, k)", "multiply(v, divide(1, k))", Floating, PowersK},
    {"divide(divide(v, c), d)", "divide(v, multiply(c, d))", Integer, ProductOfCD},
    {"divide(v, c)", "shift-right-logical(v, popcnt(subtract(c, 1)))", Unsigned, PowerOfTwo},
    {"divide(v, k)", "shift-right-logical(v, popcnt(subtract(k, 1)))", Unsigned, PowersK},
    // Negative numbers are rounded up: the shift rounds down. Shifting past the width leaves the sign.
    {"divide(v, c)",
     "shift-right-arithmetic(add(v, and(shift-right-arithmetic(v, highest), subtract(c, 1))), popcnt(subtract(c, 1)))",
     Signed, PowerOfTwo},

    {"remainder(x, 1)", "0", Integer},
    {"remainder(x, x)", "0", Integer},
    {"remainder(0, x)", "0", Integer},
    {"remainder(x, -1)", "0", Signed},
    {"remainder(t:remainder(x, y), y)", "t", NotComplex},
    {"remainder(v, c)", "and(v, subtract(c, 1))", Unsigned, PowerOfTwo},
    {"remainder(v, k)", "and(v, subtract(k, 1))", Unsigned, PowersK},
    {"remainder(v, c)",
     "subtract(and(add(v, and(shift-right-arithmetic(v, highest), subtract(c, 1))), subtract(c, 1)), "
     "and(shift-right-arithmetic(v, highest), subtract(c, 1)))",
     Signed, PowerOfTwo},

    {"negate(negate(x))", "x"},
    {"negate(subtract(x, y))", "subtract(y, x)", Integer},
    {"negate(add'(v, c))", "subtract(negate(c), v)", Integer},
    {"negate(multiply'(v, c))", "multiply(v, negate(c))", NotComplex},
    {"negate(divide'(v, c))", "divide(v, negate(c))", Floating},
    {"negate(not(x))", "add(x, 1)", Integer},
    {"abs(t:abs(x))", "t"},
    {"abs(negate(x))", "abs(x)"},
    {"abs(x)", "x", NonNegativeX},
    {"sign(t:sign(x))", "t", NotComplex},
};

}  // namespace

absl::Span<const Rule> ArithmeticRules() { return kRules; }

}  // namespace kiln::passes::simplify
