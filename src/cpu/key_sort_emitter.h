// Calls of the radix sort and of the selection of the largest, for sorts by keys (src/passes/sort_keys.h).
#ifndef KILN_CPU_KEY_SORT_EMITTER_H_
#define KILN_CPU_KEY_SORT_EMITTER_H_

#include <cstdint>

#include "src/cpu/op_emitters.h"

namespace kiln::cpu {

// True for the sort and top-k instructions that the functions below serve.
bool IsKeySort(const hlo::Instruction& instruction);

int64_t KeySortScratchBytes(const hlo::Instruction& instruction);
double KeySortNanoseconds(const hlo::Instruction& instruction);
// Whether result `leaf` may be in the memory of operand `operand`.
bool KeySortMayShare(const hlo::Instruction& instruction, int64_t leaf, int64_t operand);
absl::Status EmitKeySort(llvm::IRBuilder<>* builder, const hlo::Instruction& instruction, const OpArrays& arrays);

}  // namespace kiln::cpu

#endif  // KILN_CPU_KEY_SORT_EMITTER_H_
