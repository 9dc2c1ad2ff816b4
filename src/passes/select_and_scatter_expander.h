// select-and-scatter-expander: select-and-scatter as a reduce-window that finds the places, and what puts values there.
#ifndef KILN_PASSES_SELECT_AND_SCATTER_EXPANDER_H_
#define KILN_PASSES_SELECT_AND_SCATTER_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// The place of each window comes from a reduce-window over (value, linear index). Small windows then become one
// elementwise chain in which every element asks, in the order of the source, each window that could have chosen it;
// large ones a scatter.
class SelectAndScatterExpander : public OpExpander {
 public:
  absl::string_view name() const override { return "select-and-scatter-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_SELECT_AND_SCATTER_EXPANDER_H_
