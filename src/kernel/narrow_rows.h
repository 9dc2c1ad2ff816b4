// Rows narrower than a vector: the channels of an image, the few classes of a classifier.
#ifndef KILN_KERNEL_NARROW_ROWS_H_
#define KILN_KERNEL_NARROW_ROWS_H_

#include "src/kernel/kernel.h"
#include "src/kernel/schedule.h"

namespace kiln::kernel {

// Makes whole vectors of the loads and stores of narrow rows, in three kinds of nests. Of two it puts copies of the
// body side by side.
//
// Where rows repeat what the loop outside goes through, and whole rows make a vector, both loops become one:
//
//   nest parallel i0 in 1024 parallel i1 in 2       nest parallel i1 in 2048
//     v0 = load p0[i0]                          ->    v0 = load p0[i1 floordiv 2]
//     store p1[2*i0 + i1] = v0                        store p1[i1] = v0
//
// So do they where indices in rows pick elements of other arrays, as of each row's experts: lanes find their own anyway.
//
// Over rows that lie one behind the other but whose loops do not collapse, since something depends on the place in the
// row alone, or is loaded from rows of another width (one element in place of each row's, a pixel's fourth channel): so
// many rows as fill whole vectors are a block, with one copy of the body for each vector. The lanes are a loop, and
// Nest::repeat_loop goes from block to block inside of it, so that what depends on the place in the row is there once
// for all blocks.
//
//   nest parallel i0 in 1024 parallel i1 in 3       nest parallel i1 in 16 parallel i2 in 64
//     v0 = load p0[3*i0 + i1]                         v0 = load p0[48*i2 + i1], v3 = load p0[48*i2 + i1 + 16], ...
//     v1 = load p1[i1]                          ->    v1 = load p1[i1 mod 3], v4 = load p1[(i1 + 16) mod 3], ...
//     store p2[3*i0 + i1] = v2                        store p2[48*i2 + i1] = v2, ...
//
// Where loads go along the loop outside instead, as for an image whose channels are put last, and rows have a few
// elements: one copy for each place in the row, whose stores alternate in vectors.
//
// Call it after ShareStages, for targets whose lanes are of one thread.
void WidenNarrowRows(Kernel* kernel, const TargetInfo& target);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_NARROW_ROWS_H_
