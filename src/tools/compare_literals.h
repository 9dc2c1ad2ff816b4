// Results against a reference.
#ifndef KILN_TOOLS_COMPARE_LITERALS_H_
#define KILN_TOOLS_COMPARE_LITERALS_H_

#include <vector>

#include "src/hlo/literal.h"

namespace kiln::tools {

// The leaves that are no tuples, in pre-order. They live as long as `literal`.
std::vector<const hlo::Literal*> Leaves(const hlo::Literal& literal);

// The largest difference between two leaves of one shape, relative to the larger of 1 and the expected value. Integers
// and predicates must be equal: otherwise the difference is infinite, as it is where just one side is NaN or infinite.
double LargestError(const hlo::Literal& actual, const hlo::Literal& expected);

}  // namespace kiln::tools

#endif  // KILN_TOOLS_COMPARE_LITERALS_H_
