// opt-barrier-remover: drops optimization barriers, once no pass runs any more that they hold back.
#ifndef KILN_PASSES_OPT_BARRIER_REMOVER_H_
#define KILN_PASSES_OPT_BARRIER_REMOVER_H_

#include "src/passes/pass.h"

namespace kiln::passes {

class OptBarrierRemover : public Pass {
 public:
  absl::string_view name() const override { return "opt-barrier-remover"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_OPT_BARRIER_REMOVER_H_
