#ifndef KILN_PASSES_CONDITION_PROPAGATION_H_
#define KILN_PASSES_CONDITION_PROPAGATION_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// In a branch the predicate is known, and in the body of a loop the condition, with what follows from them: by value,
// whether it comes in through operands or is computed again. So are scalar constants that a branch gets.
absl::StatusOr<bool> PropagateConditions(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_CONDITION_PROPAGATION_H_
