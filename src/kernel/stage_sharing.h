// Stages of a nest, its reduces and what stands behind them, share their work.
#ifndef KILN_KERNEL_STAGE_SHARING_H_
#define KILN_KERNEL_STAGE_SHARING_H_

#include "src/kernel/kernel.h"

namespace kiln::kernel {

// Reduces that run over the same loops and read the same elements become one with several results. What a stage over a
// row computes at some expense (exp of a softmax) is kept in a local array for the stages behind it that would compute
// it again; what is cheap is computed again. Call it after CollapseLoops, for targets that give each thread whole rows.
void ShareStages(Kernel* kernel);

// Instructions that round to bf16 or f16 beside the op's own, less those that narrow and widen what is kept.
double RoundingSaved(const Op& op);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_STAGE_SHARING_H_
