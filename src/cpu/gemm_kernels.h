// What every matrix product of a type has in common, compiled with Kiln once for each vector width: micro-kernels and
// packing. Generated code reaches them through RunGemmBlocks (gemm_blocks.h).
#ifndef KILN_CPU_GEMM_KERNELS_H_
#define KILN_CPU_GEMM_KERNELS_H_

#include <cstdint>

namespace kiln::cpu {

// What a step of k multiplies and adds: one element, a pair of bf16 or four bytes, into sums of 32 or 64 bits. Bytes
// are told apart by the signs of lhs and rhs; f16 counts as one element. Those of AMX take sixteen rows, columns and
// steps with one instruction.
enum class GemmKernelKind : int64_t {
  kF32,
  kF64,
  kHalf,  // of rows alone (row_kernels.h)
  kBrain,
  kSignedBytes,
  kSignedUnsigned,
  kUnsignedSigned,
  kAmxBrain,
  kAmxSignedBytes,
  kAmxSignedUnsigned,
  kAmxUnsignedSigned,
};

// The kind for the same types that multiplies with AMX, and whether this one does. Plain f32 and f64 have none.
constexpr GemmKernelKind AmxKindOf(GemmKernelKind kind) {
  return static_cast<GemmKernelKind>(static_cast<int64_t>(kind) + 4);
}
constexpr bool IsAmx(GemmKernelKind kind) { return kind >= GemmKernelKind::kAmxBrain; }

// What is f32 in kernels and narrower in memory: operands are widened where they are packed, and results rounded where
// they are stored.
enum class GemmWidening : int64_t { kNone, kBrain, kHalf };

inline constexpr int kMaxTileRows = 32;        // of any kernel,
inline constexpr int kMaxVectorTileRows = 14;  // and of those that broadcast lhs against vectors
inline constexpr int kMaxTileVectors = 4;
inline constexpr int kMaxAmxVectors = 2;
inline constexpr int64_t kMaxGemmRuns = 4096;  // of steps that are not as far apart as each other

// Strides in bytes. rhs lies along the sum's lanes.
struct GemmTileStrides {
  int64_t lhs_row = 0;
  int64_t lhs_step = 0;
  int64_t rhs_step = 0;
  int64_t sums_row = 0;
  // Tiles side by side, of whole vectors, and from one to the next.
  int64_t tiles = 1;
  int64_t rhs_tile = 0;
  int64_t sums_tile = 0;
  // Rows of an lhs that is wanted next, which kernels of matrix registers ask for meanwhile: nothing else foretells it.
  const char* next_lhs = nullptr;
  int64_t next_rows = 0;
  // What flipped signs have too much of each column, to be taken off; null: it stays.
  const char* offsets = nullptr;
};

// sums[row][column] = the sum over all runs and their steps of lhs * rhs, on top of what is there if `resume`. Run
// number r begins at lhs + lhs_runs[r] and rhs + rhs_runs[r]; without rhs_runs, rhs goes on from run to run. `columns`
// are stored; whole vectors of rhs are read.
using GemmTileKernel = void(const char* lhs, const char* rhs, char* sums, const GemmTileStrides& strides,
                            const int64_t* lhs_runs, const int64_t* rhs_runs, int64_t run_count, int64_t steps,
                            int64_t columns, bool resume);

// Where rhs is packed from, and how: panels of [step][panel_columns], zeros behind the last column and element. Strides
// are bytes between elements, of which `elements` follow along k and make up the steps.
struct GemmPacking {
  int64_t k_stride = 0;
  int64_t n_stride = 0;
  int64_t panel_columns = 0;
  int64_t panel_bytes = 0;
  int64_t rows_ahead = 0;  // of what lies along n, row k + rows_ahead is asked for with row k; 0: none is
};
using GemmPack = void(const char* from, char* to, const GemmPacking& packing, int64_t elements, int64_t columns);

// Stores a tile of sums, strides in bytes.
using GemmStore = void(const char* sums, char* to, int64_t sums_row, int64_t out_row, int64_t out_column, int64_t rows,
                       int64_t columns);

// Makes f32 of `count` bf16 or f16.
using GemmWiden = void(const char* from, char* to, int64_t count);

// Takes `bytes` of a row of lhs to the form that tiles multiply.
using GemmTakeRow = void(const char* from, char* to, int64_t bytes);

struct GemmKernels {
  int64_t lanes = 0;
  int64_t depth = 0;      // elements of k in a step
  int64_t sum_bytes = 0;  // of one sum, and of one step of one column
  int64_t lhs_bytes = 0;  // of one step of one row, as tiles multiply it
  // Null where registers do not suffice.
  GemmTileKernel* tiles[kMaxTileVectors][kMaxTileRows] = {};
  bool has_matrix_registers = false;
  // Where these have to be told their shapes before a tile of other rows and columns than the last one, which takes
  // longer than a small tile, and given back in the end; else null.
  void (*configure)(int64_t rows, int64_t columns) = nullptr;
  void (*release)() = nullptr;
  bool take_several = false;           // they look at GemmTileStrides::tiles
  GemmPack* pack_rows = nullptr;       // rhs contiguous along n
  GemmPack* pack_columns = nullptr;    // along k, in whole steps; of one element also with any strides
  GemmStore* store_columns = nullptr;  // where neighbours in memory are rows or none are
  // Null but of tiles that multiply lhs in another form than it has in memory. One of as many bytes may be made in
  // place.
  GemmTakeRow* take_row = nullptr;
  // That form has 128 added to signed bytes: what comes of a row of zeros is to be taken off the others.
  bool has_offsets = false;
  // By GemmWidening; null of other types than f32.
  GemmWiden* widen[3] = {};
  // Rounded to the nearest bf16 or f16, ties to even.
  GemmStore* narrow[3] = {};
};

// Those for vectors of 64, 32 and 16 bytes (AVX-512, AVX2, NEON); null where this build or the width has none.
const GemmKernels* GemmKernels512(GemmKernelKind kind);
const GemmKernels* GemmKernels256(GemmKernelKind kind);
const GemmKernels* GemmKernels128(GemmKernelKind kind);
// With AMX, null where this build has none, and the same in plain code, on any host.
const GemmKernels* GemmKernelsAmx(GemmKernelKind kind);
const GemmKernels* GemmKernelsPlainAmx(GemmKernelKind kind);
// Whether the host has the instructions that kernels of 64 bytes are made of.
bool HasGroups(GemmKernelKind kind);
// The host's, or null. Code from a cache may ask for AMX where the system did not permit this process to use it: it
// gets plain code.
const GemmKernels* FindGemmKernels(GemmKernelKind kind);

// Whether products of that kind, which has to be one of AMX, are worth it: the host has them, or a test says so.
bool MultipliesWithAmx(GemmKernelKind kind);
void PretendAmxForTest(bool pretend);

}  // namespace kiln::cpu

#endif  // KILN_CPU_GEMM_KERNELS_H_
