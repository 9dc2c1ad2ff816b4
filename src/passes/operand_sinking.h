#ifndef KILN_PASSES_OPERAND_SINKING_H_
#define KILN_PASSES_OPERAND_SINKING_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Arithmetic on moved arrays becomes arithmetic on the arrays, and one move of the result. An elementwise op whose
// array operands are all the same broadcast is computed before it, on fewer elements. Of several operands that are the
// same reshape, transpose or reverse only the result is. Splats among the operands are made anew. Elementwise ops
// behind the reshape of a matrix product, of which dot-canonicalization leaves many, or of a norm over groups, come
// before it, so that they can run in the same kernel; not where rows of theirs are reduced, which is row fusion's.
absl::StatusOr<bool> SinkMoves(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_OPERAND_SINKING_H_
