// Tuple elements that loops and conditionals carry and nobody reads.
#ifndef KILN_PASSES_DEAD_STATE_H_
#define KILN_PASSES_DEAD_STATE_H_

#include "src/hlo/module.h"

namespace kiln::passes {

// Narrows the tuples of while loops (elements that neither the condition, nor a live element of the next iteration, nor
// a user of the loop reads) and the results of conditionals. Leaves dead instructions behind for a sweep. A computation
// with several callers is left as it is. Returns whether anything changed.
bool RemoveDeadState(hlo::Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_DEAD_STATE_H_
