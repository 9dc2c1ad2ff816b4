// Fourier transforms of a few values in registers.
#ifndef KILN_CPU_FFT_BUTTERFLY_H_
#define KILN_CPU_FFT_BUTTERFLY_H_

#include <vector>

#include "llvm/IR/IRBuilder.h"

namespace kiln::cpu {

// Floats or vectors of them.
struct ComplexValue {
  llvm::Value* re = nullptr;
  llvm::Value* im = nullptr;
};

ComplexValue ComplexProduct(llvm::IRBuilder<>& b, const ComplexValue& x, const ComplexValue& y);

// The forward transform of as many values as there are, in order. The code grows with the square of the largest prime
// factor.
void EmitButterfly(llvm::IRBuilder<>& b, std::vector<ComplexValue>* values);

}  // namespace kiln::cpu

#endif  // KILN_CPU_FFT_BUTTERFLY_H_
