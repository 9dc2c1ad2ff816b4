// Kernels for NEON, which every 64-bit ARM processor has.
#include "src/cpu/gemm_kernels.h"
#include "src/cpu/group_kernels.h"
#include "src/cpu/row_kernels.h"
#include "src/cpu/winograd_kernels.h"

#if defined(__aarch64__)

#include "src/cpu/gemm_kernels_template.h"
#include "src/cpu/group_kernels_template.h"
#include "src/cpu/row_kernels_template.h"
#include "src/cpu/winograd_kernels_template.h"

namespace kiln::cpu {

const GemmKernels* GemmKernels128(GemmKernelKind kind) {
  return GemmKernelsOf<PlainArithmetic<float, 16, 32>, PlainArithmetic<double, 16, 32>>(kind);
}

const GroupKernels* GroupKernels128() {
  static constexpr GroupKernels kKernels = MakeGroupKernels<PlainArithmetic<float, 16, 32>>();
  return &kKernels;
}

const RowKernels* RowKernels128(GemmKernelKind kind) {
  return RowKernelsOf<PlainArithmetic<float, 16, 32>, PlainArithmetic<double, 16, 32>>(kind);
}

const WinogradKernels* WinogradKernels128() {
  static constexpr WinogradKernels kKernels = MakeWinogradKernels<PlainArithmetic<float, 16, 32>>();
  return &kKernels;
}

}  // namespace kiln::cpu

#else

namespace kiln::cpu {
const GemmKernels* GemmKernels128(GemmKernelKind) { return nullptr; }
const GroupKernels* GroupKernels128() { return nullptr; }
const RowKernels* RowKernels128(GemmKernelKind) { return nullptr; }
const WinogradKernels* WinogradKernels128() { return nullptr; }
}  // namespace kiln::cpu

#endif
