// State that starts from a constant, or from broadcasts and iotas of constants, and that the body hands on unchanged
// becomes such an instruction inside body and condition, where it folds and takes no memory.
#ifndef KILN_PASSES_WHILE_LOOP_CONSTANT_SINKING_H_
#define KILN_PASSES_WHILE_LOOP_CONSTANT_SINKING_H_

#include "src/passes/pass.h"

namespace kiln::passes {

class WhileLoopConstantSinking : public Pass {
 public:
  absl::string_view name() const override { return "while-loop-constant-sinking"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_WHILE_LOOP_CONSTANT_SINKING_H_
