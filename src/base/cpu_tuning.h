// What was measured of machines, in one table: a row per kind of CPU, a field per number that decides something. What
// follows from an algorithm (a radix, a bound on code) or from the registers and caches that the host reports
// (cpu/host_isa.h) stands in the code that it is about.
//
// A field says its unit, what it decides, and the command that shows its effect: `bench GROUPS` is
// `python -m benchmarks --only 'GROUPS'`, the others are programs of benchmarks/cpp. To measure a number for a kind of
// machine, change it in the kind's row, build, and run the command before and after on an idle machine; to measure
// vectors of 32 bytes on a machine with wider ones, set KILN_FLAGS=--xla_cpu_max_isa=AVX2 (docs/debugging.md).
#ifndef KILN_BASE_CPU_TUNING_H_
#define KILN_BASE_CPU_TUNING_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace kiln {

// What deciding on fusions needs to know of a target. All but the first three: fusion_costs_bench.
struct FusionCosts {
  double cached_bytes;         // arrays up to this size are likely in a cache near the core that reads them; bench math
  double function_operations;  // cheap operations that one function, such as exp, stands for; bench 'math|norm'
  double transposed_traffic;   // of a transpose read element by element, which uses little of a line; bench layout
  double launch_nanoseconds;   // of a kernel, beside its work
  double bytes_per_nanosecond;  // one core's part of main memory, while all cores are at it
  double cached_bytes_per_nanosecond;
  double elements_per_nanosecond;  // of one cheap operation on f32
  int64_t kept_bytes;              // of a block of rows that a task makes before what reads it; 0: none; bench rope
  bool makes_operands;             // of products, where their blocks are read; bench 'low precision'
};

// When work is divided over threads, and in which pieces. bench 'dispatch|math|matmul|sort'
struct ThreadTuning {
  double wake_nanoseconds;          // less work than this is not worth waking a thread for
  double wake_each_nanoseconds;     // what it takes its waker
  double share_nanoseconds;         // less is not worth sharing with a thread that is awake and near,
  double share_far_nanoseconds;     // nor this with one that is far, and between them what lies between;
  int64_t near_nanoseconds;         // a thread that begins with work this soon is near,
  int64_t far_nanoseconds;          // and one this late far: Handover; bench 'recurrent|simulation'
  double far_bytes_per_nanosecond;  // one thread's traffic with what its own caches do not hold; bench memory
  double range_nanoseconds;         // what one range of a divided loop should take at least
  int64_t spin_nanoseconds;         // how long a thread looks for more work before it sleeps; bench 'dispatch|models'
  int64_t inline_nanoseconds;  // programs up to here run in the calling thread (RunsInline); bench 'dispatch|models'
  int64_t split_elements;      // reductions of fewer are not cut into parts for threads; bench reduce
  int64_t part_elements;       // of such a part at least; bench reduce
  int64_t far_rows_bytes;      // of so much, sums of rows that lie far apart take each for itself; bench reduce
  int64_t dot_elements;        // products of two vectors this long are reductions; bench matmul/dot
};

// Loop nests of the kernel language: kernel/schedule.h.
struct KernelTuning {
  double nanoseconds_per_operation;   // of one operation on a vector, to divide work by; bench 'math|norm|reduce'
  double bytes_per_nanosecond;        // of memory traffic beside it; bench 'indexing|layout|memory'
  int64_t block_elements;             // one iteration of a task along the vector loop; bench 'math|memory'
  double block_nanoseconds;           // and what it takes at most; bench math
  double task_nanoseconds;            // of a task of several loops at most, where it is to be of fewer
  double gather_operations;           // per lane of an access without a stride; bench 'indexing|layout'
  double kept_operations;             // work per vector from which on a row's values are kept in an array; bench norm
  int64_t tile_bytes;                 // of the squares that a transpose stages: part of the L1 cache; bench layout
  int64_t group_bytes;                // of rows that are joined of pieces, a piece of each at a time; bench layout/conc
  int64_t streaming_bytes;            // results of at least this size bypass the cache; bench 'memory|math|layout'
  int64_t streamed_bytes;             // where a kernel goes over this much at least; bench layout/tile
  int64_t streaming_temporary_bytes;  // and temporaries, which are read soon; bench 'memory|training'
  int streams;                        // rows that a thread reads side by side (rows_together.h); 1: nor does a task ask
                                      // for the rows of the next one; bench 'reduce|norm|losses'
  int64_t stream_bytes;               // from arrays of this size at least
  int64_t ahead_bytes;                // how far reductions of arrays from memory ask ahead; 0: not; bench reduce/.*16m
  int64_t row_elements;               // of a row that several stages go over at most; bench 'norm|losses'
  int64_t single_row_elements;        // where there is but one; bench 'norm|losses'
  bool scales_to_subnormals;   // AVX-512's instruction that scales takes no longer to give subnormals; bench math
  int64_t function_registers;  // in which lanes of functions go side by side: bench math
};

