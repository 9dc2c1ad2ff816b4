// The functions that a Fourier transform is made of: one loop nest per step, all sizes and strides constants.
#ifndef KILN_CPU_FFT_CODE_H_
#define KILN_CPU_FFT_CODE_H_

#include <string>

#include "llvm/IR/Function.h"
#include "src/cpu/fft_plan.h"

namespace kiln::cpu {

// Names a step's code: steps with the same name have the same.
std::string FftCodeName(const FftStep& step, bool is_double);

// void(ptr source, ptr destination, ptr table, ptr bases, i64 start, i64 width). Source and destination begin where the
// unit does; the last two say which part of the phase's extent it is.
llvm::FunctionType* FftCodeType(llvm::LLVMContext& context);

// Gives `function` its body.
void EmitFftCode(llvm::Function* function, const FftStep& step, bool is_double);

}  // namespace kiln::cpu

#endif  // KILN_CPU_FFT_CODE_H_
