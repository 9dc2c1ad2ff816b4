// Functions of f32 by short polynomials on intervals, whose coefficients are looked up in registers: half of the
// operations of a polynomial for all arguments, where one instruction looks up.
#ifndef KILN_KERNEL_MATH_REGISTER_TABLE_H_
#define KILN_KERNEL_MATH_REGISTER_TABLE_H_

#include "absl/types/span.h"
#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

// How many numbers of 32 bits one instruction of the target looks up in: 16 (AVX-512), 8 (AVX2), or 0.
int RegisterTableSize(const VectorBuilder& b);

// The interval of x >= 0 among those that are a half of an octave of 1 + step * x, or of `bits` = 2 a quarter: the
// lowest bits of the exponent and the highest of the fraction.
Integer PartOfOctave(Real x, double step, int bits);

// A table by intervals: row 0 are their centers, row i + 1 the coefficients of the i-th power of x - center.
class Pieces {
 public:
  template <size_t kRows, size_t kIntervals>
  explicit Pieces(const float (&numbers)[kRows][kIntervals])
      : numbers_(&numbers[0][0], kRows * kIntervals), intervals_(kIntervals) {}

  size_t rows() const { return numbers_.size() / intervals_; }
  absl::Span<const float> row(size_t i) const { return numbers_.subspan(i * intervals_, intervals_); }

 private:
  absl::Span<const float> numbers_;
  size_t intervals_;
};

// The polynomial of the interval `index` (mod their number) at x. Only of as many as RegisterTableSize().
Real PieceAt(Real x, Integer index, const Pieces& pieces);

// The same, and what rounding lost of it.
struct ExactPiece {
  Real value, low;
};
ExactPiece ExactPieceAt(Real x, Integer index, const Pieces& pieces);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_REGISTER_TABLE_H_
