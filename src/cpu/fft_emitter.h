// Fourier transforms: a plan (fft_plan.h) as calls of generated functions (fft_code.h).
#ifndef KILN_CPU_FFT_EMITTER_H_
#define KILN_CPU_FFT_EMITTER_H_

#include <cstdint>

#include "src/cpu/op_emitters.h"

namespace kiln::cpu {

int64_t FftScratchBytes(const hlo::Instruction& fft);
double FftNanoseconds(const hlo::Instruction& fft);
absl::Status EmitFft(llvm::IRBuilder<>* builder, const hlo::Instruction& fft, const OpArrays& arrays);

}  // namespace kiln::cpu

#endif  // KILN_CPU_FFT_EMITTER_H_
