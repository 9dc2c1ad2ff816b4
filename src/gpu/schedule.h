// How a nest runs on a GPU: which loops blocks, warps and threads divide, vectors of a thread, tiles in shared memory.
#ifndef KILN_GPU_SCHEDULE_H_
#define KILN_GPU_SCHEDULE_H_

#include <cstdint>
#include <string>

#include "src/kernel/kernel.h"
#include "src/kernel/schedule.h"

namespace kiln::gpu {

inline constexpr int kWarpThreads = 32;

struct LaunchSchedule {
  kernel::NestSchedule nest;
  // Threads that share an iteration of the task loop: one, a warp, or the whole block; or those of a column.
  int group_threads = 1;
  // Above 1, a warp then: a block is `group_threads` rows of so many threads, and its columns are the groups.
  int columns = 1;
  int block_threads = 1;
  int64_t blocks = 1;
};

// Elementwise nests: a thread per element, or per vector of consecutive ones. Nests whose loads run along another loop
// than their stores: tiles in shared memory. Reductions over consecutive elements: a warp or a block per result;
// over others: a column of threads, or one, per result, threads next to each other along the stores. Serial nests: one
// thread.
LaunchSchedule ScheduleLaunch(const kernel::Kernel& kernel, const kernel::Nest& nest);

// "256 threads in 8 blocks, groups of 32; schedule order ..."
std::string ToString(const LaunchSchedule& schedule);

}  // namespace kiln::gpu

#endif  // KILN_GPU_SCHEDULE_H_
