// Which nests of a kernel run together.
#ifndef KILN_CPU_NEST_GROUPS_H_
#define KILN_CPU_NEST_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/cpu/program_emitter.h"

namespace kiln::cpu {

// Nests that one task after the other goes through, `block` tasks of each at a time: the pieces of the same rows, whose
// lines of the cache are then written while they are there, from the first to the last.
struct NestGroup {
  size_t first = 0;
  size_t last = 0;  // behind the group
  int64_t block = 1;
};

// All nests of the kernel in their order.
std::vector<NestGroup> NestGroups(const ScheduledKernel& scheduled);

// Within loops, where calls are many, nests of at most so many element computations are emitted where they are called.
inline constexpr int64_t kInlineWorkInLoop = 256;

// Whether a nest has at most `most` of them.
bool HasLittleWork(const kernel::Kernel& kernel, const kernel::Nest& nest, int64_t most);

}  // namespace kiln::cpu

#endif  // KILN_CPU_NEST_GROUPS_H_
