// Counter-based random numbers as elementwise arithmetic: ThreeFry2x32 with 20 rounds and Philox4x32 with 10.
#ifndef KILN_PASSES_COUNTER_RANDOM_H_
#define KILN_PASSES_COUNTER_RANDOM_H_

#include <array>

#include "src/passes/array_value.h"

namespace kiln::passes {

// 64 random bits per counter: the first word of the block is the lower half. `key` is a u64 scalar, `counter` u64.
ArrayValue ThreeFryBits(const ArrayValue& key, const ArrayValue& counter);

// 128 random bits per counter, whose lower and upper half are `low` and `high`: the lower and the upper half of them.
std::array<ArrayValue, 2> PhiloxBits(const ArrayValue& key, const ArrayValue& low, const ArrayValue& high);

}  // namespace kiln::passes

#endif  // KILN_PASSES_COUNTER_RANDOM_H_
