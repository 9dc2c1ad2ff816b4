// What AMX does, in plain code: for processes that may not use it though code was made for it, and for tests of its
// kernels on other processors.
#include "src/cpu/gemm_amx_template.h"

namespace kiln::cpu {
namespace {

struct PlainRegisters {
  static constexpr bool kIsConfigured = false;
  void Configure(const AmxShapes& shapes) { shapes_ = shapes; }
  template <int i>
  void Zero() {
    __builtin_memset(bytes_[i], 0, sizeof(bytes_[i]));
  }
  template <int i>
  void Read(const char* from, int64_t stride) {
    Zero<i>();
    for (int row = 0; row < shapes_.rows[i]; ++row) {
      __builtin_memcpy(bytes_[i][row], from + row * stride, shapes_.row_bytes[i]);
    }
  }
  template <int i>
  void Write(char* to, int64_t stride) {
    for (int row = 0; row < shapes_.rows[i]; ++row) {
      __builtin_memcpy(to + row * stride, bytes_[i][row], shapes_.row_bytes[i]);
    }
  }

 protected:
  // sum[row][column] = add(sum, step of lhs's row, step of rhs's column), steps in order.
  template <typename Sum, int sum, int lhs, int rhs, typename Add>
  void ForAll(Add add) {
    for (int row = 0; row < shapes_.rows[sum]; ++row) {
      for (int column = 0; column < shapes_.row_bytes[sum] / 4; ++column) {
        auto total = Load<Sum>(&bytes_[sum][row][column * 4]);
        for (int step = 0; step < shapes_.rows[rhs]; ++step) {
          total = add(total, &bytes_[lhs][row][step * 4], &bytes_[rhs][step][column * 4]);
        }
        Store(&bytes_[sum][row][column * 4], total);
      }
    }
  }

 private:
  AmxShapes shapes_;
  char bytes_[8][kAmxRows][kAmxBytes];
};

struct Brain : PlainRegisters {
  using Element = uint16_t;
  using Sum = float;
  template <int sum, int lhs, int rhs>
  void MultiplyAdd() {
    const auto widened = [](const char* from) {
      return __builtin_bit_cast(float, static_cast<uint32_t>(Load<uint16_t>(from)) << 16);
    };
    ForAll<float, sum, lhs, rhs>([&](float total, const char* x, const char* y) {
      return total + (widened(x) * widened(y) + widened(x + 2) * widened(y + 2));
    });
  }
};

template <typename Left, typename Right>
struct Bytes : PlainRegisters {
  using Element = uint8_t;
  using Sum = int32_t;
  template <int sum, int lhs, int rhs>
  void MultiplyAdd() {
    // Sums wrap around.
    ForAll<uint32_t, sum, lhs, rhs>([](uint32_t total, const char* x, const char* y) {
      for (int i = 0; i < 4; ++i) {
        total += static_cast<uint32_t>(static_cast<Left>(x[i]) * static_cast<Right>(y[i]));
      }
      return total;
    });
  }
};

}  // namespace

const GemmKernels* GemmKernelsPlainAmx(GemmKernelKind kind) {
  static constexpr GemmKernels kKernels[] = {MakeAmxKernels<Brain>(), MakeAmxKernels<Bytes<int8_t, int8_t>>(),
                                             MakeAmxKernels<Bytes<int8_t, uint8_t>>(),
                                             MakeAmxKernels<Bytes<uint8_t, int8_t>>()};
  return &kKernels[static_cast<int64_t>(kind) - static_cast<int64_t>(GemmKernelKind::kAmxBrain)];
}

}  // namespace kiln::cpu
