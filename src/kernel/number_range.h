// Which floats of a kernel are neither large nor tiny, whatever its data.
#ifndef KILN_KERNEL_NUMBER_RANGE_H_
#define KILN_KERNEL_NUMBER_RANGE_H_

#include "src/kernel/kernel.h"

namespace kiln::kernel {

// Whether a quotient by a constant, or by an element of a table, may be corrected by what its product with the
// reciprocal leaves (ScalarEmitter::Elementwise) for all that the dividend of `divide` may be: all numbers on the way
// are normal ones, or zeros of the same sign. (analysis/value_range.h says of instructions where numbers lie;
// this says how near to zero and infinity they come.)
bool MayCorrectQuotient(const Kernel& kernel, const Op& divide);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_NUMBER_RANGE_H_
