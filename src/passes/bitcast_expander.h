#ifndef KILN_PASSES_BITCAST_EXPANDER_H_
#define KILN_PASSES_BITCAST_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// A bitcast to another element type inside a fusion as reshapes, bitcast-converts and parts of complex numbers. Where
// instructions run one by one a bitcast is a view of its operand's memory and stays. Types narrower than a byte and
// pred stay as well.
absl::StatusOr<bool> ExpandBitcasts(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_BITCAST_EXPANDER_H_
