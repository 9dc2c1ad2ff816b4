// Fourier transforms: a plan as calls of generated functions.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "llvm/IR/Function.h"
#include "src/base/status.h"
#include "src/cpu/fft_code.h"
#include "src/cpu/fft_plan.h"
#include "src/cpu/llvm_loop.h"
#include "src/cpu/op_emitters.h"
#include "src/cpu/parallel_emitter.h"

namespace kiln::cpu {

using hlo::Instruction;

namespace {

// A chirp's transform takes the compiler a second; longer ones are refused.
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
  llvm::Value* Array(FftBuffer buffer) const {
    switch (buffer) {
      case FftBuffer::kInput:
        return arrays_.operands[0];
      case FftBuffer::kOutput:
        return arrays_.results[0];
      default:
        return b_.CreateConstGEP1_64(b_.getInt8Ty(), arrays_.scratch, static_cast<uint64_t>(plan_.OffsetOf(buffer)));
    }
  }

  llvm::Value* Advanced(llvm::IRBuilder<>& b, llvm::Value* pointer, llvm::Value* index, int64_t numbers) const {
    if (numbers == 0) return pointer;
    llvm::Value* bytes = b.CreateMul(index, b.getInt64(static_cast<uint64_t>(numbers * number_bytes_)));
    return b.CreateGEP(b.getInt8Ty(), pointer, bytes);
  }

  void EmitPhase(const FftPhase& phase, llvm::Value* round) {
    std::vector<llvm::Value*> closure;
    for (int i = 0; i < kFftBuffers; ++i) {
      closure.push_back(Advanced(b_, Array(static_cast<FftBuffer>(i)), round, phase.strides[i].round));
    }
    closure.insert(closure.end(), tables_.begin(), tables_.end());
    std::vector<llvm::Function*> code;
    for (const FftStep& step : phase.steps) {
      code.push_back(
          arrays_.program->Function(FftCodeName(step, plan_.is_double), FftCodeType,
                                    [&](llvm::Function* function) { EmitFftCode(function, step, plan_.is_double); }));
    }
    ParallelTask task(&b_, "fft.phase", std::move(closure));
    llvm::IRBuilder<>& b = task.body();
    auto constant = [&](int64_t value) { return b.getInt64(static_cast<uint64_t>(value)); };
    const int64_t blocks = phase.blocks(), units = phase.outer * blocks, slots = std::min(plan_.slots, units);
    EmitLoop(b, task.begin(), task.end(), 1, "slot", [&](llvm::Value* slot) {
      auto bound = [&](llvm::Value* of) { return b.CreateUDiv(b.CreateMul(of, constant(units)), constant(slots)); };
      EmitLoop(b, bound(slot), bound(b.CreateAdd(slot, constant(1))), 1, "unit", [&](llvm::Value* unit) {
        llvm::Value* outer = blocks == 1 ? unit : b.CreateUDiv(unit, constant(blocks));
        llvm::Value* block = blocks == 1 ? constant(0) : b.CreateSub(unit, b.CreateMul(outer, constant(blocks)));
        llvm::Value *start = b.CreateMul(block, constant(phase.block)), *width = constant(phase.block);
        llvm::Value* is_last = b.CreateICmpEQ(block, constant(blocks - 1));
        const int64_t last_start = phase.overlapped ? phase.extent - phase.block : (blocks - 1) * phase.block;
        if (phase.overlapped) {
          start = b.CreateSelect(is_last, constant(last_start), start);
        } else {
          width = b.CreateSelect(is_last, constant(phase.extent - last_start), width);
        }
        auto at = [&](FftBuffer buffer) -> llvm::Value* {
          const int i = static_cast<int>(buffer);
          if (buffer == FftBuffer::kScratch0 || buffer == FftBuffer::kScratch1) {
            return Advanced(b, task.closure(i), slot, 2 * plan_.scratch_numbers);
          }
          llvm::Value* pointer = Advanced(b, task.closure(i), outer, phase.strides[i].outer);
          return Advanced(b, pointer, start, phase.strides[i].block);
        };
        for (size_t s = 0; s < phase.steps.size(); ++s) {
          const FftStep& step = phase.steps[s];
          auto table = [&](int number) -> llvm::Value* {
            if (number < 0) return llvm::ConstantPointerNull::get(b.getPtrTy());
            return task.closure(static_cast<size_t>(kFftBuffers + number));
          };
          llvm::Value* bases = Advanced(b, table(step.bases), block, step.bases_per_block);
          b.CreateCall(code[s], {Advanced(b, at(step.source), constant(step.source_begin), 1),
                                 Advanced(b, at(step.destination), constant(step.destination_begin), 1),
                                 table(step.table), bases, start, width});
        }
      });
    });
    task.Call(arrays_.context, slots, phase.nanoseconds / static_cast<double>(slots));
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

absl::Status EmitFft(llvm::IRBuilder<>* builder, const Instruction& fft, const OpArrays& arrays) {
  if (!IsEmpty(fft)) return FftEmitter(builder, fft, arrays).Emit();
  builder->CreateMemSet(arrays.results[0], builder->getInt8(0), static_cast<uint64_t>(fft.shape().byte_count()),
                        llvm::Align(1));
  return absl::OkStatus();
}

}  // namespace

constexpr OpEmitter kFftEmitter = {[](const Instruction& i) { return i.opcode() == hlo::Opcode::kFft; },
                                   FftScratchBytes, FftNanoseconds, EmitFft};

}  // namespace kiln::cpu
