// The kernels of gemm_kernels.h over matrix registers, as AMX has them: eight registers of up to 16 rows of 64 bytes. A
// policy says what a register is: the processor's, or memory. Included by files that are compiled for one instruction
// set each: see gemm_kernels_template.h.
#ifndef KILN_CPU_GEMM_AMX_TEMPLATE_H_
#define KILN_CPU_GEMM_AMX_TEMPLATE_H_

#include "src/cpu/gemm_kernels_template.h"

namespace kiln::cpu {
namespace {

inline constexpr int kAmxRows = 16;   // of a register
inline constexpr int kAmxBytes = 64;  // of a row
inline constexpr int kAmxSteps = 16;  // of k in a register of lhs, along its rows, and of rhs, row by row
inline constexpr int kAmxColumns = 16;

// What the processor reads the shapes of registers from.
struct AmxShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Registers of a tile: up to two by two of sums, numbers 0 to 3, of lhs 4 and 5, of rhs 6 and 7.
inline AmxShapes ShapesOf(int64_t rows, int64_t columns) {
  const int high = rows > kAmxRows ? 2 : 1, wide = columns > kAmxColumns ? 2 : 1;
  AmxShapes shapes;
  for (int row = 0; row < high; ++row) {
    const int64_t here = rows - row * kAmxRows < kAmxRows ? rows - row * kAmxRows : kAmxRows;
    shapes.rows[4 + row] = static_cast<uint8_t>(here);
    shapes.row_bytes[4 + row] = kAmxBytes;
    for (int column = 0; column < wide; ++column) {
      const int64_t left = columns - column * kAmxColumns;
      const auto bytes = static_cast<uint16_t>(4 * (left < kAmxColumns ? left : kAmxColumns));
      shapes.rows[row * wide + column] = static_cast<uint8_t>(here);
      shapes.row_bytes[row * wide + column] = bytes;
      shapes.rows[6 + column] = kAmxSteps;
      shapes.row_bytes[6 + column] = bytes;
    }
  }
  return shapes;
}

// R has kDepth, kIsConfigured, or else Configure(shapes), Zero<i>(), Read<i>(from, stride), Write<i>(to, stride) and
// MultiplyAdd<sum, lhs, rhs>().
template <typename R, int kHigh, int kWide>
struct AmxTile {
  template <int kRow, int kColumn>
  static constexpr int kSum = kRow* kWide + kColumn;

  // A register's worth of steps.
  static void Multiply(R& r, const char* lhs, int64_t lhs_row, const char* rhs, int64_t rhs_step) {
    r.template Read<6>(rhs, rhs_step);
    if constexpr (kWide > 1) r.template Read<7>(rhs + kAmxBytes, rhs_step);
    r.template Read<4>(lhs, lhs_row);
    r.template MultiplyAdd<kSum<0, 0>, 4, 6>();
    if constexpr (kWide > 1) r.template MultiplyAdd<kSum<0, 1>, 4, 7>();
    if constexpr (kHigh > 1) {
      r.template Read<5>(lhs + kAmxRows * lhs_row, lhs_row);
      r.template MultiplyAdd<kSum<1, 0>, 5, 6>();
      if constexpr (kWide > 1) r.template MultiplyAdd<kSum<1, 1>, 5, 7>();
    }
  }

  // f(register, bytes from the first of the sums)
  template <typename F>
  static void ForSums(int64_t sums_row, F f) {
    f.template operator()<kSum<0, 0>>(int64_t{0});
    if constexpr (kWide > 1) f.template operator()<kSum<0, 1>>(int64_t{kAmxBytes});
    if constexpr (kHigh > 1) f.template operator()<kSum<1, 0>>(kAmxRows * sums_row);
    if constexpr (kHigh > 1 && kWide > 1) f.template operator()<kSum<1, 1>>(kAmxRows * sums_row + kAmxBytes);
  }

