// Comparisons of integers that ops made of others without changing their order.
#ifndef KILN_PASSES_SIMPLIFY_THRESHOLDS_H_
#define KILN_PASSES_SIMPLIFY_THRESHOLDS_H_

#include "src/passes/simplify/rule.h"

namespace kiln::passes::simplify {

// s:compare(t:op(...), d): v compared with the first number of which t is no longer below d.
Instruction* CompareBeforeOp(const Match& match, Builder& builder);

// Whether the root is only compared with constants, for order: CompareBeforeOp does without it.
bool IsOnlyCompared(const Match& match);

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_THRESHOLDS_H_
