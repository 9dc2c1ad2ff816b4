// Logic over few values, by truth tables.
#ifndef KILN_PASSES_SIMPLIFY_SHORTEST_LOGIC_H_
#define KILN_PASSES_SIMPLIFY_SHORTEST_LOGIC_H_

#include "src/passes/simplify/rule.h"

namespace kiln::passes::simplify {

// Of `and`, `or`, `xor` and `not` over at most three values: the fewest ops that give the same, if these are fewer than
// those that nothing else uses.
Instruction* ShortestLogic(const Match& match, Builder& builder);

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_SHORTEST_LOGIC_H_
