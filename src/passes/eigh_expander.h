#ifndef KILN_PASSES_EIGH_EXPANDER_H_
#define KILN_PASSES_EIGH_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// The custom call Eigh as sweeps of Jacobi rotations. Eigenvectors (columns, [..., n, n]) and real eigenvalues ([...,
// n]) of symmetric or Hermitian matrices, of which one triangle counts. The backend config is
// "lower,sort,sweeps,tolerance"; sweeps end when what is off the diagonal is lost in rounding, and their number bounds
// them. n / 2 rotations at a time do not touch each other: the pairs are those of a round-robin tournament.
absl::StatusOr<bool> ExpandEigh(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_EIGH_EXPANDER_H_
