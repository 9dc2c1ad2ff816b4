#ifndef KILN_PASSES_WHILE_LOOP_TRIP_COUNT_ANNOTATOR_H_
#define KILN_PASSES_WHILE_LOOP_TRIP_COUNT_ANNOTATOR_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Writes how often a loop runs, where that is known, into its backend_config as XLA does:
// {"known_trip_count":{"n":"10"}}.
absl::StatusOr<bool> AnnotateTripCounts(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_WHILE_LOOP_TRIP_COUNT_ANNOTATOR_H_
