#include "src/cpu/op_emitters.h"

#include "src/base/status.h"
#include "src/cpu/dense_solve_emitter.h"
#include "src/cpu/fft_emitter.h"
#include "src/cpu/key_sort_emitter.h"
#include "src/cpu/random_state_emitter.h"
#include "src/cpu/scan_emitter.h"
#include "src/cpu/sort_emitter.h"

namespace kiln::cpu {

using hlo::Opcode;

namespace {

struct OpEmitter {
  bool (*serves)(const hlo::Instruction&);
  int64_t (*scratch_bytes)(const hlo::Instruction&);
  double (*nanoseconds)(const hlo::Instruction&);
  absl::Status (*emit)(llvm::IRBuilder<>*, const hlo::Instruction&, const OpArrays&);
  bool (*may_share)(const hlo::Instruction&, int64_t leaf, int64_t operand) = nullptr;
};

double ElementNanoseconds(const hlo::Instruction& instruction) {
  return 30.0 * static_cast<double>(instruction.operand(0)->shape().element_count());
}

template <Opcode opcode>
bool Is(const hlo::Instruction& instruction) {
  return instruction.opcode() == opcode;
}

// One row per op; the first that serves an instruction emits it.
constexpr OpEmitter kEmitters[] = {
    {IsKeySort, KeySortScratchBytes, KeySortNanoseconds, EmitKeySort, KeySortMayShare},
    {Is<Opcode::kSort>, SortScratchBytes, SortNanoseconds, EmitSort},
    {Is<Opcode::kScan>, ScanScratchBytes, ScanNanoseconds, EmitScan},
    {Is<Opcode::kFft>, FftScratchBytes, FftNanoseconds, EmitFft},
    {Is<Opcode::kTopK>, TopKScratchBytes, ElementNanoseconds, EmitTopK},
    {IsDenseSolve, DenseSolveScratch, DenseSolveTime, EmitDenseSolve},
    {Is<Opcode::kRngGetAndUpdateState>, RandomStateScratchBytes, RandomStateNanoseconds, EmitRandomState},
};

const OpEmitter* Find(const hlo::Instruction& instruction) {
  for (const OpEmitter& emitter : kEmitters) {
    if (emitter.serves(instruction)) return &emitter;
  }
  return nullptr;
}

}  // namespace

bool HasOpEmitter(const hlo::Instruction& instruction) { return Find(instruction) != nullptr; }

int64_t OpScratchBytes(const hlo::Instruction& instruction) {
  const OpEmitter* emitter = Find(instruction);
  return emitter == nullptr ? 0 : emitter->scratch_bytes(instruction);
}

double OpNanoseconds(const hlo::Instruction& instruction) {
  const OpEmitter* emitter = Find(instruction);
  return emitter == nullptr ? 0 : emitter->nanoseconds(instruction);
}

bool OpMayShare(const hlo::Instruction& instruction, int64_t leaf, int64_t operand) {
  const OpEmitter* emitter = Find(instruction);
  return emitter != nullptr && emitter->may_share != nullptr && emitter->may_share(instruction, leaf, operand);
}

absl::Status EmitOp(llvm::IRBuilder<>* builder, const hlo::Instruction& instruction, const OpArrays& arrays) {
  const OpEmitter* emitter = Find(instruction);
  if (emitter == nullptr) return Unimplemented(instruction.Describe(), ": no code is generated for this operation");
  return emitter->emit(builder, instruction, arrays);
}

}  // namespace kiln::cpu
