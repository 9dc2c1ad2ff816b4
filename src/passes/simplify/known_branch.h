// Conditionals of which it is known what they do, for the rule and for the pass over conditionals.
#ifndef KILN_PASSES_SIMPLIFY_KNOWN_BRANCH_H_
#define KILN_PASSES_SIMPLIFY_KNOWN_BRANCH_H_

#include "src/passes/ir.h"

namespace kiln::passes::simplify {

// The value of the branch that a constant index takes (out of range means the last one), written out; null when the
// index is not known.
Instruction* InlineKnownBranch(const Instruction& conditional, Builder& builder);

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_KNOWN_BRANCH_H_
