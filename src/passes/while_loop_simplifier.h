// Loop state: elements that are always equal become one, elements that the body hands on unchanged are read before the
// loop, and elements that nobody reads go, with what computes them.
#ifndef KILN_PASSES_WHILE_LOOP_SIMPLIFIER_H_
#define KILN_PASSES_WHILE_LOOP_SIMPLIFIER_H_

#include "src/passes/pass.h"

namespace kiln::passes {

class WhileLoopSimplifier : public Pass {
 public:
  absl::string_view name() const override { return "while-loop-simplifier"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_WHILE_LOOP_SIMPLIFIER_H_
