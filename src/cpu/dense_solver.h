// Factorizations and triangular solves of stacks of dense matrices: what generated code calls for them.
//
// Compiled once, for every size: their loops are the same whatever the program is. Small matrices of a stack go side by
// side in the lanes of vectors, larger ones by blocks with rows in vectors. Results do not depend on threads.
#ifndef KILN_CPU_DENSE_SOLVER_H_
#define KILN_CPU_DENSE_SOLVER_H_

#include <cstdint>

#include "src/cpu/program_abi.h"

namespace kiln::cpu {

// One call over `count` matrices, all dense and row-major, of floats (width 4) or doubles (8).
struct DenseSolve {
  enum Kind : int64_t { kLu, kCholesky, kTriangular, kQr, kReflectors };
  enum Flag : int64_t { kLower = 1, kUnitDiagonal = 2, kTransposed = 4, kRightSide = 8 };
  int64_t kind = kLu;
  int64_t width = 4;
  int64_t count = 0;
  int64_t rows = 0;  // of the matrix, but with kTriangular of the right-hand sides, as they lie in memory
  int64_t columns = 0;
  int64_t flags = 0;  // kCholesky: kLower; kTriangular: all
  int64_t steps = 0;  // kReflectors: how many there are, at most as many as rows and as columns
};

// Bytes of scratch that Run needs.
int64_t DenseSolveScratchBytes(const DenseSolve& solve);
// Rough time on one thread.
double DenseSolveNanoseconds(const DenseSolve& solve);

// Symbol "kiln_dense_solve". The arrays are
//   kLu: matrices; factors, pivots and permutations (s32)
//   kCholesky: matrices, of which one triangle counts; factors, zero in the other triangle
//   kTriangular: matrices, right-hand sides; solutions
//   kQr: matrices; as LAPACK's geqrf, R with the reflectors below it, and their factors tau
//   kReflectors: matrices with reflectors below their diagonals, factors tau; as many columns of the reflectors' product
// and results overlap no operand. Scratch is aligned to 64.
void RunDenseSolve(ProgramContext* context, const DenseSolve* solve, const void* const* arrays, void* scratch);
inline constexpr char kDenseSolveName[] = "kiln_dense_solve";

}  // namespace kiln::cpu

#endif  // KILN_CPU_DENSE_SOLVER_H_
