// What can be told of a while loop without running it.
#ifndef KILN_ANALYSIS_WHILE_LOOP_H_
#define KILN_ANALYSIS_WHILE_LOOP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "src/hlo/module.h"

namespace kiln::analysis {

// A state element that counts: init, init + step, ... while `counter direction bound` holds.
struct LoopCounter {
  int64_t element = 0;
  int64_t init = 0, step = 0, bound = 0;
  hlo::ComparisonDirection direction = hlo::ComparisonDirection::kLt;
};

// The counter that the condition compares with a constant, where init, step and bound are known integers.
std::optional<LoopCounter> FindLoopCounter(const hlo::Instruction& loop);

// How often the body runs: computed from the counter, or, where there is none, by running the few scalars that the
// condition depends on for a bounded number of rounds. Exact, wrap-around of narrow counters included.
std::optional<int64_t> DerivedTripCount(const hlo::Instruction& loop);

// The same, or else what the loop's backend_config says ({"known_trip_count":{"n":"10"}}).
std::optional<int64_t> KnownTripCount(const hlo::Instruction& loop);

// Which elements of the state the body hands on unchanged. Empty when the state is no tuple or the body's root none.
std::vector<bool> InvariantState(const hlo::Instruction& loop);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_WHILE_LOOP_H_
