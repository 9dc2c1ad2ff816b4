// Kernels for AMX. The whole file is compiled for it and for AVX-512 (see CMakeLists.txt): only kernels that
// FindGemmKernels gives out for a host run here.
#if defined(__AMX_BF16__) && defined(__AMX_INT8__)

#include <immintrin.h>

#include "src/cpu/gemm_amx_template.h"

namespace kiln::cpu {
namespace {

// The processor's registers: a thread's, so that an object of this holds nothing.
struct AmxRegisters {
  static constexpr bool kIsConfigured = true;
  template <int i>
  static void Zero() {
    _tile_zero(i);
  }
  template <int i>
  static void Read(const char* from, int64_t stride) {
    _tile_loadd(i, from, stride);
  }
  template <int i>
  static void Write(char* to, int64_t stride) {
    _tile_stored(i, to, stride);
  }
};

void Configure(int64_t rows, int64_t columns) {
  const AmxShapes shapes = ShapesOf(rows, columns);
  _tile_loadconfig(&shapes);
}

void Release() { _tile_release(); }

template <typename R>
constexpr GemmKernels MakeKernels() {
  GemmKernels kernels = MakeAmxKernels<R>();
  kernels.configure = &Configure;
  kernels.release = &Release;
  return kernels;
}

struct Brain : AmxRegisters {
  using Element = uint16_t;
  using Sum = float;
  template <int sum, int lhs, int rhs>
  static void MultiplyAdd() {
    _tile_dpbf16ps(sum, lhs, rhs);
  }
};

struct SignedBytes : AmxRegisters {
  using Element = uint8_t;
  using Sum = int32_t;
  template <int sum, int lhs, int rhs>
  static void MultiplyAdd() {
    _tile_dpbssd(sum, lhs, rhs);
  }
};

struct SignedUnsigned : SignedBytes {
  template <int sum, int lhs, int rhs>
  static void MultiplyAdd() {
    _tile_dpbsud(sum, lhs, rhs);
  }
};

struct UnsignedSigned : SignedBytes {
  template <int sum, int lhs, int rhs>
  static void MultiplyAdd() {
    _tile_dpbusd(sum, lhs, rhs);
  }
};

}  // namespace

const GemmKernels* GemmKernelsAmx(GemmKernelKind kind) {
  static constexpr GemmKernels kKernels[] = {MakeKernels<Brain>(), MakeKernels<SignedBytes>(),
                                             MakeKernels<SignedUnsigned>(), MakeKernels<UnsignedSigned>()};
  return &kKernels[static_cast<int64_t>(kind) - static_cast<int64_t>(GemmKernelKind::kAmxBrain)];
}

}  // namespace kiln::cpu

#else

#include "src/cpu/gemm_kernels.h"

namespace kiln::cpu {
const GemmKernels* GemmKernelsAmx(GemmKernelKind) { return nullptr; }
}  // namespace kiln::cpu

#endif