// Matrix products and convolutions. Work is in multiply-adds. gemm_bench TYPE M N K, bench 'matmul|convolution'
struct ProductTuning {
  double products_per_cycle;            // multiply-adds of vectors, what a micro-tile is chosen by, as are
  double loads_per_cycle;               // loads,
  double broadcasts_per_cycle;          // those of one number for all lanes among them,
  double latency_cycles;                // and how long a sum waits until it can take its next product
  double lane_products_per_nanosecond;  // multiply-adds of one lane of a vector: the estimate of a product's time
  double bytes_per_nanosecond;          // of operands and result in that estimate
  double task_work;                     // blocks are halved for threads down to this much
  double range_work;                    // one range of tasks has at least this much
  double move_work;                     // to pack an element
  double store_work;                    // to store an element
  int64_t packed_bytes;                 // of operands that are packed, or padded, in one round
  int64_t partial_sum_bytes;            // of sums that wait for the rest of a long k
  int64_t packed_row_panels;            // so many tiles of rows repay packing an rhs that can be read in place
  int64_t short_dot_vectors;            // along k: sums that are short beside what is done with them
  double l2_load_cycles;                // of a vector of rhs from the L2 cache, beyond one from the L1 cache
  double l3_load_cycles;                // and from behind the L2 cache
  int64_t far_bytes;                    // rhs, and rows that are summed, of this size come from memory; bench reduce
  bool multiplies_brain_pairs;          // products of pairs of bf16 are faster than f32's; bench 'low precision/bf16'
  int64_t asking_rows;                  // so many rows ask for those from memory that they meet, a tile ahead
  bool asks_for_streams;                // so does a matrix that streams by a few rows; bench 'matmul/.*4096'
  int64_t vector_product_bytes;         // a vector times such a matrix is a sum of products; bench matmul/.*4096
  int64_t row_vector_product_bytes;     // and one that lies along the matrix's rows
  // Kernels compiled with Kiln (cpu/gemm_blocks.h).
  int64_t block_rows;         // fewer rows do not repay the call,
  int64_t few_features;       // of a convolution, whose lanes are then along the inputs: cpu/row_product.h
  int64_t few_rows;           // so many at most, times rows that lie along k as well: cpu/row_product.h
  int64_t packed_rows;        // packing rhs,
  int64_t group_rows;         // packing it in groups of k, which generated kernels do as well,
  int64_t placed_rows;        // packing an rhs that can be read where it lies,
  int64_t sharing_rows;       // and one whose rows share few sets of the L2 cache
  int64_t close_rows;         // and one whose rows have from close_row_bytes on
  int64_t wide_row_bytes;     // rows of rhs from here on lie on pages of their own,
  int64_t sharing_row_bytes;  // and are as costly from here on where they share few sets of the L1 cache
  int64_t close_row_bytes;
  int64_t pack_ahead_rows;      // of rhs that are asked for while one is packed; 0: none
  int64_t packed_lhs_columns;   // results of so many columns pack tiles of an lhs that lies along m,
  int64_t packed_lhs_reach;     // if these, times the bytes between its steps, are so many
  double panel_part;            // of packed rhs in one stretch of a long k, in L1 caches
  double lying_panel_part;      // and where an lhs that lies along m is not packed
  double placed_part;           // of an rhs that is read where it lies, in a stretch, in L2 caches
  double block_caches;          // L2 caches that the columns of a block fill, where rhs is packed
  double block_work;            // less does not repay the call
  double block_pack_work;       // to pack an element of rhs,
  double block_rhs_work;        // to fetch it from where it lies,
  double block_row_work;        // and to go to a row of it on a page of its own
  double block_lhs_work;        // to fetch an element of lhs from the L2 cache,
  double block_lying_lhs_work;  // where it lies along m
  double block_lhs_pack_work;   // and to pack it
  double block_store_work;      // to store a result
  double block_task_work;       // to begin a task
  int64_t amx_rows;             // rows that repay registers of sixteen,
  int64_t amx_extent;           // and columns and steps; bench 'low precision', sweep products/s8
  double amx_gain;              // and how many times as fast these multiply and add as vectors
  // Convolutions in Winograd's form (cpu/winograd.h). bench convolution
  double window_gain;              // the part of the direct products' time that it may take at most
  int64_t window_channels;         // that tiles' sums have at least
  double window_transform_cycles;  // of a vector of inputs or results of a tile,
  double weight_transform_cycles;  // and of one of weights
  int64_t window_weight_bytes;     // of weights that are transformed in one round

  // Whether rows of rhs lie so that each costs a page or a set of the caches.
  bool HasWideRows(int64_t row_bytes) const {
    constexpr int64_t kSharing = 512;  // eight sets of 64
    return row_bytes >= wide_row_bytes || (row_bytes >= sharing_row_bytes && row_bytes % kSharing == 0);
  }
  // Whether `rows` times an rhs whose rows are no wide ones, but have so many bytes, repay packing that.
  bool PacksCloseRows(int64_t rows, int64_t row_bytes, int64_t steps) const {
    return row_bytes >= close_row_bytes && rows >= close_rows && steps >= close_rows;
  }
};

