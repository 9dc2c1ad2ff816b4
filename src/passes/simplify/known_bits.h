// What is known of the binary digits of integers without running the program.
#ifndef KILN_PASSES_SIMPLIFY_KNOWN_BITS_H_
#define KILN_PASSES_SIMPLIFY_KNOWN_BITS_H_

#include <cstdint>

#include "src/passes/ir.h"

namespace kiln::passes::simplify {

// Of all elements: digits that are 1 in none are not in `maybe`, those that are 1 in each are in `always`. Digits past
// the type's width are in neither.
struct KnownBits {
  uint64_t maybe, always;
};

// Of an array of integers or pred; looks so many steps back.
KnownBits BitsOf(const Instruction& x, int steps = 3);

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_KNOWN_BITS_H_
