#ifndef KILN_PASSES_DOT_CANONICALIZATION_H_
#define KILN_PASSES_DOT_CANONICALIZATION_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Every dot as a batch of matrix products. Afterwards each operand of a dot has at most one batch, one contracting and
// one free dimension, in any order and none of size 1, and something is contracted. Dimensions of one role are merged
// by a reshape where they lie side by side in the right order, after a transpose where they do not. A dot that
// contracts nothing becomes a multiplication of broadcasts, one of two long vectors, or of rows one by one, the sum of a
// multiplication.
absl::StatusOr<bool> CanonicalizeDots(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_DOT_CANONICALIZATION_H_