// Attention as one step: passes/attention_fusion.h, cpu/row_chain.h. bench 'attention|models'
struct AttentionTuning {
  int64_t rows;         // of the same keys and values that repay packing these
  int64_t columns;      // of scores, and of the result, which are vectors,
  int64_t score_bytes;  // and of all scores: less is in the caches anyway
  int64_t block_part;   // the part of the L2 cache that a block's scores take
  int64_t block_rows;   // of a block at most
};

// Fourier transforms (cpu/fft_plan.h). Cycles are of one vector. bench fft, KILN_FULL_TESTS=1 for odd lengths
struct FourierTuning {
  double cycles_per_nanosecond;  // a core's clock, for estimates
  double move_cycles;            // of one leg: loading, multiplying by a root, storing
  double halving_cycles;         // per halving of a transform within registers
  double prime_cycles;           // per odd prime factor and unit of it
  double spill_cycles;           // once a pass has more numbers than there are registers
  double shuffle_cycles;         // where results change lanes, per halving
  double rare_cycles;            // of radices that have no code for each shape of a pass
  double unaligned_cycles;       // where vectors do not end with rows
  double number_cycles;          // or per number that is moved alone
  double half_vector;            // what one of 32 bytes costs, of one of 64
  double narrow_vector;          // what one costs that lanes do not fill and goes by way of the stack
  double transpose_cycles;
  double step_cycles;        // of the call of each step
  double row_cycles;         // of each step of a row
  int64_t row_bytes;         // longer rows are transformed in four steps
  int64_t lone_row_bytes;    // those that are alone, since threads would have nothing to do
  int64_t transposed_bytes;  // rows whose block takes more are not transposed
  int64_t block_part;        // the part of the L2 cache that columns take which are transformed together
};

// Scans, sorts and selections. bench 'scan|sort'
struct RowTuning {
  double scan_nanoseconds;      // of an element
  int64_t scan_chunked_length;  // longer rows are cut into chunks for threads
  int64_t sort_divided_size;    // longer rows are sorted by all threads together
  int sort_bucket_bits;         // a long row goes into buckets of some 1 << this many keys
  double sort_nanoseconds;      // of an element, beside: per byte of the key,
  double sort_byte_nanoseconds;
  double vector_sort_byte_nanoseconds;  // the same where keys alone are sorted in registers,
  double rank_nanoseconds;              // per element that it is compared with in a short row,
  double network_nanoseconds;           // per comparison of vectors in a network for rows side by side,
  double network_moved_nanoseconds;     // and per element that goes to them and back,
  double gather_nanoseconds;            // per array that follows the keys,
  double merge_base_nanoseconds;        // and where a comparator is called
  double merge_level_nanoseconds;
  double selection_nanoseconds;  // per element that a selection looks at,
  double selected_nanoseconds;   // and per element that it gives, and one more
  int64_t selection_size;        // more of a row than this are selected by sorting it, if they are a sixteenth of it
};

// Factorizations and triangular systems (cpu/dense_solver.h). bench linalg
struct SolverTuning {
  int64_t lane_elements;      // matrices up to here are lanes: what the L1 cache holds
  int64_t parallel_elements;  // that are worth several threads when a panel is taken off them
  double lane_products_per_nanosecond;
  double row_products_per_nanosecond;
};

// Branches (passes/conditional_simplifier.h). bench loops
struct BranchTuning {
  int64_t selected_elements;  // that branches may compute together instead of a jump that is foretold wrongly
  int64_t function_elements;  // that a function of one stands for
};

// `kiln explain` and profiles (cpu/host_rates.h): what is not measured when they are asked for.
struct RateTuning {
  double function_cycles;  // of a vector of exp and the like
  double memory_cores;     // that together use all of the memory's bandwidth
};

struct CpuTuning {
  const char* name;
  const char* description;
  FusionCosts fusion;
  ThreadTuning threads;
  KernelTuning kernels;
  ProductTuning products;
  AttentionTuning attention;
  FourierTuning fourier;
  RowTuning rows;
  SolverTuning solver;
  BranchTuning branches;
  RateTuning rates;
};

// The table.
absl::Span<const CpuTuning> CpuTunings();

// The row that this process uses: by the vectors that the host has and may use (base/isa_level.h), unless told.
const CpuTuning& Tuning();
// Uses the row of that name from now on; false where there is none. Memory that code was compiled to give to the
// runtime's functions follows from the row, so programs run under the row that they were compiled under.
bool UseCpuTuning(absl::string_view name);

}  // namespace kiln

#endif  // KILN_BASE_CPU_TUNING_H_
