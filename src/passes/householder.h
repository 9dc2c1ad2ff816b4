// Householder reflectors H = I - tau v v^H over stacks of matrices.
#ifndef KILN_PASSES_HOUSEHOLDER_H_
#define KILN_PASSES_HOUSEHOLDER_H_

#include "src/passes/array_value.h"

namespace kiln::passes {

// Columns that are reflected away together.
inline constexpr int64_t kReflectorBlock = 32;

// The columns of a stack of tall matrices, packed, with the factors of their reflectors.
struct Reflectors {
  ArrayValue packed;  // [count, m, columns]: below row first + c of column c stands v without its leading 1
  ArrayValue taus;    // [count, columns]
};

// Factorizes the columns of `panel`, whose first diagonal element stands in row `first` (an s32 scalar).
Reflectors FactorizeColumns(const ArrayValue& panel, const ArrayValue& first);

// The product of the reflectors is I - v t v^H, and its adjoint I - v t^H v^H.
struct BlockReflector {
  ArrayValue v;  // [count, m, columns], ones and zeros in place
  ArrayValue t;  // [count, columns, columns], upper triangular
};
BlockReflector BlockOf(const Reflectors& reflectors, const ArrayValue& first);

// The product (or its adjoint) times `matrices`, [count, m, any].
ArrayValue Reflect(const BlockReflector& block, bool adjoint, const ArrayValue& matrices);

}  // namespace kiln::passes

#endif  // KILN_PASSES_HOUSEHOLDER_H_
