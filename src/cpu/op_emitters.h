// Ops that are no kernels: each emits its own loops over whole arrays.
#ifndef KILN_CPU_OP_EMITTERS_H_
#define KILN_CPU_OP_EMITTERS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "src/hlo/instruction.h"

namespace kiln::cpu {

// What an op may add to the program that it is part of.
class OpProgram {
 public:
  virtual ~OpProgram() = default;
  // A function that ops call, as the caller's module knows it. Its name says all about it; `emit` gives it its body, in
  // a module of its own, which is compiled side by side with others or found where it was compiled before.
  virtual llvm::Function* Function(const std::string& name, llvm::FunctionType* (*type)(llvm::LLVMContext& context),
                                   const std::function<void(llvm::Function*)>& emit) = 0;
  // The address of a constant that is made once per key, and kept and serialized together with the program.
  virtual llvm::Value* Table(const std::string& key, const std::function<hlo::Literal()>& make) = 0;
};

// Where an op's arrays are; dense and row-major.
struct OpArrays {
  OpProgram* program = nullptr;
  llvm::Value* context = nullptr;      // the ProgramContext
  std::vector<llvm::Value*> operands;  // one pointer per operand leaf
  std::vector<llvm::Value*> results;   // one pointer per result leaf; distinct from operands but for OpMayShare
  llvm::Value* scratch = nullptr;      // OpScratchBytes, aligned to 64
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
