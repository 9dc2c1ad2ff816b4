// fft-expander: fft as matrix products and twiddle factors, for targets without code for transforms.
#ifndef KILN_PASSES_FFT_EXPANDER_H_
#define KILN_PASSES_FFT_EXPANDER_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// A length is split into factors of up to 64, each of them one product with a small table of roots of unity (Cooley and
// Tukey); a length without such factors becomes a convolution of a power of two (Bluestein). Several dimensions go one
// after the other; real transforms are complex ones of which half is kept or made up.
class FftExpander : public OpExpander {
 public:
  absl::string_view name() const override { return "fft-expander"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_FFT_EXPANDER_H_
