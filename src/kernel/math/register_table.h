// Functions of f32 by short polynomials on intervals, whose coefficients are looked up in registers: half of the
// operations of a polynomial for all arguments, where one instruction looks up.
#ifndef KILN_KERNEL_MATH_REGISTER_TABLE_H_
#define KILN_KERNEL_MATH_REGISTER_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

// How many numbers of 32 bits one instruction of the target looks up in: 16 (AVX-512), 8 (AVX2), or 0.
int RegisterTableSize(const VectorBuilder& b);

// A table by intervals of x >= 0: row 0 are their centers, row i + 1 the coefficients of the i-th power of x - center.
// Intervals are each a half of an octave of 1 + step * x where there are 8, a quarter of 16; or lie evenly, 1 / step
// wide with multiples of that in the middle.
class Pieces {
 public:
  enum class Spacing : uint8_t { kOctaves, kEven };

  template <size_t kRows, size_t kIntervals>
  Pieces(const float (&numbers)[kRows][kIntervals], Spacing spacing, double step)
      : numbers_(&numbers[0][0], kRows * kIntervals), intervals_(kIntervals), spacing_(spacing), step_(step) {}

  // The number of the interval of x, mod that of all, in the lowest bits.
  Integer IntervalOf(const VectorBuilder& b, llvm::Value* x) const;
  size_t rows() const { return numbers_.size() / intervals_; }
  absl::Span<const float> row(size_t i) const { return numbers_.subspan(i * intervals_, intervals_); }

 private:
  absl::Span<const float> numbers_;
  size_t intervals_;
  Spacing spacing_;
  double step_;
};

// The polynomial of x's interval (mod their number). Only of as many as RegisterTableSize().
Real PieceAt(Real x, const Pieces& pieces);

// The same, and what rounding lost of it.
struct ExactPiece {
  Real value, low;
};
ExactPiece ExactPieceAt(Real x, const Pieces& pieces);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_REGISTER_TABLE_H_
