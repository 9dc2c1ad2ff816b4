// cholesky-expander: cholesky as loops over columns, in blocks.
#ifndef KILN_PASSES_CHOLESKY_EXPANDER_H_
#define KILN_PASSES_CHOLESKY_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// Left-looking: a block of columns loses its product with the columns before it, by one matrix product, and is then
// factorized column by column. The other triangle of the result is 0; a matrix that is not positive definite gives NaN
// throughout its triangle. Types narrower than f32 are computed in f32.
class CholeskyExpander : public OpExpander {
 public:
  // `keeps_real`: leaves what the CPU target has a library for.
  explicit CholeskyExpander(bool keeps_real = false) : keeps_real_(keeps_real) {}
  absl::string_view name() const override { return "cholesky-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;

 private:
  const bool keeps_real_;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_CHOLESKY_EXPANDER_H_
