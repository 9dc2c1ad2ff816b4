// Rewrites of dot that more than one group of rules has.
#ifndef KILN_PASSES_SIMPLIFY_DOT_H_
#define KILN_PASSES_SIMPLIFY_DOT_H_

#include "src/passes/simplify/guards.h"

namespace kiln::passes::simplify {

// dot(x, i) and dot(i, x) where i is an identity matrix: x, its dimensions in the order of the result.
Instruction* DotWithIdentity(const Match& match, Builder& builder);
// dot(dot(x, y), z) as dot(x, dot(y, z)), and the other way round, where that takes fewer multiplications. Matrices and
// vectors without batch dimensions; a chain of products over one dimension each.
Instruction* DotToTheRight(const Match& match, Builder& builder);
Instruction* DotToTheLeft(const Match& match, Builder& builder);

// The product is of the operands' type, and no larger than x.
bool IsSmallProduct(const Match& match);
inline constexpr Guard SmallProduct{"a product no larger than x", IsSmallProduct};

// Where the two counts of a comparison for equality run along different dimensions of a square.
bool IsDiagonal(const Instruction& compare);
// Ones there and zeros elsewhere: a constant, or such a comparison converted.
bool IsIdentityMatrix(const Instruction& matrix);

// dot(x, m) where m is zero beside its diagonal, over one dimension and of at most matrices: x times the diagonal.
Instruction* DotWithDiagonal(const Match& match, Builder& builder);
// dot of t:pad(x, 0) and y: of what is not padded.
Instruction* DotOfPad(const Match& match, Builder& builder);
// dot of t:dot(x, y) and z, where what y leaves is counted by batches: of dot(y, x), in which batches stand apart.
Instruction* DotOfColumns(const Match& match, Builder& builder);
// The sum of t:dot(x, y) over batches, or of integers over rows or columns.
Instruction* ReduceOfDot(const Match& match, Builder& builder);

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_DOT_H_
