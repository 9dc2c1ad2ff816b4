// operand-sinking: arithmetic on moved arrays becomes arithmetic on the arrays, and one move of the result.
#ifndef KILN_PASSES_OPERAND_SINKING_H_
#define KILN_PASSES_OPERAND_SINKING_H_

#include "src/passes/pass.h"

namespace kiln::passes {

// An elementwise op whose array operands are all the same broadcast is computed before it, on fewer elements. Of
// several operands that are the same reshape, transpose or reverse only the result is. Splats among the operands are
// made anew. Elementwise ops behind the reshape of a matrix product, of which dot-canonicalization leaves many, come
// before it, so that they can run in the product's kernel; not where rows of theirs are reduced, which is row fusion's.
class OperandSinking : public Pass {
 public:
  absl::string_view name() const override { return "operand-sinking"; }
  absl::StatusOr<bool> Run(hlo::Module* module) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_OPERAND_SINKING_H_
