// Writes how often a loop runs, where that is known, into its backend_config as XLA does:
// {"known_trip_count":{"n":"10"}}.
#ifndef KILN_PASSES_WHILE_LOOP_TRIP_COUNT_ANNOTATOR_H_
#define KILN_PASSES_WHILE_LOOP_TRIP_COUNT_ANNOTATOR_H_

#include "src/passes/pass.h"

namespace kiln::passes {

class WhileLoopTripCountAnnotator : public Pass {
 public:
  absl::string_view name() const override { return "while-loop-trip-count-annotator"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_WHILE_LOOP_TRIP_COUNT_ANNOTATOR_H_
