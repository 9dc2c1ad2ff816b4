// Loops along which arrays are read backwards.
#ifndef KILN_KERNEL_LOOP_DIRECTION_H_
#define KILN_KERNEL_LOOP_DIRECTION_H_

#include "src/kernel/kernel.h"

namespace kiln::kernel {

// Turns loops of nests round along which loads go backwards, one element a step, and none forwards, and which no store
// runs along: an image that is turned by 90 degrees is a transpose then, whose tiles are loaded in whole vectors.
//
//   nest parallel i0 in 8 parallel i1 in 9          nest parallel i0 in 8 parallel i1 in 9
//     v0 = load p0[8*i1 + -1*i0 + 7]          ->      v0 = load p0[8*i1 + i0]
//     store p1[9*i0 + i1] = v0                        store p1[-9*i0 + i1 + 63] = v0
void TurnLoops(Kernel* kernel);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_LOOP_DIRECTION_H_
