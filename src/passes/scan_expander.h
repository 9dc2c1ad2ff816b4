// Rewrites scans whose body is more than a formula of elements into loops over slices.
#ifndef KILN_PASSES_SCAN_EXPANDER_H_
#define KILN_PASSES_SCAN_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// Whether each element of a scan's results depends only on elements of the inputs and carries at the same place of the
// slices: such scans have generated code of their own.
bool IsElementwiseScan(const hlo::Instruction& scan);

class ScanExpander : public OpExpander {
 public:
  absl::string_view name() const override { return "scan-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_SCAN_EXPANDER_H_