  [[gnu::noinline]] static void Run(int rows, const char* lhs, const char* rhs, char* sums,
                                    const GemmTileStrides& strides, const int64_t* lhs_runs, const int64_t* rhs_runs,
                                    int64_t run_count, int64_t steps, int64_t columns, bool resume) {
    R r;
    if constexpr (!R::kIsConfigured) r.Configure(ShapesOf(rows, columns));
    // The lines of the result arrive while the products are made, a few at a time.
    const int64_t rounds = (steps + kAmxSteps - 1) / kAmxSteps * run_count;
    const int64_t asked_at_once = (rows + rounds - 1) / rounds;
    int64_t asked = resume ? rows : 0;
    ForSums(strides.sums_row, [&]<int i>(int64_t offset) {
      if (resume) {
        r.template Read<i>(sums + offset, strides.sums_row);
      } else {
        r.template Zero<i>();
      }
    });
    const int64_t whole = steps / kAmxSteps * kAmxSteps, left = steps - whole;
    const char* y = rhs;
    for (int64_t run = 0; run < run_count; ++run) {
      const char* x = lhs + lhs_runs[run];
      const char* next = strides.next_rows > 0 ? strides.next_lhs + lhs_runs[run] : nullptr;
      if (rhs_runs != nullptr) y = rhs + rhs_runs[run];
      for (int64_t step = 0; step < whole; step += kAmxSteps) {
        Multiply(r, x + step * 4, strides.lhs_row, y, strides.rhs_step);
        y += kAmxSteps * strides.rhs_step;
        for (const int64_t end = asked + asked_at_once < rows ? asked + asked_at_once : rows; asked < end; ++asked) {
          const char* const line = sums + asked * strides.sums_row;
          __builtin_prefetch(line, 1);
          if constexpr (kWide > 1) __builtin_prefetch(line + kAmxBytes, 1);
        }
        for (int64_t row = 0; row < strides.next_rows; ++row) {
          __builtin_prefetch(next + row * strides.lhs_row + step * 4, 0, 2);
        }
      }
      if (left == 0) continue;
      // What is left is filled up with zeros on both sides: what lies behind may be NaN, or nobody's.
      alignas(64) char last_lhs[kHigh * kAmxRows][kAmxBytes] = {};
      alignas(64) char last_rhs[kAmxSteps][kWide * kAmxBytes] = {};
      for (int row = 0; row < rows; ++row) {
        __builtin_memcpy(last_lhs[row], x + row * strides.lhs_row + whole * 4, static_cast<uint64_t>(left) * 4);
      }
      for (int64_t step = 0; step < left; ++step, y += strides.rhs_step) {
        __builtin_memcpy(last_rhs[step], y, sizeof(last_rhs[step]));
      }
      Multiply(r, last_lhs[0], kAmxBytes, last_rhs[0], kWide * kAmxBytes);
    }
    ForSums(strides.sums_row, [&]<int i>(int64_t offset) { r.template Write<i>(sums + offset, strides.sums_row); });
  }
};

template <typename R, int kRows, int kVectors>
void RunAmxTile(const char* lhs, const char* rhs, char* sums, const GemmTileStrides& strides, const int64_t* lhs_runs,
                const int64_t* rhs_runs, int64_t run_count, int64_t steps, int64_t columns, bool resume) {
  AmxTile<R, (kRows + kAmxRows - 1) / kAmxRows, kVectors>::Run(kRows, lhs, rhs, sums, strides, lhs_runs, rhs_runs,
                                                               run_count, steps, columns, resume);
}

template <typename R, int kVectors, int kRow = 0>
constexpr void FillAmxTiles(GemmKernels& kernels) {
  if constexpr (kRow < 2 * kAmxRows) {
    kernels.tiles[kVectors - 1][kRow] = &RunAmxTile<R, kRow + 1, kVectors>;
    FillAmxTiles<R, kVectors, kRow + 1>(kernels);
  }
}

template <typename R>
constexpr GemmKernels MakeAmxKernels() {
  using Packed = GroupArithmetic<typename R::Element, typename R::Sum, 64, 32>;
  GemmKernels kernels;
  kernels.has_matrix_registers = true;
  kernels.lanes = kAmxColumns;
  kernels.depth = Packed::kDepth;
  kernels.sum_bytes = Packed::kSumBytes;
  kernels.lhs_bytes = Packed::kSumBytes;
  FillAmxTiles<R, 1>(kernels);
  FillAmxTiles<R, 2>(kernels);
  kernels.pack_rows = &PackRows<Packed>;
  kernels.pack_columns = &PackColumns<Packed>;
  return kernels;
}

}  // namespace
}  // namespace kiln::cpu

#endif  // KILN_CPU_GEMM_AMX_TEMPLATE_H_
