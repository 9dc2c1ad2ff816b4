#ifndef KILN_PASSES_CUSTOM_CALL_EXPANDER_H_
#define KILN_PASSES_CUSTOM_CALL_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// The custom calls TopK, and those that only say where values lie, as ops. Sharding and its kin are the identity on one
// device; they vanish. TopK gives values and positions along the last dimension; a comparator, if it has one, must be
// "greater".
absl::StatusOr<bool> ExpandCustomCalls(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_CUSTOM_CALL_EXPANDER_H_
