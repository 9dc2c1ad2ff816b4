// The functions that kernel/square_transposition.h describes.
#ifndef KILN_CPU_SQUARE_TRANSPOSITION_H_
#define KILN_CPU_SQUARE_TRANSPOSITION_H_

#include <cstdint>

#include "src/kernel/square_transposition.h"

namespace kiln::cpu {

// The host's for elements of 1, 2, 4 or 8 bytes.
kernel::SquareTransposition* SquareTranspositionOf(int64_t element_bytes);

// Makes those for the host callable from generated code.
void AddSquareTranspositions();

}  // namespace kiln::cpu

#endif  // KILN_CPU_SQUARE_TRANSPOSITION_H_
