// How much work a kernel is, before it is scheduled.
#ifndef KILN_KERNEL_ITERATIONS_H_
#define KILN_KERNEL_ITERATIONS_H_

#include <cstdint>

#include "src/kernel/kernel.h"

namespace kiln::kernel {

// Counted by shapes alone, lest results depend on the kind of machine. Of the whole kernel, as far as that is known
// before it runs; what is too large to count is the largest number.
int64_t Iterations(const Kernel& kernel);

// Whether there are so few that a loop around the kernel, or the caller, waits for each formula from its first step to
// its last: polynomials are summed up in shorter chains then, which take more instructions.
bool HasFewElements(const Kernel& kernel);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_ITERATIONS_H_
