// Rows that are repeated along the first loop of a nest, as a table of sines that is added to every row of a batch.
#ifndef KILN_KERNEL_REPEATED_ROWS_H_
#define KILN_KERNEL_REPEATED_ROWS_H_

#include "src/kernel/kernel.h"

namespace kiln::kernel {

// Where dear ops do not depend on the first loop of a nest, it runs inside the lanes: their values are then computed
// once, and stay in registers for all iterations of it.
//
//   nest parallel i0 in 4 parallel i1 in 512         nest parallel i1 in 512 parallel i0 in 4
//     v1 = sine (index i1)                      ->     v1 = sine (index i1)
//     store p1[512*i0 + i1] = v1 + p0[...]             store p1[512*i0 + i1] = v1 + p0[...]
//
// Call it after CollapseLoops, for targets whose lanes are of one thread.
void RepeatInsideLanes(Kernel* kernel);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_REPEATED_ROWS_H_
