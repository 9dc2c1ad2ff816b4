// Kernels in which subnormal numbers count as zeros.
#ifndef KILN_KERNEL_SUBNORMALS_H_
#define KILN_KERNEL_SUBNORMALS_H_

#include "src/hlo/instruction.h"
#include "src/kernel/kernel.h"

namespace kiln::kernel {

// Whether `kernel` may take subnormal numbers for zeros, and gains by it. Processors take a hundred cycles and more to
// multiply where an operand or a result is subnormal, and what exponential functions make of large differences is full
// of them: weights of a softmax, kernels of a Gaussian process, and gradients through either. That is so of kernels of
// much work that multiply or sum up exponentials, or sum up products, where such terms are lost beside any other, and
// of reductions that multiply, which end there as soon as their factors are small. Kernels of other elementwise work
// keep subnormals, those of little work too, and all with an op whose result depends on them: logarithms, inverse
// roots, remainders, complex numbers, f64.
bool FlushesSubnormals(const Kernel& kernel);

// Whether all of a while loop or scan does, as one that multiplies floats: what decays from step to step, oscillations,
// averages, gradients that go back through many steps, becomes subnormal and stays so, or passes through them on its
// way to zero. None of what it calls may depend on them, as above, but f64 counts like f32 there.
bool LoopFlushesSubnormals(const hlo::Instruction& loop);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_SUBNORMALS_H_
