#ifndef KILN_PASSES_RNG_EXPANDER_H_
#define KILN_PASSES_RNG_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Rng as Philox over the counter that rng-get-and-update-state hands out. Draws one counter per element, with key 0,
// and computes in f64: uniform numbers in [a, b) (integers too), or normal ones with mean a and deviation b by Box and
// Muller. Every run draws new numbers, as the state lives with the program.
absl::StatusOr<bool> ExpandRng(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_RNG_EXPANDER_H_
