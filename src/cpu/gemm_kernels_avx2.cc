// Kernels for AVX2 with FMA, for which the whole file is compiled (see CMakeLists.txt).
#if defined(__AVX2__)

#include "src/cpu/gemm_kernels_template.h"
#include "src/cpu/group_kernels_template.h"
#include "src/cpu/row_kernels_template.h"
#include "src/cpu/winograd_kernels_template.h"

namespace kiln::cpu {

const GemmKernels* GemmKernels256(GemmKernelKind kind) {
  static constexpr GemmKernels kF32 = MakeGemmKernels<PlainArithmetic<float, 32, 16>>();
  static constexpr GemmKernels kF64 = MakeGemmKernels<PlainArithmetic<double, 32, 16>>();
  return kind == GemmKernelKind::kF32 ? &kF32 : kind == GemmKernelKind::kF64 ? &kF64 : nullptr;
}

const GroupKernels* GroupKernels256() {
  static constexpr GroupKernels kKernels = MakeGroupKernels<PlainArithmetic<float, 32, 16>>();
  return &kKernels;
}

const RowKernels* RowKernels256(GemmKernelKind kind) {
  static constexpr RowKernels kF32 = MakeRowKernels<PlainArithmetic<float, 32, 16>>();
  static constexpr RowKernels kF64 = MakeRowKernels<PlainArithmetic<double, 32, 16>>();
  return kind == GemmKernelKind::kF32 ? &kF32 : kind == GemmKernelKind::kF64 ? &kF64 : nullptr;
}

const WinogradKernels* WinogradKernels256() {
  static constexpr WinogradKernels kKernels = MakeWinogradKernels<PlainArithmetic<float, 32, 16>>();
  return &kKernels;
}

}  // namespace kiln::cpu

#else

#include "src/cpu/gemm_kernels.h"
#include "src/cpu/group_kernels.h"
#include "src/cpu/row_kernels.h"
#include "src/cpu/winograd_kernels.h"

namespace kiln::cpu {
const GemmKernels* GemmKernels256(GemmKernelKind) { return nullptr; }
const GroupKernels* GroupKernels256() { return nullptr; }
const RowKernels* RowKernels256(GemmKernelKind) { return nullptr; }
const WinogradKernels* WinogradKernels256() { return nullptr; }
}  // namespace kiln::cpu

#endif
