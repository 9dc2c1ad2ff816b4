// Passes that replace single ops by others.
#ifndef KILN_PASSES_OP_EXPANDER_H_
#define KILN_PASSES_OP_EXPANDER_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Visits every instruction that the entry reaches; a derived class says what stands for it.
class OpExpander : public Pass {
 public:
  absl::StatusOr<bool> Run(hlo::Module* module) final;

 protected:
  virtual bool Expands(const hlo::Instruction& instruction) const = 0;
  // Builds, in the computation of `instruction`, what replaces it: an instruction of compatible shape.
  virtual absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) = 0;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_OP_EXPANDER_H_
