// What body or condition compute from unchanged state alone is computed once before the loop and carried. Neither
// constants, broadcasts, iotas and other views by themselves, nor what would take more memory than its sources.
#ifndef KILN_PASSES_WHILE_LOOP_INVARIANT_CODE_MOTION_H_
#define KILN_PASSES_WHILE_LOOP_INVARIANT_CODE_MOTION_H_

#include "src/passes/pass.h"

namespace kiln::passes {

class WhileLoopInvariantCodeMotion : public Pass {
 public:
  absl::string_view name() const override { return "while-loop-invariant-code-motion"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_WHILE_LOOP_INVARIANT_CODE_MOTION_H_
