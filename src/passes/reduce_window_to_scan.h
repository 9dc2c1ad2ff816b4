#ifndef KILN_PASSES_REDUCE_WINDOW_TO_SCAN_H_
#define KILN_PASSES_REDUCE_WINDOW_TO_SCAN_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Rewrites a reduce-window whose windows are all prefixes, or all suffixes, of one dimension (cumsum, cummax and their
// kin) into a scan, which takes time linear in the dimension instead of quadratic. Where windows begin before the
// dimension, or end early (exclusive sums), the scan is padded or cut.
absl::StatusOr<bool> MakeWindowsScans(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_REDUCE_WINDOW_TO_SCAN_H_
