// Micro-kernels of products of rows with rows (row_product.h), compiled with Kiln once for each vector width.
#ifndef KILN_CPU_ROW_KERNELS_H_
#define KILN_CPU_ROW_KERNELS_H_

#include <cstdint>

#include "src/cpu/gemm_kernels.h"

namespace kiln::cpu {

// Strides in bytes.
struct RowTileStrides {
  int64_t few = 0, many = 0;  // from row to row
  int64_t sums_few = 0, sums_many = 0;
};

// sums[i][j] = the sum over `bytes` of elements of few[i] * many[j], on top of what is there if `resume`, for so many
// tiles of many rows. What is left behind whole vectors is taken with the elements before it, of which there have to be
// some, and these are masked. Asks for as much of `ahead_count` rows from `ahead` on, which moves on with the tiles:
// where many rows come from memory, the next ones come while these are multiplied.
using RowKernel = void(const char* few, const char* many, char* sums, const RowTileStrides& strides, int64_t bytes,
                       int64_t tiles, const char* ahead, int64_t ahead_count, bool resume);

// Packs `rows` few rows that are columns in memory: element k of row i is at from + k * k_stride + i * row_stride, and
// goes to to + i * to_row as its element number k.
using RowPack = void(const char* from, char* to, int64_t k_stride, int64_t row_stride, int64_t to_row, int64_t elements,
                     int64_t rows);

struct RowKernels {
  static constexpr int kMaxFew = 4, kMaxMany = 8;
  int64_t lanes = 0;
  int64_t element_bytes = 0, sum_bytes = 0;
  int64_t vector_bytes = 0;  // of elements
  int64_t most_few = 0;  // of a tile
  // By the number of few rows and of many rows; null where there is none.
  RowKernel* tiles[kMaxFew][kMaxMany] = {};
  RowPack* pack = nullptr;
};

// Those for vectors of 64, 32 and 16 bytes (AVX-512, AVX2, NEON); null where this build has none, or none of the kind.
const RowKernels* RowKernels512(GemmKernelKind kind);
const RowKernels* RowKernels256(GemmKernelKind kind);
const RowKernels* RowKernels128(GemmKernelKind kind);
// The host's, or null.
const RowKernels* FindRowKernels(GemmKernelKind kind);

}  // namespace kiln::cpu

#endif  // KILN_CPU_ROW_KERNELS_H_
