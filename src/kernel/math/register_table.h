// Functions of f32 by short polynomials on 16 intervals, whose coefficients are looked up in registers: half of the
// operations of a polynomial for all arguments, where one instruction looks up.
#ifndef KILN_KERNEL_MATH_REGISTER_TABLE_H_
#define KILN_KERNEL_MATH_REGISTER_TABLE_H_

#include "absl/types/span.h"
#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

// Whether the target looks up one of 16 numbers of 32 bits in a register.
bool HasRegisterTables(const VectorBuilder& b);

// The interval of x >= 0 among those that are a quarter of an octave of 1 + step * x: the lowest bits of the exponent
// and the highest of the fraction.
Integer QuarterOfOctave(Real x, double step);

// The polynomial of the interval `index` (mod 16) at x. Row 0 of `pieces` are the centers of intervals, row i + 1 the
// coefficients of the i-th power of x - center. Only where HasRegisterTables().
Real PieceAt(Real x, Integer index, absl::Span<const float[16]> pieces);

// The same, and what rounding lost of it.
struct ExactPiece {
  Real value, low;
};
ExactPiece ExactPieceAt(Real x, Integer index, absl::Span<const float[16]> pieces);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_REGISTER_TABLE_H_
