// Blocks of rows, for nests that reduce short rows and go on with the results.
#ifndef KILN_KERNEL_ROW_BLOCKS_H_
#define KILN_KERNEL_ROW_BLOCKS_H_

#include "src/kernel/kernel.h"
#include "src/kernel/schedule.h"

namespace kiln::kernel {

// What is computed once per row, between its reduces and behind them, is a chain whose steps wait for each other, as
// long as a short row itself. Where it costs enough, rows are taken in blocks: all rows of a block are reduced, the
// results lie side by side in a local array, and the chain goes through the block with rows as lanes:
//
//   nest parallel i0 in 4096 parallel i1 in 64
//     reduce i2 in 64 -> v2 = add of v1 from v0
//       v1 = load p0[64*i0 + i2]
//     v3 = rsqrt v2
//     v4 = load p0[64*i0 + i1], v5 = multiply v4, v3
//     store p1[64*i0 + i1] = v5
// becomes
//   nest parallel i3 in 256 parallel i6 in 16 parallel i1 in 64
//     stage i4 in 16
//       reduce i2 in 64 -> v2 = add of v1 from v0
//         v1 = load p0[64*(16*i3 + i4) + i2]
//       store p2[i4] = v2
//     stage i5 in 16
//       v6 = load p2[i5], v3 = rsqrt v6
//       store p3[i5] = v3
//     v4 = load p0[64*(16*i3 + i6) + i1], v7 = load p3[i6], v5 = multiply v4, v7
//     store p1[64*(16*i3 + i6) + i1] = v5
//
// Call it after ShareStages and WidenNarrowRows, for targets whose lanes are of one thread.
void BlockRows(Kernel* kernel, const TargetInfo& target);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_ROW_BLOCKS_H_
