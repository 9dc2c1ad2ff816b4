// Integer division, remainder and power: no traps, and in vectors where processors divide integers one by one.
#ifndef KILN_KERNEL_INTEGER_DIVISION_H_
#define KILN_KERNEL_INTEGER_DIVISION_H_

#include "src/kernel/vector_builder.h"

namespace kiln::kernel {

// x / y towards zero; all ones for y = 0; the smallest integer divided by -1 is itself.
Integer Divide(Integer x, Integer y, bool is_signed);
// x - x / y * y; x for y = 0.
Integer Remainder(Integer x, Integer y, bool is_signed);
// x to the y by squaring, modulo the width. For negative y: 1 for x = 1, +-1 for x = -1, 0 otherwise.
Integer Power(Integer x, Integer y, bool is_signed);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_INTEGER_DIVISION_H_
