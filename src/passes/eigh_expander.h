// eigh-expander: the custom call Eigh as sweeps of Jacobi rotations.
#ifndef KILN_PASSES_EIGH_EXPANDER_H_
#define KILN_PASSES_EIGH_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// Eigenvectors (columns, [..., n, n]) and real eigenvalues ([..., n]) of symmetric or Hermitian matrices, of which one
// triangle counts. The backend config is "lower,sort,sweeps,tolerance"; sweeps end when what is off the diagonal is
// lost in rounding, and their number bounds them. n / 2 rotations at a time do not touch each other: the pairs are
// those of a round-robin tournament.
class EighExpander : public OpExpander {
 public:
  absl::string_view name() const override { return "eigh-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_EIGH_EXPANDER_H_
