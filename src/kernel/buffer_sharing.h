// Which inputs of a kernel an output may overwrite.
#ifndef KILN_KERNEL_BUFFER_SHARING_H_
#define KILN_KERNEL_BUFFER_SHARING_H_

#include "absl/types/span.h"
#include "src/kernel/kernel.h"
#include "src/kernel/schedule.h"

namespace kiln::kernel {

// True when output parameter `output` may be the memory of input parameter `input`: none of its elements is read after it
// was written, but by the iteration that writes it. Iterations run in any order, but that a row's reduces are done
// before the row is written, where `schedules` (of the kernel's nests) keep the row in one task.
bool MayShareBuffer(const Kernel& kernel, absl::Span<const NestSchedule> schedules, int input, int output);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_BUFFER_SHARING_H_
