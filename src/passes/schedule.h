#ifndef KILN_PASSES_SCHEDULE_H_
#define KILN_PASSES_SCHEDULE_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Puts the instructions of every computation in the order in which they run. Of four orders takes the one with the
// smallest peak in a simulation: depth first from the root, in the order of operands and with the most demanding ones
// first; greedy by the memory that each step frees; and the order as it was. Readers of an array that is updated in
// place run before the update where dependencies allow it, and readers of a loop's state before the next value of that
// state is made.
absl::StatusOr<bool> ScheduleModule(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SCHEDULE_H_
