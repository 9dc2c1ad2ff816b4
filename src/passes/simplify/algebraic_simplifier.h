// algebraic-simplifier: applies the rules of this directory until none applies.
// algebraic-simplifier-fast-math: the same, and rules that hold for real numbers but not for all floats.
#ifndef KILN_PASSES_SIMPLIFY_ALGEBRAIC_SIMPLIFIER_H_
#define KILN_PASSES_SIMPLIFY_ALGEBRAIC_SIMPLIFIER_H_

#include <functional>

#include "src/passes/simplify/rule.h"

namespace kiln::passes {

// Is told of every rule and the instruction that it applies to; for tests.
using RuleObserver = std::function<void(const simplify::Rule&, const Instruction&)>;

// Says whether anything changed. Logical rewrites only: layouts play no part, except that a bitcast between row-major
// shapes is a reshape. Instructions of bounded dynamic shape are left alone.
absl::StatusOr<bool> SimplifyAlgebra(Module* module, bool fast_math = false, const RuleObserver& observer = nullptr);

// Parses all rules that hold without fast math; else those of an opcode are when a module has the first of it.
absl::Status ParseSimplifierRules();

}  // namespace kiln::passes

#endif  // KILN_PASSES_SIMPLIFY_ALGEBRAIC_SIMPLIFIER_H_
