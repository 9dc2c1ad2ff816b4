// Stacks of matrices for the expanders of linear algebra.
#ifndef KILN_PASSES_MATRIX_STACK_H_
#define KILN_PASSES_MATRIX_STACK_H_

#include "src/passes/array_value.h"

namespace kiln::passes {

// `matrices` with one leading dimension in place of any number of them, in a type that is computed in: f32 for
// narrower ones.
ArrayValue AsStack(const ArrayValue& matrices);
// Whether that type is f32 or f64 to begin with.
bool IsReal(const Shape& shape);
// A stack under other dimensions and another type again.
ArrayValue FromStack(const ArrayValue& stack, const Shape& shape);

// Swaps the last two dimensions of a stack.
ArrayValue Transposed(const ArrayValue& stack);
// The complex conjugate; a real array itself.
ArrayValue Conjugate(const ArrayValue& value);
ArrayValue RealPart(const ArrayValue& value);
// Absolute values, real, and their squares.
ArrayValue Abs(const ArrayValue& value);
ArrayValue SquaredAbs(const ArrayValue& value);
// A complex number without imaginary part where `like` is complex.
ArrayValue FromReal(const ArrayValue& real, const ArrayValue& like);
// 0 as a scalar of the type of `like`.
ArrayValue ZeroOf(const ArrayValue& like);
// pred: whether an element of a stack lies on the diagonal of its matrix.
ArrayValue OnDiagonal(const ArrayValue& stack);
// The diagonals of a stack, [count, n].
ArrayValue Diagonal(const ArrayValue& stack);
ArrayValue Sum(const ArrayValue& value, absl::Span<const int64_t> dimensions);
// The lower or upper triangles of a stack of matrices, 0 elsewhere; `strict`: without the diagonal.
ArrayValue Triangle(const ArrayValue& stack, bool lower, bool strict);

// Matrices up to this size are worked on without blocks, larger ones in blocks of this many columns or rows.
inline constexpr int64_t kMatrixBlock = 32;

}  // namespace kiln::passes

#endif  // KILN_PASSES_MATRIX_STACK_H_
