#ifndef KILN_PASSES_RAGGED_DOT_EXPANDER_H_
#define KILN_PASSES_RAGGED_DOT_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Writes ragged-dot and scaled-dot as dots. A ragged dot goes over its groups in blocks of rows (of the ragged
// dimension), so that its work is that of a dot of the operands as they are, plus what the last block of each group has
// too many: no group is multiplied by another's rows.
absl::StatusOr<bool> ExpandRaggedDots(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_RAGGED_DOT_EXPANDER_H_
