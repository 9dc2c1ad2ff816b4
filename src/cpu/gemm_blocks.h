// The loops of a large matrix product, compiled with Kiln: they are the same for every program, and what a program adds
// (sizes, strides, the epilogue) reaches them as data. A task packs its block of rhs into memory of its thread, a
// stretch of k at a time, and passes over it with micro-kernels.
#ifndef KILN_CPU_GEMM_BLOCKS_H_
#define KILN_CPU_GEMM_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "src/cpu/gemm_kernels.h"
#include "src/cpu/gemm_layout.h"

namespace kiln::cpu {

// A dimension outside of a tile, with strides in bytes.
struct GemmBlockDimension {
  int64_t size = 1, lhs = 0, rhs = 0, out = 0;
};

// All 64-bit integers, so that a module holds it as an array of them. In memory the offsets of all runs follow: `runs`
// of lhs, then as many of rhs. A run is a value of all outer steps.
struct GemmBlocks {
  static constexpr int kMaxDimensions = 5;
  GemmKernelKind kind = GemmKernelKind::kF32;
  int64_t m = 0, n = 0;
  int64_t rows = 0, columns = 0;        // of a tile
  int64_t row_tiles = 0;                // of m
  int64_t runs = 1, steps = 0;          // of a run
  int64_t k_elements = 0;               // of a run
  int64_t lhs_row = 0, lhs_step = 0;    // bytes
  int64_t rhs_k = 0, rhs_n = 0;         // bytes between elements
  int64_t out_row = 0, out_column = 0;  // bytes
  int64_t pack_lhs = 0, pack_rhs = 0;
  // Of an rhs that is read where it lies, the last columns, which do not fill vectors, are packed.
  int64_t pack_tail = 0;
  GemmWidening widen_lhs = GemmWidening::kNone, widen_rhs = GemmWidening::kNone;
  // Of operands that are made: bytes from row to row of a piece, 0 of an rhs that is made in panels.
  int64_t lhs_pitch = 0, rhs_pitch = 0;
  int64_t direct = 0;                             // sums are the result as it is stored,
  GemmWidening narrow_out = GemmWidening::kNone;  // or once they are rounded
  // Bytes of an element where columns are no neighbours in the result: tiles are stored aside first. 0: they are.
  int64_t transposed = 0;
  int64_t streams = 0;                         // rhs comes from memory row by row
  int64_t run_block = 0, step_block = 0;       // of k at a time: whole runs, or steps of the only one
  int64_t tile_block = 0, column_block = 0;    // of a task: tiles along m, columns
  int64_t tile_blocks = 0, column_blocks = 0;  // of a round
  int64_t tasks = 0;                           // of a round
  int64_t round_tiles = 0, round_lhs = 0;      // from one round to the next: tiles, and bytes of lhs
  int64_t outer_count = 0, batch_count = 0;    // dimensions
  GemmBlockDimension outer[kMaxDimensions];
  GemmBlockDimension batch[kMaxDimensions];
};

// Symbol "kiln_gemm_blocks": runs tasks [begin, end). `finish` takes the sums of a tile, or of several side by side or
// below each other, to the result, unless they are that already: rows `sums_row` bytes apart, `out` being where row 0
// of the outer iteration `batch` begins. Where tiles are transposed, it leaves results in the place of the sums.
using GemmFinish = void(char* sums, char* out, void* const* extra, int64_t batch, int64_t m, int64_t n, int64_t rows,
                        int64_t columns, int64_t sums_row);
// Makes a piece of an operand (GemmOperandArguments); null where the operand is an array.
using GemmMake = void(char* to, void* const* extra, int64_t batch, int64_t outer, int64_t inner, int64_t outer_count,
                      int64_t inner_count);
void RunGemmBlocks(const GemmBlocks* blocks, const char* lhs, const char* rhs, char* out, void* const* extra,
                   int64_t begin, int64_t end, GemmFinish* finish, GemmMake* make_lhs, GemmMake* make_rhs);
inline constexpr char kGemmBlocksName[] = "kiln_gemm_blocks";

// Memory of this thread, aligned to 64, until its next call.
char* ThreadMemory(int64_t bytes);

// A chain of products and kernels over groups of rows (row_chain.h): a task takes a block of groups through all steps,
// whose values in between are in memory of its thread; what products need of rhs is packed once per batch and thread.
// In memory a place for each of these values follows, then the steps.
struct RowChainBlocks {
  int64_t groups = 0;             // that blocks do not reach beyond
  int64_t block = 0, blocks = 0;  // groups of a task, and tasks of so many groups
  int64_t arrays = 0;             // of the caller; numbers from here on are values in between
  int64_t values = 0, steps = 0;
  int64_t pointers = 0;  // that all steps read
};
struct RowChainValue {
  int64_t group_bytes = 0;
  int64_t place = 0;   // bytes
  int64_t shared = 1;  // groups that have one part of it in common, which a block does not reach beyond
};
// A product, whose description follows behind the numbers of the arrays that its functions are given, or a kernel.
struct RowChainStep {
  int64_t words = 0;  // of this step
  int64_t is_product = 0;
  int64_t group = 0;                       // rows or tasks of a group
  int64_t groups_of_task = 1;              // of a kernel; or one group has several tasks
  int64_t shared = 1;                      // of what a kernel makes, once for all blocks that have it in common
  int64_t lhs = 0, rhs = 0, out = 0;       // arrays of a product
  int64_t lhs_offset = 0, rhs_offset = 0;  // bytes before their first elements
  int64_t pointers = 0;
};

// Tasks [begin, end) of a kernel, arrays as if they began with the first one.
using RowChainKernel = void(void* const* arrays, int64_t begin, int64_t end);
// Symbol "kiln_row_chain". Three functions for each step: a kernel, or a product's finish, make_lhs and make_rhs.
void RunRowChain(const RowChainBlocks* chain, void* const* arrays, void* const* functions, int64_t begin, int64_t end);
inline constexpr char kRowChainName[] = "kiln_row_chain";
// Memory that it takes of a thread; the chain as above.
int64_t RowChainBytes(const RowChainBlocks* chain);

// Whether there are kernels for the product and the schedule's tile.
bool SupportsGemmBlocks(const GemmSpec& spec, const GemmProblem& problem, const GemmSchedule& schedule,
                        const GemmArithmetic& arithmetic);
// Makes the schedule's tile one of AMX where that is there for the product, which is large enough to fill it.
bool ChooseAmxTile(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic,
                   GemmSchedule& schedule);
// Whether a kernel's sums are the result, but for where these are stored.
bool IsDirectResult(const GemmSpec& spec, const GemmArithmetic& arithmetic);
// How kernels of a schedule of blocks or rows make the result of its sums where that is all there is to do.
GemmWidening ResultNarrowing(const GemmSpec& spec, const GemmArithmetic& arithmetic, const GemmSchedule& schedule);
// Whether it is large enough for them.
bool IsWorthGemmBlocks(const GemmSpec& spec, const GemmProblem& problem, const GemmSchedule& schedule);
// Packing and the blocks of a schedule of that kind, whose tile is chosen.
void ChooseGemmBlocks(const GemmSpec& spec, const GemmProblem& problem, const GemmArithmetic& arithmetic, int threads,
                      GemmSchedule& schedule);
GemmOperandPlace PlaceOfOperand(const GemmProblem& problem, const GemmSchedule& schedule, bool is_lhs);
// Appends where lhs or rhs begins for each value of all outer steps, in bytes.
void AppendRunOffsets(const GemmProblem& problem, bool is_lhs, int64_t element_bytes, std::vector<int64_t>* words);
// The description as it stands in memory.
std::vector<int64_t> DescribeGemmBlocks(const GemmSpec& spec, const GemmProblem& problem, const GemmSchedule& schedule,
                                        const GemmLayout& layout);

}  // namespace kiln::cpu

#endif  // KILN_CPU_GEMM_BLOCKS_H_
