#include "src/cpu/op_emitters.h"

#include "src/base/status.h"
#include "src/cpu/random_state_emitter.h"
#include "src/cpu/sort_emitter.h"

namespace kiln::cpu {

using hlo::Opcode;

namespace {

struct OpEmitter {
  Opcode opcode;
  int64_t (*scratch_bytes)(const hlo::Instruction&);
  double (*nanoseconds)(const hlo::Instruction&);
  absl::Status (*emit)(llvm::IRBuilder<>*, const hlo::Instruction&, const OpArrays&);
};

double ElementNanoseconds(const hlo::Instruction& instruction) {
  return 30.0 * static_cast<double>(instruction.operand(0)->shape().element_count());
}

// One row per op.
constexpr OpEmitter kEmitters[] = {
    {Opcode::kSort, SortScratchBytes, SortNanoseconds, EmitSort},
    {Opcode::kTopK, TopKScratchBytes, ElementNanoseconds, EmitTopK},
    {Opcode::kRngGetAndUpdateState, RandomStateScratchBytes, RandomStateNanoseconds, EmitRandomState},
};

const OpEmitter* Find(Opcode opcode) {
  for (const OpEmitter& emitter : kEmitters) {
    if (emitter.opcode == opcode) return &emitter;
  }
  return nullptr;
}

}  // namespace

bool HasOpEmitter(const hlo::Instruction& instruction) { return Find(instruction.opcode()) != nullptr; }

int64_t OpScratchBytes(const hlo::Instruction& instruction) {
  const OpEmitter* emitter = Find(instruction.opcode());
  return emitter == nullptr ? 0 : emitter->scratch_bytes(instruction);
}

double OpNanoseconds(const hlo::Instruction& instruction) {
  const OpEmitter* emitter = Find(instruction.opcode());
  return emitter == nullptr ? 0 : emitter->nanoseconds(instruction);
}

absl::Status EmitOp(llvm::IRBuilder<>* builder, const hlo::Instruction& instruction, const OpArrays& arrays) {
  const OpEmitter* emitter = Find(instruction.opcode());
  if (emitter == nullptr) return Unimplemented(instruction.Describe(), ": no code is generated for this operation");
  return emitter->emit(builder, instruction, arrays);
}

}  // namespace kiln::cpu
