#include "src/tools/reference.h"

#include "src/base/status.h"
#include "src/passes/custom_call_expander.h"
#include "src/passes/lapack_expander.h"

namespace kiln::tools {

absl::StatusOr<hlo::Literal> EvaluateReference(hlo::Module* module, absl::Span<const hlo::Literal> arguments,
                                               const hlo::EvaluatorOptions& options) {
  KILN_RETURN_IF_ERROR(passes::ExpandLapack(module).status());
  KILN_RETURN_IF_ERROR(passes::ExpandCustomCalls(module).status());
  return hlo::Evaluate(*module->entry(), arguments, options);
}

}  // namespace kiln::tools
