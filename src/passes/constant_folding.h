// constant-folding: instructions over constants become constants, computed by the evaluator.
#ifndef KILN_PASSES_CONSTANT_FOLDING_H_
#define KILN_PASSES_CONSTANT_FOLDING_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Small results only, and a bounded amount of work per instruction and in all. Splats and iotas stay what they are:
// code makes them for less than memory does. Arrays without elements become empty constants whatever they come from.
class ConstantFolding : public Pass {
 public:
  absl::string_view name() const override { return "constant-folding"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_CONSTANT_FOLDING_H_
