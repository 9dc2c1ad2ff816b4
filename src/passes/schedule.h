// schedule: puts the instructions of every computation in the order in which they run.
#ifndef KILN_PASSES_SCHEDULE_H_
#define KILN_PASSES_SCHEDULE_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// Of four orders takes the one with the smallest peak in a simulation: depth first from the root, in the order of
// operands and with the most demanding ones first; greedy by the memory that each step frees; and the order as it was.
// Readers of an array that is updated in place run before the update where dependencies allow it, and readers of a
// loop's state before the next value of that state is made.
class Schedule : public Pass {
 public:
  absl::string_view name() const override { return "schedule"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_SCHEDULE_H_
