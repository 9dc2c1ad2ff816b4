// What all branches of a conditional compute alike is computed before it. What is computed before it for one branch
// alone is computed in that branch.
#ifndef KILN_PASSES_CONDITIONAL_CODE_MOTION_H_
#define KILN_PASSES_CONDITIONAL_CODE_MOTION_H_

#include "src/passes/pass.h"

namespace kiln::passes {

class ConditionalCodeMotion : public Pass {
 public:
  absl::string_view name() const override { return "conditional-code-motion"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_CONDITIONAL_CODE_MOTION_H_
