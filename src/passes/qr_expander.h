// qr-expander: the custom calls Qr and ProductOfElementaryHouseholderReflectors as loops over columns, in blocks.
#ifndef KILN_PASSES_QR_EXPANDER_H_
#define KILN_PASSES_QR_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// Qr takes matrices [..., m, n] and gives what LAPACK's geqrf does: R in the upper triangle, the reflectors
// H = I - tau v v^H below it (v starts with a 1 that is not stored), and the vectors of tau, [..., min(m, n)]. The
// other one takes both back and gives the first n columns of the product of the reflectors, as orgqr. Blocks of
// reflectors are applied as I - V T V^H, by matrix products.
class QrExpander : public OpExpander {
 public:
  absl::string_view name() const override { return "qr-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_QR_EXPANDER_H_
