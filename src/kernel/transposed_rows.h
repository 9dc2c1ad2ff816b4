// Transposes whose results have short last dimensions.
#ifndef KILN_KERNEL_TRANSPOSED_ROWS_H_
#define KILN_KERNEL_TRANSPOSED_ROWS_H_

#include "src/kernel/kernel.h"
#include "src/kernel/schedule.h"

namespace kiln::kernel {

// Where nothing is done but transpose, and the result's last loop is shorter than a square of tiles (schedule.h), the
// loops behind the one that loads go along become one, so that squares are filled and whole lines of the cache written:
//
//   nest parallel i0 in 8192 parallel i1 in 12 parallel i2 in 4      nest parallel i0 in 8192 parallel i2 in 48
//     v0 = load p0[i0 + 8192*i1 + 98304*i2]                      ->    v0 = load p0[i0 + 8192*(i2 floordiv 4) +
//     98304*(i2 mod 4)] store p1[48*i0 + 4*i1 + i2] = v0                                 store p1[48*i0 + i2] = v0
//
// Call it after CollapseLoops, for targets with square tiles of vectors.
void JoinTransposedRows(Kernel* kernel, const TargetInfo& target);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_TRANSPOSED_ROWS_H_
