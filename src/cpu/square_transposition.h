// The functions that kernel/square_transposition.h describes.
#ifndef KILN_CPU_SQUARE_TRANSPOSITION_H_
#define KILN_CPU_SQUARE_TRANSPOSITION_H_

namespace kiln::cpu {

// Makes those for the host callable from generated code.
void AddSquareTranspositions();

}  // namespace kiln::cpu

#endif  // KILN_CPU_SQUARE_TRANSPOSITION_H_
