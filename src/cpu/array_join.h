// Concatenates many arrays: code for each piece would be much code, and choosing among them for each element much work.
#ifndef KILN_CPU_ARRAY_JOIN_H_
#define KILN_CPU_ARRAY_JOIN_H_

#include <cstdint>

#include "src/cpu/program_abi.h"

namespace kiln::cpu {

// In memory all 64-bit integers, followed by where in a row each piece ends, in bytes.
struct ArrayJoin {
  int64_t pieces = 0;
  int64_t rows = 1;  // of the result: all that is before the dimension along which pieces are joined
};

// Symbol "kiln_join_arrays": puts the rows of all pieces side by side. `pointers` has the pieces, then the result,
// which overlaps none of them.
void JoinArrays(ProgramContext* context, const ArrayJoin* join, void* const* pointers);
// Roughly what it takes one thread to write so many bytes in so many runs.
double JoinNanoseconds(int64_t bytes, int64_t runs);
inline constexpr char kJoinArraysName[] = "kiln_join_arrays";

}  // namespace kiln::cpu

#endif  // KILN_CPU_ARRAY_JOIN_H_
