// The arithmetic of single operations.
#ifndef KILN_ANALYSIS_ARITHMETIC_COST_H_
#define KILN_ANALYSIS_ARITHMETIC_COST_H_

#include "src/hlo/instruction.h"

namespace kiln::analysis {

struct Arithmetic {
  double flops = 0;
  double transcendentals = 0;

  Arithmetic operator*(double times) const { return {flops * times, transcendentals * times}; }
};

// Elementwise functions that take many operations: roots, powers and what is not algebraic.
bool IsTranscendental(hlo::Opcode opcode);

// Of `instruction` without the computations that it calls, but for scalar ones: those of a reduce or a scatter count as
// often as they run. Control flow has none of its own.
Arithmetic ArithmeticOf(const hlo::Instruction& instruction);

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_ARITHMETIC_COST_H_
