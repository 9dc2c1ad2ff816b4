// Bits and predicates. Shifts past the width give 0, or the sign.
#include <bit>
#include <cstdint>

#include "src/passes/simplify/known_bits.h"
#include "src/passes/simplify/rules.h"
#include "src/passes/simplify/shortest_logic.h"
#include "src/passes/simplify/shortest_sum.h"

namespace kiln::passes::simplify {
namespace {

// The constant c as bits, of which a sign is one at the left.
uint64_t Bits(const Match& match) { return static_cast<uint64_t>(hlo::ElementAsInt64(*SplatValue(*match['c']), 0)); }

KnownBits Of(const Match& match, char letter) { return BitsOf(*match[letter]); }

Instruction* KnownAnd(const Match& match, Builder& builder) {
  const KnownBits x = Of(match, 'x');
  const uint64_t c = Of(match, 'c').maybe;
  if ((x.maybe & ~c) == 0) return match['x'];
  if ((c & ~x.always) == 0) return match['c'];
  return (x.maybe & c) == 0 ? builder.Splat(match.root()->shape(), hlo::ZeroLiteral(TypeOf(match))) : nullptr;
}

Instruction* KnownOr(const Match& match, Builder&) {
  const KnownBits x = Of(match, 'x');
  const uint64_t c = Of(match, 'c').maybe;
  return (x.maybe & ~c) == 0 ? match['c'] : (c & ~x.always) == 0 ? match['x'] : nullptr;
}

// No digit of a sum depends on higher ones.
Instruction* OfOneOperand(const Match& match, Builder& builder) {
  const Instruction& t = *match['t'];
  const uint64_t bits = Of(match, 'c').maybe;
  const bool is_sum = t.opcode() == Opcode::kAdd || t.opcode() == Opcode::kSubtract;
  const uint64_t seen = bits == 0 || !is_sum ? bits : ~uint64_t{0} >> std::countl_zero(bits);
  for (const int64_t side : {1, 0}) {
    if (side == 0 && t.opcode() == Opcode::kSubtract) continue;
    if ((BitsOf(*t.operand(side)).maybe & seen) == 0) {
      return builder.Binary(Opcode::kAnd, t.operands()[1 - side], match['c']);
    }
  }
  return nullptr;
}

// Shifts are many where random numbers are made: fewer steps back.
constexpr int kStepsOfShifts = 2;
bool IsShiftedOut(const Match& match) {
  const uint64_t shift = Bits(match);
  return shift < 64 && BitsOf(*match['x'], kStepsOfShifts).maybe >> shift == 0;
}
bool IsShiftedPast(const Match& match) {
  const uint64_t shift = Bits(match);
  const int width = hlo::BitWidth(TypeOf(match));
  return shift < 64 && (BitsOf(*match['x'], kStepsOfShifts).maybe << shift) << (64 - width) == 0;
}

// A predicate that was made a number, and then moved.
Instruction* ShiftOfPredicate(const Match& match, Builder& builder) {
  constexpr size_t kMaxMoves = 3;
  std::vector<const Instruction*> moves;
  Instruction* p = match['x'];
  for (; moves.size() < kMaxMoves && (p->opcode() == Opcode::kReshape || p->opcode() == Opcode::kTranspose);
       p = p->operands()[0]) {
    moves.push_back(p);
  }
  if (p->opcode() != Opcode::kConvert || p->operand(0)->shape().element_type() != PrimitiveType::kPred) return nullptr;
  p = p->operands()[0];
  for (; !moves.empty(); moves.pop_back()) {
    const Instruction& move = *moves.back();
    p = builder.Add(move.opcode(), Shape(PrimitiveType::kPred, move.shape().dimensions()), {p}, move.attributes());
  }
  const Shape& shape = match.root()->shape();
  return builder.Select(p, builder.Binary(Opcode::kShiftLeft, builder.Splat(shape, 1), match['y']),
                        builder.Splat(shape, 0));
}

constexpr Rule kLogicRules[] = {
    {"and(x, x)", "x"},
    {"and(x, 0)", "0"},
    {"and(x, true)", "x"},
    {"and(x, -1)", "x"},
    {"and(x, highest)", "x", Unsigned},
    {"and(x, not(x))", "0"},
    {"and(t:and(x, y), x)", "t"},
    {"and(x, or(x, y))", "x"},
    {"and(and(v, c), d)", "and(v, and(c, d))"},
    {"and(and'(and'(v, c), x), d)", "and(and(v, x), and(c, d))"},
    {"and(and'(v, c), and'(x, d))", "and(and(v, x), and(c, d))"},
    {"and(not'(x), not'(y))", "not(or(x, y))"},
    {"and(or'(x, y), or'(x, z))", "or(x, and(y, z))"},
    {"and(x, not(and(x, y)))", "and(x, not(y))"},
    {"and(x, or(not(x), y))", "and(x, y)"},
    {"and(x, xor(x, y))", "and(x, not(y))"},
    {"and(or(x, y), not(and(x, y)))", "xor(x, y)"},
    {"and(t:compare.lt(subtract(x, y), 0), compare.ne(x, y))", "t", IntegerX},
    {"and(compare.ne(sign(x), 1), compare.ne(t:remainder(x, y), 0))", "compare.lt(t, 0)", SignedX},
    {"and(convert(p), convert(q))", "convert(and(p, q))", PredicateP, PredicateQ},
    {"and(x, c)", "x, 0 or c, by what digits are known", KnownAnd},
    {"and(t:or(_, _), c)", "and(x, c), where the other has no digit of c", OfOneOperand},
    {"and(t:xor(_, _), c)", "and(x, c), where the other has no digit of c", OfOneOperand},
    {"and(t:add(_, _), c)", "and(x, c), where the other has no digit up to c's", OfOneOperand},
    {"and(t:subtract(_, _), c)", "and(x, c), where the other has no digit up to c's", OfOneOperand},
    {"and(x, y)", "the fewest ops with that truth table", ShortestLogic},

    {"or(x, x)", "x"},
    {"or(x, 0)", "x"},
    {"or(x, true)", "true"},
    {"or(x, -1)", "-1"},
    {"or(x, highest)", "highest", Unsigned},
    {"or(x, not(x))", "not(0)"},
    {"or(t:or(x, y), x)", "t"},
    {"or(x, and(x, y))", "x"},
    {"or(or(v, c), d)", "or(v, or(c, d))"},
    {"or(or'(or'(v, c), x), d)", "or(or(v, x), or(c, d))"},
    {"or(or'(v, c), or'(x, d))", "or(or(v, x), or(c, d))"},
    {"or(not'(x), not'(y))", "not(and(x, y))"},
    {"or(and'(x, y), and'(x, not(y)))", "x"},
    {"or(and'(x, y), and'(x, z))", "and(x, or(y, z))"},
    {"or(x, not(or(x, y)))", "or(x, not(y))"},
    {"or(x, and(not(x), y))", "or(x, y)"},
    {"or(x, xor(x, y))", "or(x, y)"},
    {"or(convert(p), convert(q))", "convert(or(p, q))", PredicateP, PredicateQ},
    {"or(and(x, y), xor(x, y))", "or(x, y)"},
    {"or(and(x, not(y)), and(not(x), y))", "xor(x, y)"},
    {"or(and(x, y), not(or(x, y)))", "not(xor(x, y))"},
    {"or(x, c)", "x or c, by what digits are known", KnownOr},
    {"or(x, y)", "the fewest ops with that truth table", ShortestLogic},

    {"xor(x, x)", "0"},
    {"xor(x, 0)", "x"},
    {"xor(x, true)", "not(x)"},
    {"xor(x, -1)", "not(x)"},
    {"xor(x, highest)", "not(x)", Unsigned},
    {"xor(x, not(x))", "not(0)"},
    {"xor(xor(x, y), y)", "x"},
    {"xor(not(x), not(y))", "xor(x, y)"},
    {"xor(not(v), c)", "xor(v, not(c))"},
    {"xor(and(x, y), x)", "and(x, not(y))"},
    {"xor(or(x, y), x)", "and(not(x), y)"},
    {"xor(or(x, y), and(x, y))", "xor(x, y)"},
    {"xor(and'(x, y), and'(x, z))", "and(x, xor(y, z))"},
    {"xor(x, and(not(x), y))", "or(x, y)"},
    {"xor(convert(p), convert(q))", "convert(xor(p, q))", PredicateP, PredicateQ},
    {"xor(xor(v, c), d)", "xor(v, xor(c, d))"},
    {"xor(xor'(xor'(v, c), x), d)", "xor(xor(v, x), xor(c, d))"},
    {"xor(xor'(v, c), xor'(x, d))", "xor(xor(v, x), xor(c, d))"},
    {"xor(x, y)", "the fewest ops with that truth table", ShortestLogic},

    {"not(not(x))", "x"},
    {"not(negate(x))", "subtract(x, 1)", Integer},
    {"not(add'(v, c))", "subtract(not(c), v)", Integer},
    {"not(subtract'(c, v))", "add(v, not(c))", Integer},
    {"not(and'(not(x), y))", "or(x, not(y))"},
    {"not(or'(not(x), y))", "and(x, not(y))"},
    {"not(xor'(not(x), y))", "xor(x, y)"},
    {"not(shift-right-arithmetic'(not(x), y))", "shift-right-arithmetic(x, y)", Signed},
    {"not(xor'(v, c))", "xor(v, not(c))", Integer},

    {"shift-left(x, 0)", "x"},
    {"shift-left(0, x)", "0"},
    {"shift-left(x, y)", "select(p, shift-left(1, y), 0), where x is a predicate p", ShiftOfPredicate},
    {"shift-left(x, c)", "0", PastWidth},
    {"shift-left(x, c)", "0", Guard{"all of x shifted out", IsShiftedPast}},
    {"shift-left(shift-left(v, c), d)", "shift-left(v, add(c, d))", Shifts},
    {"shift-left(multiply(v, c), d)", "multiply(v, shift-left(c, d))"},
    {"shift-left(shift-left(c, v), d)", "shift-left(shift-left(c, d), v)"},
    {"shift-left(x, c)", "the sum with the fewest ops", ShortestSum},
    {"shift-left(shift-right-arithmetic(v, c), c)", "and(v, shift-left(not(0), c))"},
    {"shift-left(shift-right-logical(v, c), c)", "and(v, shift-left(not(0), c))"},
    {"shift-right-logical(x, 0)", "x"},
    {"shift-right-logical(0, x)", "0"},
    {"shift-right-logical(x, c)", "0", PastWidth},
    {"shift-right-logical(x, c)", "0", Guard{"x below 2^c", IsShiftedOut}},
    {"shift-right-logical(shift-right-logical(v, c), d)", "shift-right-logical(v, add(c, d))", Shifts},
    {"shift-right-logical(shift-left(v, c), c)", "and(v, shift-right-logical(not(0), c))"},
    {"shift-right-logical(divide(v, d), c)", "divide(v, shift-left(d, c))", Unsigned, ShiftedD},
    {"shift-right-arithmetic(x, 0)", "x"},
    {"shift-right-arithmetic(0, x)", "0"},
    {"shift-right-arithmetic(x, y)", "shift-right-logical(x, y)", Signed, NonNegativeX},
    {"shift-right-arithmetic(-1, x)", "-1"},
    {"shift-right-arithmetic(shift-right-arithmetic(v, c), d)", "shift-right-arithmetic(v, add(c, d))", Shifts},
};

}  // namespace

absl::Span<const Rule> LogicRules() { return kLogicRules; }

}  // namespace kiln::passes::simplify
