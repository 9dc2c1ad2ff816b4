// Bitwise and logical ops.
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

bool Unsigned(const hlo::Instruction& root) { return hlo::IsUnsignedIntegral(root.shape().element_type()); }

// op(op(x, c), d) = op(x, op(c, d)), unless all three are constants, which folding takes.
hlo::Instruction* Reassociate(const Match& match, hlo::Builder& builder) {
  if (SplatValue(*match['x'])) return nullptr;
  const hlo::Opcode opcode = match.root()->opcode();
  return builder.Binary(opcode, match['x'], builder.Binary(opcode, match['c'], match['d']));
}

constexpr Rule kRules[] = {
    {"and(x, x)", "x"},
    {"and(x, 0)", "0"},
    {"and(x, true)", "x"},
    {"and(x, -1)", "x"},
    {"and(x, highest)", "x", Unsigned},
    {"and(x, not(x))", "0"},
    {"and(and(x, c), d)", Reassociate},
    {"or(x, x)", "x"},
    {"or(x, 0)", "x"},
    {"or(x, true)", "true"},
    {"or(x, -1)", "-1"},
    {"or(x, highest)", "highest", Unsigned},
    {"or(or(x, c), d)", Reassociate},
    {"xor(x, x)", "0"},
    {"xor(x, 0)", "x"},
    {"xor(x, true)", "not(x)"},
    {"xor(x, -1)", "not(x)"},
    {"xor(xor(x, y), y)", "x"},
    {"xor(xor(x, y), x)", "y"},
    {"xor(xor(x, c), d)", Reassociate},
    {"not(not(x))", "x"},
};

}  // namespace

absl::Span<const Rule> LogicRules() { return kRules; }

}  // namespace kiln::passes::simplify
