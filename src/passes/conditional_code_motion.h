#ifndef KILN_PASSES_CONDITIONAL_CODE_MOTION_H_
#define KILN_PASSES_CONDITIONAL_CODE_MOTION_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// What all branches of a conditional compute alike is computed before it. What is computed before it for one branch
// alone is computed in that branch.
absl::StatusOr<bool> MoveConditionalCode(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_CONDITIONAL_CODE_MOTION_H_
