// The evaluator as the judge of compiled programs.
#ifndef KILN_TOOLS_REFERENCE_H_
#define KILN_TOOLS_REFERENCE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/hlo/evaluator.h"
#include "src/hlo/module.h"

namespace kiln::tools {

// What the evaluator gives for the module's entry. Custom calls that stand for ops (TopK, LAPACK's factorizations and
// solves) become these in `module` first, since the evaluator knows no others.
absl::StatusOr<hlo::Literal> EvaluateReference(hlo::Module* module, absl::Span<const hlo::Literal> arguments,
                                               const hlo::EvaluatorOptions& options = {});

}  // namespace kiln::tools

#endif  // KILN_TOOLS_REFERENCE_H_
