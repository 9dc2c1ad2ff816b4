#ifndef KILN_PASSES_QR_EXPANDER_H_
#define KILN_PASSES_QR_EXPANDER_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// The custom calls Qr and ProductOfElementaryHouseholderReflectors as loops over columns, in blocks. Qr takes matrices
// [..., m, n] and gives what LAPACK's geqrf does: R in the upper triangle, the reflectors H = I - tau v v^H below it (v
// starts with a 1 that is not stored), and the vectors of tau, [..., min(m, n)]. The other one takes both back and
// gives the first n columns of the product of the reflectors, as orgqr. Blocks of reflectors are applied as I - V T
// V^H, by matrix products.
// `keeps_real`: leaves what the CPU target has a library for.
absl::StatusOr<bool> ExpandQr(Module* module, bool keeps_real = false);

}  // namespace kiln::passes

#endif  // KILN_PASSES_QR_EXPANDER_H_
