// Transposes whose results, or operands, have short last dimensions.
#ifndef KILN_KERNEL_TRANSPOSED_ROWS_H_
#define KILN_KERNEL_TRANSPOSED_ROWS_H_

#include "src/kernel/kernel.h"
#include "src/kernel/schedule.h"

namespace kiln::kernel {

// Where nothing is done but transpose, and the result's last loop is shorter than a square of tiles (schedule.h), the
// loops behind the one that loads go along become one, so that squares are filled and whole lines of the cache written:
//
//   nest parallel i0 in 90 parallel i1 in 6 parallel i2 in 4
//     v0 = load p0[i0 + 90*i1 + 540*i2]
//     store p1[24*i0 + 4*i1 + i2] = v0
// becomes
//   nest parallel i0 in 90 parallel i2 in 24
//     v0 = load p0[i0 + 90*(i2 floordiv 4) + 540*(i2 mod 4)]
//     store p1[24*i0 + i2] = v0
//
// Where what is read along is shorter than any square, as the colours of a picture are, it becomes one with the loop
// that reading goes on in:
//
//   nest parallel i0 in 3 parallel i1 in 224 parallel i2 in 224
//     v0 = load p0[i0 + 3*i1 + 672*i2]
//     store p1[50176*i0 + 224*i1 + i2] = v0
// becomes
//   nest parallel i0 in 672 parallel i2 in 224
//     v0 = load p0[i0 + 672*i2]
//     store p1[50176*(i0 mod 3) + 224*(i0 floordiv 3) + i2] = v0
//
// Call it after CollapseLoops, for targets with square tiles of vectors.
void JoinTransposedRows(Kernel* kernel, const TargetInfo& target);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_TRANSPOSED_ROWS_H_
