// Ops that are no kernels: each emits its own loops over whole arrays.
#ifndef KILN_CPU_OP_EMITTERS_H_
#define KILN_CPU_OP_EMITTERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "llvm/IR/IRBuilder.h"
#include "src/hlo/instruction.h"

namespace kiln::cpu {

// Where an op's arrays are; dense and row-major.
struct OpArrays {
  llvm::Value* context = nullptr;       // the ProgramContext
  std::vector<llvm::Value*> operands;   // one pointer per operand leaf
  std::vector<llvm::Value*> results;    // one pointer per result leaf; distinct from operands but for OpMayShare
  llvm::Value* scratch = nullptr;       // OpScratchBytes, aligned to 64
};

// True for the opcodes below.
bool HasOpEmitter(const hlo::Instruction& instruction);

// Scratch memory that the op needs.
int64_t OpScratchBytes(const hlo::Instruction& instruction);

// Rough time of one run on one thread.
double OpNanoseconds(const hlo::Instruction& instruction);

// Whether result `leaf` may be in the memory of operand `operand`.
bool OpMayShare(const hlo::Instruction& instruction, int64_t leaf, int64_t operand);

// Emits the op at the builder, which goes on behind it.
absl::Status EmitOp(llvm::IRBuilder<>* builder, const hlo::Instruction& instruction, const OpArrays& arrays);

}  // namespace kiln::cpu

#endif  // KILN_CPU_OP_EMITTERS_H_
