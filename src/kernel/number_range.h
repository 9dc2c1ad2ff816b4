// Which floats of a kernel are neither large nor tiny, whatever its data.
#ifndef KILN_KERNEL_NUMBER_RANGE_H_
#define KILN_KERNEL_NUMBER_RANGE_H_

#include <optional>

#include "src/kernel/kernel.h"

namespace kiln::kernel {

struct NumberRange {
  int exponent = 0;  // the value is zero or of a magnitude from 2^-exponent to 2^exponent
  bool may_be_negative = false;
  bool may_be_negative_zero = false;
};

// That of op `id`, f32 or f64; nothing where it is not known.
std::optional<NumberRange> RangeOf(const Kernel& kernel, ValueId id);

// Whether a quotient of that value may be corrected by what a product leaves of it (ScalarEmitter::Elementwise): all
// numbers on the way are normal ones, or zeros of the same sign.
bool MayBeCorrected(const Kernel& kernel, ValueId id);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_NUMBER_RANGE_H_
