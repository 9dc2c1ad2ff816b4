// rng-get-and-update-state.
#ifndef KILN_CPU_RANDOM_STATE_EMITTER_H_
#define KILN_CPU_RANDOM_STATE_EMITTER_H_

#include <cstdint>

#include "src/cpu/op_emitters.h"

namespace kiln::cpu {

int64_t RandomStateScratchBytes(const hlo::Instruction& instruction);
double RandomStateNanoseconds(const hlo::Instruction& instruction);
// One 64-bit counter per program, 0 when it is compiled, shared by all its random ops, runs and threads: the op takes
// `delta` numbers from it and gives the first of them (u64[1], or u64[2] with the counter last).
absl::Status EmitRandomState(llvm::IRBuilder<>* builder, const hlo::Instruction& instruction, const OpArrays& arrays);

}  // namespace kiln::cpu

#endif  // KILN_CPU_RANDOM_STATE_EMITTER_H_
