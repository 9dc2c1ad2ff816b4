// Reductions along columns of arrays that come from far, taken row by row.
#ifndef KILN_KERNEL_STREAMED_COLUMNS_H_
#define KILN_KERNEL_STREAMED_COLUMNS_H_

#include "src/kernel/kernel.h"

namespace kiln::kernel {

// Accumulators of some columns in registers leave memory's stretches as short as they are: a task reads a kilobyte of
// each row and goes to the next, on another page, where processors do not ask ahead by themselves. Where rows are read
// as they lie, with an accumulator for each column in a local array, memory gives two to three times as much, and the
// last cache half as much again:
//
//   nest parallel i0 in 64 parallel i1 in 3000
//     reduce i2 in 128 -> v2 = add of v1 from v0
//       v1 = load p0[384000*i0 + i1 + 3000*i2]
//     store p1[3000*i0 + i1] = v2
// becomes
//   nest parallel i0 in 64 parallel i1 in 3000
//     stage i3 in 3000
//       store p2[i3] = v0
//     stage i2 in 128 i4 in 3000
//       v1 = load p0[384000*i0 + i4 + 3000*i2], v3 = load p2[i4], v4 = add v3, v1
//       store p2[i4] = v4
//     v2 = load p2[i1]
//     store p1[3000*i0 + i1] = v2
//
// What is computed of v2 for each row of a result, at some expense, is kept in an array of its own by a further stage.
// Where the row of the tuning table says so, some rows at a time that lie far apart, as rows_together.h has it. Of
// columns too many for a cache, blocks are taken. For targets whose lanes are of one thread.
void StreamColumns(Kernel* kernel);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_STREAMED_COLUMNS_H_
