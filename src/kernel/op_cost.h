// What the ops of kernels cost on processors, as schedules weigh them.
#ifndef KILN_KERNEL_OP_COST_H_
#define KILN_KERNEL_OP_COST_H_

#include "src/kernel/kernel.h"
#include "src/kernel/vector_builder.h"

namespace kiln::kernel {

// Whether an index (kToIndex) is clamped to so few elements that 32 bits hold it.
bool IsNarrowIndex(const Op& op);

// Bytes that one lane of the op's result takes in a register.
int ComputeWidth(Target target, const Op& op);

// Rough cost of one op on one vector, in units of a simple instruction.
double OpCost(const Op& op);

// Of computing in f32 and rounding, instructions beside the operation's own.
double RoundingCost(Target target, const Op& op);

// Of conversions without an instruction for vectors: with AVX2 numbers of 64 bits go to integers one by one, and to
// 16 bits by way of f32 with a look at what that loses.
double ConversionCost(const Kernel& kernel, Target target, const Op& op);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_OP_COST_H_
