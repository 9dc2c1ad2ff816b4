// Fourier transforms: a plan as calls of one function of the runtime.
#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/cpu/fft_kernels.h"
#include "src/cpu/fft_plan.h"
#include "src/cpu/llvm_loop.h"
#include "src/cpu/op_emitters.h"
#include "src/cpu/parallel_emitter.h"
#include "src/cpu/runtime_call.h"

namespace kiln::cpu {

using hlo::Instruction;

namespace {

// A chirp's transform takes the compiler up to two seconds; longer ones are refused.
constexpr int64_t kMaxConvolution = int64_t{1} << 24;

bool IsEmpty(const Instruction& fft) {
  return fft.shape().element_count() == 0 || fft.operand(0)->shape().element_count() == 0;
}

hlo::Literal TableLiteral(const FftTable& table, bool is_double) {
  const std::vector<double> values = FftTableValues(table);
  const hlo::PrimitiveType type = is_double ? hlo::PrimitiveType::kF64 : hlo::PrimitiveType::kF32;
  hlo::Literal literal(hlo::Shape(type, {static_cast<int64_t>(values.size())}));
  if (is_double) {
    std::copy(values.begin(), values.end(), literal.mutable_data<double>().begin());
  } else {
    std::copy(values.begin(), values.end(), literal.mutable_data<float>().begin());
  }
  return literal;
}

template <typename Struct>
void AppendNumbers(const Struct& all, std::vector<int64_t>* numbers) {
  const auto words = std::bit_cast<std::array<int64_t, sizeof(Struct) / sizeof(int64_t)>>(all);
  numbers->insert(numbers->end(), words.begin(), words.end());
}

class FftEmitter {
 public:
  FftEmitter(llvm::IRBuilder<>* builder, const Instruction& fft, const OpArrays& arrays)
      : b_(*builder), fft_(fft), arrays_(arrays), plan_(PlanFft(fft)), number_bytes_(plan_.is_double ? 8 : 4) {}

  absl::Status Emit() {
    for (const FftTable& table : plan_.tables) {
      if (table.kind == FftTable::kChirpSpectrum && table.b > kMaxConvolution) {
        return Unimplemented(fft_.Describe(), ": a transform of length ", table.a,
                             ", which has a large prime factor; such lengths are supported up to ",
                             kMaxConvolution / 2);
      }
    }
    for (const FftTable& table : plan_.tables) {
      const std::string key = absl::StrCat(table.Key(), plan_.is_double ? ".f64" : ".f32");
      tables_.push_back(arrays_.program->Table(key, [&] { return TableLiteral(table, plan_.is_double); }));
    }
    for (const FftGroup& group : plan_.groups) {
      EmitLoop(b_, b_.getInt64(0), b_.getInt64(static_cast<uint64_t>(group.rounds)), 1, "round",
               [&](llvm::Value* round) {
                 for (const FftPhase& phase : group.phases) EmitPhase(phase, round);
               });
    }
    return absl::OkStatus();
  }

 private:
  llvm::Value* Array(FftBuffer buffer, const FftPhase& phase) const {
    switch (buffer) {
      case FftBuffer::kInput:
        return arrays_.operands[0];
      case FftBuffer::kOutput:
        return arrays_.results[0];
      default:
        return b_.CreateConstGEP1_64(b_.getInt8Ty(), arrays_.scratch,
                                     static_cast<uint64_t>(plan_.OffsetOf(buffer, phase)));
    }
  }

  void EmitPhase(const FftPhase& phase, llvm::Value* round) {
    const FftUnits units = plan_.UnitsOf(phase);
    std::vector<llvm::Value*> closure;
    for (int i = 0; i < kFftBuffers; ++i) {
      llvm::Value* array = Array(static_cast<FftBuffer>(i), phase);
      if (const int64_t bytes = units.strides[i].round * number_bytes_; bytes != 0) {
        array = b_.CreateGEP(b_.getInt8Ty(), array, b_.CreateMul(round, b_.getInt64(static_cast<uint64_t>(bytes))));
      }
      closure.push_back(array);
    }
    closure.insert(closure.end(), tables_.begin(), tables_.end());
    std::vector<int64_t> description;
    AppendNumbers(units, &description);
    for (const FftStep& step : phase.steps) AppendNumbers(step, &description);
    ParallelTask task(&b_, "fft.phase", std::move(closure));
    CallRuntime(task.body(), kFftPhaseName,
                {ConstantStruct(task.body(), description), task.ClosureSlot(0), task.begin(), task.end()});
    task.Call(arrays_.context, units.slots, phase.nanoseconds / static_cast<double>(units.slots));
  }

  llvm::IRBuilder<>& b_;
  const Instruction& fft_;
  const OpArrays& arrays_;
  const FftPlan plan_;
  const int64_t number_bytes_;
  std::vector<llvm::Value*> tables_;
};

int64_t FftScratchBytes(const Instruction& fft) { return IsEmpty(fft) ? 0 : PlanFft(fft).ScratchBytes(); }

double FftNanoseconds(const Instruction& fft) { return IsEmpty(fft) ? 0 : PlanFft(fft).nanoseconds; }

bool MayShareFft(const Instruction& fft, int64_t leaf, int64_t operand) {
  return leaf == 0 && operand == 0 && !IsEmpty(fft) && PlanFft(fft).MayRunInPlace();
}

absl::Status EmitFft(llvm::IRBuilder<>* builder, const Instruction& fft, const OpArrays& arrays) {
  if (!IsEmpty(fft)) return FftEmitter(builder, fft, arrays).Emit();
  builder->CreateMemSet(arrays.results[0], builder->getInt8(0), static_cast<uint64_t>(fft.shape().byte_count()),
                        llvm::Align(1));
  return absl::OkStatus();
}

}  // namespace

constexpr OpEmitter kFftEmitter = {[](const Instruction& i) { return i.opcode() == hlo::Opcode::kFft; },
                                   FftScratchBytes, FftNanoseconds, EmitFft, MayShareFft};

}  // namespace kiln::cpu
