#ifndef KILN_PASSES_CSE_H_
#define KILN_PASSES_CSE_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Common subexpressions of a computation become one instruction. Works per computation, bodies included. Called
// computations are compared by structure, operands of commutative ops in any order. Random state, communication,
// tokens, barriers and anything with a side effect are left alone. Copies of scalar computations (of reduce, sort, ...)
// are replaced by one of them.
absl::StatusOr<bool> MergeEqualInstructions(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_CSE_H_
