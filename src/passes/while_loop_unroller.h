// Loops that never run become their start and loops that run once their body. Loops of few rounds over a small body are
// written out: rounds then fold and fuse with each other.
#ifndef KILN_PASSES_WHILE_LOOP_UNROLLER_H_
#define KILN_PASSES_WHILE_LOOP_UNROLLER_H_

#include "src/passes/pass.h"

namespace kiln::passes {

class WhileLoopUnroller : public Pass {
 public:
  absl::string_view name() const override { return "while-loop-unroller"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_WHILE_LOOP_UNROLLER_H_
