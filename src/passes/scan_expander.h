#ifndef KILN_PASSES_SCAN_EXPANDER_H_
#define KILN_PASSES_SCAN_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Rewrites scans whose body is more than a formula of elements into loops over slices.
absl::StatusOr<bool> ExpandScans(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_SCAN_EXPANDER_H_
