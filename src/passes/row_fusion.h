// row-fusion: forms one fusion of work that reduces rows and goes on over the same rows (softmax, layer norm, logsumexp), so
// that a row is read once and stays in cache between the stages.
#ifndef KILN_PASSES_ROW_FUSION_H_
#define KILN_PASSES_ROW_FUSION_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// The stages are elementwise ops over arrays [rows..., columns...], reduces of the columns, elementwise ops over the rows,
// and broadcasts back. Values that two stages use are computed in each of them.
class RowFusion : public Pass {
 public:
  absl::string_view name() const override { return "row-fusion"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_ROW_FUSION_H_
