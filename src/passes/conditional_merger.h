#ifndef KILN_PASSES_CONDITIONAL_MERGER_H_
#define KILN_PASSES_CONDITIONAL_MERGER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Makes one of conditionals that ask the same: of a second one near the first whose branches need nothing between the
// two that the first has a part in, at most its results, and that is given and gives little.
absl::StatusOr<bool> MergeConditionals(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_CONDITIONAL_MERGER_H_
