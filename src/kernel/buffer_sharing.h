// Which inputs of a kernel an output may overwrite.
#ifndef KILN_KERNEL_BUFFER_SHARING_H_
#define KILN_KERNEL_BUFFER_SHARING_H_

#include "src/kernel/kernel.h"

namespace kiln::kernel {

// True when output parameter `output` may be the memory of input parameter `input`: whichever order its elements are
// written in, none of them is read afterwards but by the iteration that writes it.
bool MayShareBuffer(const Kernel& kernel, int input, int output);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_BUFFER_SHARING_H_
