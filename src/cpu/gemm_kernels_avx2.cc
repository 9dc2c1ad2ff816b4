// Kernels for AVX2 with FMA, for which the whole file is compiled (see CMakeLists.txt).
#if defined(__AVX2__)

#include <immintrin.h>

#include "src/cpu/gemm_kernels_template.h"
#include "src/cpu/group_kernels_template.h"
#include "src/cpu/row_kernels_template.h"
#include "src/cpu/winograd_kernels_template.h"

namespace kiln::cpu {
namespace {

// Bytes of even and of odd index as words, whose products the instruction adds in pairs.
template <bool kSigned, typename Vector>
Halves<Vector> SplitWords(Vector bytes) {
  using Unsigned = uint16_t __attribute__((ext_vector_type(16)));
  using Signed = int16_t __attribute__((ext_vector_type(16)));
  const auto words = (Unsigned)bytes;
  if constexpr (kSigned) return {(Vector)((Signed)(words << 8) >> 8), (Vector)((Signed)words >> 8)};
  return {(Vector)(words & uint16_t{0xff}), (Vector)(words >> 8)};
}

// Bytes without an instruction that multiplies four. Rows of lhs are split once, vectors of rhs for each tile.
template <bool kSignedLhs, bool kSignedRhs>
struct WordArithmetic : GroupArithmetic<uint8_t, int32_t, 32, 16> {
  static constexpr int kParts = 2;
  static Halves<Vector> Many(Vector x) { return SplitWords<kSignedLhs>(x); }
  static Halves<Vector> Few(Vector y) { return SplitWords<kSignedRhs>(y); }
  static Sum MultiplyAdd(Vector x, Vector y, Sum sum) { return sum + (Sum)_mm256_madd_epi16((__m256i)x, (__m256i)y); }

  // The even and the odd words of a step follow each other. A vector at a time, then a step.
  static void TakeRow(const char* from, char* to, int64_t bytes) {
    constexpr int64_t kBytes = sizeof(Vector), kStep = sizeof(uint32_t);
    for (; bytes >= kBytes; from += kBytes, to += 2 * kBytes, bytes -= kBytes) {
      const Halves<Vector> words = Many(Load<Vector>(from));
      const Vector even = words.half[0], odd = words.half[1];
      Store(to, __builtin_shufflevector(even, odd, 0, 8, 1, 9, 2, 10, 3, 11));
      Store(to + kBytes, __builtin_shufflevector(even, odd, 4, 12, 5, 13, 6, 14, 7, 15));
    }
    for (; bytes > 0; from += kStep, to += 2 * kStep, bytes -= kStep) {
      const Halves<Vector> words = Many(Vector{Load<uint32_t>(from)});
      Store(to, words.half[0][0]);
      Store(to + kStep, words.half[1][0]);
    }
  }
  static constexpr GemmTakeRow* kTakeRow = &TakeRow;
};

// Of rows alone: f16 is widened as it is loaded.
struct HalfArithmetic : PlainArithmetic<float, 32, 16> {
  using Element = uint16_t;
  using Stored = Element __attribute__((ext_vector_type(8)));
  static Vector Many(Stored x) { return (Vector)_mm256_cvtph_ps((__m128i)x); }
  static Vector Few(Stored y) { return Many(y); }
};

// bf16 is the first half of f32: those of even index move there, those of odd index lie there.
struct BrainArithmetic : GroupArithmetic<uint16_t, float, 32, 16> {
  static constexpr int kParts = 2;
  static Halves<Sum> Many(Vector x) { return {(Sum)(x << 16), (Sum)(x & 0xffff0000u)}; }
  static Halves<Sum> Few(Vector y) { return Many(y); }
  static Sum MultiplyAdd(Sum x, Sum y, Sum sum) { return __builtin_elementwise_fma(x, y, sum); }
};

}  // namespace

const GemmKernels* GemmKernels256(GemmKernelKind kind) {
  return GemmKernelsOf<PlainArithmetic<float, 32, 16>, PlainArithmetic<double, 32, 16>, void, void,
                       WordArithmetic<true, true>, WordArithmetic<true, false>, WordArithmetic<false, true>>(kind);
}

const GroupKernels* GroupKernels256() {
  static constexpr GroupKernels kKernels = MakeGroupKernels<PlainArithmetic<float, 32, 16>>();
  return &kKernels;
}

const RowKernels* RowKernels256(GemmKernelKind kind) {
  return RowKernelsOf<PlainArithmetic<float, 32, 16>, PlainArithmetic<double, 32, 16>, HalfArithmetic, BrainArithmetic,
                      WordArithmetic<true, true>>(kind);
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
