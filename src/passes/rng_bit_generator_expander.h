#ifndef KILN_PASSES_RNG_BIT_GENERATOR_EXPANDER_H_
#define KILN_PASSES_RNG_BIT_GENERATOR_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Rng-bit-generator as integer arithmetic over iotas. The numbers and the new state are bit for bit those of XLA on
// CPU; the default algorithm is Philox. The state holds a key and a counter: u64[2] or (Philox only) u64[3], or the
// same words as u32, the lower half of each first.
absl::StatusOr<bool> ExpandRngBitGenerators(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_RNG_BIT_GENERATOR_EXPANDER_H_
