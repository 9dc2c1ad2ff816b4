// Gathers in which all rows have the same places: chosen columns, a permutation of features.
#ifndef KILN_KERNEL_SHARED_PLACES_H_
#define KILN_KERNEL_SHARED_PLACES_H_

#include "src/kernel/kernel.h"

namespace kiln::kernel {

// Where the last loop of a nest finds places in memory that do not depend on the loop outside, and little is done with
// what is there: several rows go side by side, so that a place is found and clamped once for all of them.
//
//   nest parallel i0 in 1000 parallel i1 in 300     nest parallel i0 in 125 parallel i1 in 300
//     v1 = clamp (load p1[i1]) in [0, 999]            v1 = clamp (load p1[i1]) in [0, 999]
//     v2 = load p0[1000*i0 + [v1]]             ->     v2 = load p0[8000*i0 + [v1]], v3 = load p0[8000*i0 + [v1] + 1000], ...
//     store p2[300*i0 + i1] = v2                      store p2[2400*i0 + i1] = v2, ...
//
// Call it after CollapseLoops, for targets whose lanes are of one thread.
void SharePlaces(Kernel* kernel);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_SHARED_PLACES_H_
