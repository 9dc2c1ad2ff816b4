// Integers that only the loops around them tell.
#ifndef KILN_KERNEL_COUNTED_INDEX_H_
#define KILN_KERNEL_COUNTED_INDEX_H_

#include <optional>

#include "src/kernel/kernel.h"

namespace kiln::kernel {

// The integer `value` as an index expression where it is made of counters and constants alone, and no step on the way
// leaves its type: 128 * i0 + i1 for the numbers of a signal's overlapping frames. Terms are added to those of the
// kernel.
std::optional<IndexExpr> CountedIndex(Kernel* kernel, ValueId value);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_COUNTED_INDEX_H_
