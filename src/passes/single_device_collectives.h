#ifndef KILN_PASSES_SINGLE_DEVICE_COLLECTIVES_H_
#define KILN_PASSES_SINGLE_DEVICE_COLLECTIVES_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Communication among one participant. A program of one replica and one partition is device 0. Where groups have no
// other member, a collective gives back what it got, and a permutation that sends nothing to device 0 gives zeros;
// copies between memories and asynchronous calls become what they copy and call. Whatever names another device is left.
absl::StatusOr<bool> ExpandCollectives(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SINGLE_DEVICE_COLLECTIVES_H_
