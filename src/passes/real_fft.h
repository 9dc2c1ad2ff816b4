// real-fft: transforms of real numbers that were made complex as transforms to half a spectrum, of which the other half
// is the mirror image.
#ifndef KILN_PASSES_REAL_FFT_H_
#define KILN_PASSES_REAL_FFT_H_

#include "src/passes/op_expander.h"

namespace kiln::passes {

// FFT(convert(x)) of even length, in any number of dimensions: half the work, and what reads the result reads half as
// much.
class RealFft : public OpExpander {
 public:
  absl::string_view name() const override { return "real-fft"; }

 protected:
  bool Expands(const hlo::Instruction& instruction) const override;
  absl::StatusOr<hlo::Instruction*> Expand(hlo::Instruction* instruction) override;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_REAL_FFT_H_
