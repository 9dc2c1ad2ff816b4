#ifndef KILN_PASSES_WHILE_LOOP_INVARIANT_CODE_MOTION_H_
#define KILN_PASSES_WHILE_LOOP_INVARIANT_CODE_MOTION_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// What body or condition compute from unchanged state alone is computed once before the loop and carried. Neither
// constants, broadcasts, iotas and other views by themselves, nor what would take more memory than its sources.
absl::StatusOr<bool> HoistLoopInvariants(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_WHILE_LOOP_INVARIANT_CODE_MOTION_H_
