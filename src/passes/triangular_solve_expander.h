// triangular-solve-expander: triangular-solve as loops over rows, in blocks.
#ifndef KILN_PASSES_TRIANGULAR_SOLVE_EXPANDER_H_
#define KILN_PASSES_TRIANGULAR_SOLVE_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// Substitution: a block of rows loses its product with the rows that are solved, by one matrix product, and is then
// solved row by row. The other triangle is never looked at. Types narrower than f32 are computed in f32.
class TriangularSolveExpander : public OpExpander {
 public:
  // `keeps_real`: leaves what the CPU target has a library for.
  explicit TriangularSolveExpander(bool keeps_real = false) : keeps_real_(keeps_real) {}
  absl::string_view name() const override { return "triangular-solve-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;

 private:
  const bool keeps_real_;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_TRIANGULAR_SOLVE_EXPANDER_H_
