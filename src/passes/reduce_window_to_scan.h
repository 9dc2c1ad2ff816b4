// Rewrites a reduce-window whose windows are all prefixes, or all suffixes, of one dimension (cumsum, cummax and their
// kin) into a scan, which takes time linear in the dimension instead of quadratic.
#ifndef KILN_PASSES_REDUCE_WINDOW_TO_SCAN_H_
#define KILN_PASSES_REDUCE_WINDOW_TO_SCAN_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

class ReduceWindowToScan : public OpExpander {
 public:
  absl::string_view name() const override { return "reduce-window-to-scan"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_REDUCE_WINDOW_TO_SCAN_H_
