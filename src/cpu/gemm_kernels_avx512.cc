// Kernels for AVX-512. The whole file is compiled for it, with the products of narrow types (see CMakeLists.txt): only
// kernels that FindGemmKernels gives out for a host run here.
#if defined(__AVX512F__)

#include <immintrin.h>

#include "src/cpu/gemm_kernels_template.h"
#include "src/cpu/group_kernels_template.h"
#include "src/cpu/row_kernels_template.h"
#include "src/cpu/winograd_kernels_template.h"

namespace kiln::cpu {
namespace {

struct BrainArithmetic : GroupArithmetic<uint16_t, float, 64, 32> {
  static Sum MultiplyAdd(Vector x, Vector y, Sum sum) {
    return (Sum)_mm512_dpbf16_ps((__m512)sum, (__m512bh)x, (__m512bh)y);
  }
};

// The instruction takes unsigned bytes first.
struct UnsignedSignedArithmetic : GroupArithmetic<uint8_t, int32_t, 64, 32> {
  static Sum MultiplyAdd(Vector x, Vector y, Sum sum) {
    return (Sum)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)y);
  }
};

struct SignedUnsignedArithmetic : GroupArithmetic<uint8_t, int32_t, 64, 32> {
  static Sum MultiplyAdd(Vector x, Vector y, Sum sum) { return UnsignedSignedArithmetic::MultiplyAdd(y, x, sum); }
};

// Of tiles, lhs comes with its signs flipped.
struct SignedBytesArithmetic : GroupArithmetic<uint8_t, int32_t, 64, 32> {
  static constexpr bool kOffset = true;
  static constexpr GemmTakeRow* kTakeRow = &FlipSigns;
  static Vector Many(Vector x) { return x ^ 0x80808080u; }
  static Sum MultiplyAdd(Vector x, Vector y, Sum sum) { return UnsignedSignedArithmetic::MultiplyAdd(x, y, sum); }
  static Sum Offset(Vector y, Sum sum) {
    return UnsignedSignedArithmetic::MultiplyAdd(static_cast<Vector>(0x80808080u), y, sum);
  }
};

// Of rows alone: f16 is widened as it is loaded.
struct HalfArithmetic : PlainArithmetic<float, 64, 32> {
  using Element = uint16_t;
  using Stored = Element __attribute__((ext_vector_type(16)));
  static Vector Many(Stored x) { return (Vector)_mm512_cvtph_ps((__m256i)x); }
  static Vector Few(Stored y) { return Many(y); }
};

}  // namespace

const GemmKernels* GemmKernels512(GemmKernelKind kind) {
  return GemmKernelsOf<PlainArithmetic<float, 64, 32>, PlainArithmetic<double, 64, 32>, void, BrainArithmetic,
                       SignedBytesArithmetic, SignedUnsignedArithmetic, UnsignedSignedArithmetic>(kind);
}

const GroupKernels* GroupKernels512() {
  static constexpr GroupKernels kKernels = MakeGroupKernels<PlainArithmetic<float, 64, 32>>();
  return &kKernels;
}

const RowKernels* RowKernels512(GemmKernelKind kind) {
  return RowKernelsOf<PlainArithmetic<float, 64, 32>, PlainArithmetic<double, 64, 32>, HalfArithmetic, BrainArithmetic,
                      SignedBytesArithmetic>(kind);
}

const WinogradKernels* WinogradKernels512() {
  static constexpr WinogradKernels kKernels = MakeWinogradKernels<PlainArithmetic<float, 64, 32>>();
  return &kKernels;
}

}  // namespace kiln::cpu

#else

#include "src/cpu/gemm_kernels.h"
#include "src/cpu/group_kernels.h"
#include "src/cpu/row_kernels.h"
#include "src/cpu/winograd_kernels.h"

namespace kiln::cpu {
const GemmKernels* GemmKernels512(GemmKernelKind) { return nullptr; }
const GroupKernels* GroupKernels512() { return nullptr; }
const RowKernels* RowKernels512(GemmKernelKind) { return nullptr; }
const WinogradKernels* WinogradKernels512() { return nullptr; }
}  // namespace kiln::cpu

#endif
