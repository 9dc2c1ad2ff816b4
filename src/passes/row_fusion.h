#ifndef KILN_PASSES_ROW_FUSION_H_
#define KILN_PASSES_ROW_FUSION_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Forms one fusion of work that reduces rows and goes on over the same rows (softmax, layer norm, logsumexp, cross
// entropy, and their gradients), so that a row is read once and stays in cache between the stages. The stages are
// elementwise ops over arrays, reduces of some of their dimensions, elementwise ops over what those leave (the rows),
// picks of one element per row, and broadcasts back. Values of rows that others need are results as well (a tuple
// then); full arrays too when they are dear, while cheap ones are computed again outside.
absl::StatusOr<bool> FuseRows(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_ROW_FUSION_H_
