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

}  // namespace kiln::cpu

#endif  // KILN_CPU_ARRAY_COPY_H_
