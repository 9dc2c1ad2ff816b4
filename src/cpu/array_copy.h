// Copies of whole arrays, by all threads of a run: what an in-place update begins with where its operand stays alive.
#ifndef KILN_CPU_ARRAY_COPY_H_
#define KILN_CPU_ARRAY_COPY_H_

#include <cstdint>

#include "src/cpu/program_abi.h"

namespace kiln::cpu {

// Fewer bytes are not worth a call.
inline constexpr int64_t kDividedCopyBytes = int64_t{128} << 10;

// Symbol "kiln_copy_array": copies `bytes` bytes between arrays that do not overlap.
void CopyArray(ProgramContext* context, void* to, const void* from, int64_t bytes);
inline constexpr char kCopyArrayName[] = "kiln_copy_array";

// Symbol "kiln_copy_around": copies an array but for a box of it. `box`: rank, bytes of an element, and of each dimension
// its size, then where the box begins, then the box's size.
void CopyAround(ProgramContext* context, void* to, const void* from, const int64_t* box);
inline constexpr char kCopyAroundName[] = "kiln_copy_around";

// Symbol "kiln_put_back": puts `count` arrays of `bytes` bytes, which are in each other's places, into their own.
// `pointers` has where they are, then where they belong. The first is memory to do it with.
void PutBack(ProgramContext* context, void* const* pointers, int64_t count, int64_t bytes);
inline constexpr char kPutBackName[] = "kiln_put_back";

}  // namespace kiln::cpu

#endif  // KILN_CPU_ARRAY_COPY_H_
