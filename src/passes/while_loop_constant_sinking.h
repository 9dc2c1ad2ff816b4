#ifndef KILN_PASSES_WHILE_LOOP_CONSTANT_SINKING_H_
#define KILN_PASSES_WHILE_LOOP_CONSTANT_SINKING_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// State that starts from a constant, or from broadcasts and iotas of constants, and that the body hands on unchanged
// becomes such an instruction inside body and condition, where it folds and takes no memory.
absl::StatusOr<bool> SinkLoopConstants(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_WHILE_LOOP_CONSTANT_SINKING_H_
