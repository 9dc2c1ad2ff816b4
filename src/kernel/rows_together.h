// Rows of large arrays, several at a time.
#ifndef KILN_KERNEL_ROWS_TOGETHER_H_
#define KILN_KERNEL_ROWS_TOGETHER_H_

#include "src/kernel/kernel.h"

namespace kiln::kernel {

// A processor that reads one row behind the other waits for memory longer than one that reads several far apart side by
// side: for each it asks ahead. So a nest that does nothing but reduce rows takes several of them to an iteration,
// where the row of the tuning table says so and `threads` threads still have enough to do:
//
//   nest parallel i0 in 4096
//     reduce i1 in 3000 -> v2 = add of v1 from v0
//       v1 = load p0[3000*i0 + i1]
//     store p1[i0] = v2
// becomes
//   nest parallel i2 in 2 parallel i3 in 1024
//     reduce i1 in 3000 -> v2, v4 = add of v1, v3 from v0, v0
//       v1 = load p0[6144000*i2 + 3000*i3 + i1]
//       v3 = load p0[6144000*i2 + 3000*i3 + i1 + 3072000]
//     store p1[2048*i2 + i3] = v2
//     store p1[2048*i2 + i3 + 1024] = v4
//
// Each thread has a block, so that it reads what is in its caches from the kernel before.
//
// Call it after all that looks for rows, for targets whose lanes are of one thread.
void ReduceRowsTogether(Kernel* kernel, int threads);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_ROWS_TOGETHER_H_
