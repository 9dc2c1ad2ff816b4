#ifndef KILN_PASSES_CUSTOM_CALL_FLATTENING_H_
#define KILN_PASSES_CUSTOM_CALL_FLATTENING_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Gives typed custom calls the elements of their tuple operands as operands of their own, which is how handlers see
// them anyway, so that what is said of operands (layouts, shared memory) is said of arrays.
absl::StatusOr<bool> FlattenCustomCalls(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_CUSTOM_CALL_FLATTENING_H_
