// dce: removes what no result needs: instructions, tuple elements carried through loops, computations.
#ifndef KILN_PASSES_DCE_H_
#define KILN_PASSES_DCE_H_

#include "src/passes/pass.h"

namespace kiln::passes {

class Dce : public Pass {
 public:
  absl::string_view name() const override { return "dce"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_DCE_H_
