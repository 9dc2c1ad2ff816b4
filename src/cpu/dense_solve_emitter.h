// Factorizations and triangular solves of real matrices: calls of cpu/dense_solver.h.
#ifndef KILN_CPU_DENSE_SOLVE_EMITTER_H_
#define KILN_CPU_DENSE_SOLVE_EMITTER_H_

#include "src/cpu/op_emitters.h"

namespace kiln::cpu {

// Cholesky, triangular solves, and custom calls "LuDecomposition", which give factors, pivots and permutation, of f32
// and f64.
bool IsDenseSolve(const hlo::Instruction& instruction);
int64_t DenseSolveScratch(const hlo::Instruction& instruction);
double DenseSolveTime(const hlo::Instruction& instruction);
absl::Status EmitDenseSolve(llvm::IRBuilder<>* builder, const hlo::Instruction& instruction, const OpArrays& arrays);

}  // namespace kiln::cpu

#endif  // KILN_CPU_DENSE_SOLVE_EMITTER_H_
