// Sums of few integers, by their coefficients.
#ifndef KILN_PASSES_SIMPLIFY_SHORTEST_SUM_H_
#define KILN_PASSES_SIMPLIFY_SHORTEST_SUM_H_

#include "src/passes/simplify/rule.h"

namespace kiln::passes::simplify {

// Of sums, differences, complements and multiples of integers, which wrap around: the sum with the fewest ops, if these
// are fewer than those that nothing else uses.
Instruction* ShortestSum(const Match& match, Builder& builder);

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_SHORTEST_SUM_H_
