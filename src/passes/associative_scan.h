#ifndef KILN_PASSES_ASSOCIATIVE_SCAN_H_
#define KILN_PASSES_ASSOCIATIVE_SCAN_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Recognizes scans written as trees (jax.lax.associative_scan): at every level neighbours are combined, half as many
// are scanned, and the results are combined with what lies between and interleaved with it. Where the combiner is
// proved associative the whole becomes one scan, which goes over the elements once. Runs before simplification, which
// takes the ends of the tree apart.
absl::StatusOr<bool> RecognizeAssociativeScans(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_ASSOCIATIVE_SCAN_H_
