#include "src/cpu/op_emitters.h"

#include "src/base/status.h"

namespace kiln::cpu {

bool HasOpEmitter(const hlo::Instruction& instruction) { return false; }

int64_t OpScratchBytes(const hlo::Instruction& instruction) { return 0; }

double OpNanoseconds(const hlo::Instruction& instruction) { return 0; }

absl::Status EmitOp(llvm::IRBuilder<>* builder, const hlo::Instruction& instruction, const OpArrays& arrays) {
  return Unimplemented(instruction.Describe(), ": no code is generated for this operation");
}

}  // namespace kiln::cpu
