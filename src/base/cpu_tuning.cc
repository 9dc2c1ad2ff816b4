#include "src/base/cpu_tuning.h"

#include <atomic>
#include <limits>

#include "src/base/isa_level.h"

namespace kiln {
namespace {

constexpr int64_t kKilobyte = 1 << 10, kMegabyte = 1 << 20;

constexpr CpuTuning kWide = {
    .name = "avx512",
    .description =
        "vectors of 64 bytes, products of bf16 and of bytes: a Zen 5 server, two cores, 1 MB of L2 cache each",
    // The middle of several runs, but of main memory the least (up to 40 were seen), since others use it too.
    .fusion = {.cached_bytes = kMegabyte,
               .function_operations = 16,
               .transposed_traffic = 4,
               .launch_nanoseconds = 7,
               .bytes_per_nanosecond = 13,
               .cached_bytes_per_nanosecond = 72,
               .elements_per_nanosecond = 35,
               // Half the first-level cache.
               .kept_bytes = 16 * kKilobyte,
               .makes_operands = true},
    .threads = {.wake_nanoseconds = 20000,
                .wake_each_nanoseconds = 3000,
                .share_nanoseconds = 5000,
                .share_far_nanoseconds = 40000,
                // Seen within one last-level cache: 80 to 180, between two 280 to 400.
                .near_nanoseconds = 200,
                .far_nanoseconds = 320,
                .far_bytes_per_nanosecond = 40,
                .range_nanoseconds = 2500,
                // Bridges the gap between two kernels of one program, and costs no battery.
                .spin_nanoseconds = 40000,
                // Of one thread. Runs that wait in a queue share processors with those that enqueue, and each has
                // memory of its own for results: at 100 microseconds a batch norm took 365 instead of 182.
                .inline_nanoseconds = 250000,
                .split_elements = 128 * kKilobyte,
                .part_elements = 16 * kKilobyte,
                .far_rows_bytes = 32 * kMegabyte,
                .dot_elements = 128 * kKilobyte},
    // Bytes as from the nearest caches: at half that rate programs of 100 microseconds left the calling thread, and an
    // embedding took 99 instead of 55.
    .kernels = {.nanoseconds_per_operation = 0.2,
                .bytes_per_nanosecond = 128,
                .block_elements = 1024,
                .block_nanoseconds = 2000,
                .task_nanoseconds = 500,
                .gather_operations = 4,
                .kept_operations = 6,
                .tile_bytes = 16 * kKilobyte,
                // Eight times as much takes 1.2 to 2.6 times as long: the writes are no stream then (Zen 4).
                .group_bytes = kKilobyte,
                .streaming_bytes = 16 * kMegabyte,
                // What is written of little stays in the last cache: `layout/tile` takes 0.4 to 0.75 of the time.
                .streamed_bytes = 32 * kMegabyte,
                .streaming_temporary_bytes = 32 * kMegabyte,
                .streams = 1,
                .stream_bytes = 8 * kMegabyte,
                // The maximum of 16M takes 0.6 of the time, 4096 by 4096 times a vector 0.75, a sum as long as without.
                .ahead_bytes = 8 * kKilobyte,
                .row_elements = 64 * kKilobyte,
                .single_row_elements = 16 * kKilobyte,
                .scales_to_subnormals = true,  // seen of Zen 4 only: 2 cycles, whatever the result is
                // Four million sines take 0.89 of the time that one register at a time takes, gelu 0.81, softplus 0.86;
                // with four 0.77, 0.74 and 0.64, for which they take a third longer to compile.
                .function_registers = 2},
    .products = {.products_per_cycle = 2,
                 .loads_per_cycle = 2,
                 .broadcasts_per_cycle = 2,
                 .latency_cycles = 4,
                 .lane_products_per_nanosecond = 7,
                 .bytes_per_nanosecond = 16,
                 .task_work = 64 << 10,  // some microseconds
                 .range_work = 64 << 10,
                 .move_work = 8,
                 .store_work = 16,
                 .packed_bytes = kMegabyte,
                 .partial_sum_bytes = 32 * kKilobyte,
                 .packed_row_panels = 12,
                 .short_dot_vectors = 16,
                 .l2_load_cycles = 0.1,
                 .l3_load_cycles = 0.3,
                 // Columns in stretches of a page: 4096 by 4096 numbers take 2.1 ms instead of 3.0 (Zen 4).
                 .far_bytes = 32 * kMegabyte,
                 .multiplies_brain_pairs = true,
                 // `kiln run --repeat` of 1, 2, 4 and 8 rows times 4096 by 8192 bf16 or 4096 by 4096 f32: 0.8 to 1 of
                 // the time without, one row of bf16 0.85.
                 .asking_rows = std::numeric_limits<int64_t>::max(),
                 .asks_for_streams = true,
                 // `kiln run --repeat` of one product: a vector times 4096 by 4096 takes 0.6 of the time, by 11008
                 // 0.55, 4096 by 1024 0.67, what lies along the vector 0.9; of 1024 by 1024 and below there is no gain.
                 .vector_product_bytes = 16 * kMegabyte,
                 .row_vector_product_bytes = 16 * kMegabyte,
                 .block_rows = 10,
                 .few_features = 8,
                 .few_rows = 32,
                 .packed_rows = 24,
                 .group_rows = 8,
                 .placed_rows = 400,
                 // `gemm_bench f32 M 2048 512 nn`: 480 instead of 430 GFLOP/s for 64 rows, 500 instead of 470 for 128;
                 // of 4096 columns and 1024 steps as fast, and 425 instead of 460 for 192.
                 .sharing_rows = 160,
                 .close_rows = std::numeric_limits<int64_t>::max(),
                 .wide_row_bytes = 2 * kKilobyte,
                 .sharing_row_bytes = 2 * kKilobyte,
                 .close_row_bytes = 2 * kKilobyte,
                 .pack_ahead_rows = 0,
                 // `gemm_bench f32 M N K tn`: 247 GFLOP/s instead of 219 for 1024, 1024, 1024, 229 instead of 184 for
                 // 2048, 2048, 2048, 234 instead of 193 for 64, 64, 16384, on two cores 450 instead of 310.
                 .packed_lhs_columns = std::numeric_limits<int64_t>::max(),
                 .packed_lhs_reach = 0,
                 .panel_part = 0.5,
                 .lying_panel_part = 0.5,
                 .placed_part = std::numeric_limits<double>::infinity(),
                 .block_caches = 0.25,
                 .block_work = 32 << 10,
                 .block_pack_work = 35,
                 .block_rhs_work = 12,
                 .block_row_work = 1000,
                 .block_lhs_work = 3,
                 .block_lying_lhs_work = 3,
                 .block_lhs_pack_work = 20,
                 .block_store_work = 16,
                 .block_task_work = 40e3,
                 // The gain is what Intel says of its first servers with AMX, less what loads take: estimates of large
                 // products are 0.7 to 0.8 of the time (Granite Rapids). Eight rows of s8 times 1500 by 512 take 65 us
                 // instead of 79, eight columns longer than by rows.
                 .amx_rows = 8,
                 .amx_extent = 16,
                 .amx_gain = 6,
                 .window_gain = 0.8,
                 .window_channels = 32,
                 .window_transform_cycles = 50,
                 .weight_transform_cycles = 250,
                 .window_weight_bytes = 3 * kMegabyte},
    .attention = {.rows = 24, .columns = 16, .score_bytes = 64 * kKilobyte, .block_part = 2, .block_rows = 128},
    .fourier = {.cycles_per_nanosecond = 3.5,
                .move_cycles = 5.5,
                .halving_cycles = 1.3,
                .prime_cycles = 0.8,
                .spill_cycles = 0.5,
                .shuffle_cycles = 1.5,
                .rare_cycles = 4,
                .unaligned_cycles = 2.5,
                .number_cycles = 0.5,
                .half_vector = 0.9,
                .narrow_vector = 4,
                .transpose_cycles = 12,
                .step_cycles = 60,
                .row_cycles = 20,
                .row_bytes = 256 * kKilobyte,
                .lone_row_bytes = 64 * kKilobyte,
                .transposed_bytes = 128 * kKilobyte,
                .block_part = 16},
    .rows = {.scan_nanoseconds = 1,
             .scan_chunked_length = 32 * kKilobyte,
             .sort_divided_size = 64 * kKilobyte,
             .sort_bucket_bits = 7,
             .sort_nanoseconds = 1,
             .sort_byte_nanoseconds = 2,
             .vector_sort_byte_nanoseconds = 0.5,
             .rank_nanoseconds = 0.2,
             .network_nanoseconds = 1.5,
             .network_moved_nanoseconds = 0.5,
             .gather_nanoseconds = 2,
             .merge_base_nanoseconds = 2,
             .merge_level_nanoseconds = 1.5,
             .selection_nanoseconds = 0.2,
             .selected_nanoseconds = 20,
             .selection_size = 1024},
    .solver = {.lane_elements = 640,
               .parallel_elements = 40000,
               .lane_products_per_nanosecond = 8,
               .row_products_per_nanosecond = 30},
    // A jump that is foretold wrongly costs some five nanoseconds, and so does one scalar function such as sine; two of
    // them are worth the jump.
    .branches = {.selected_elements = 1000, .function_elements = 512},
    .rates = {.function_cycles = 12, .memory_cores = 3},
};

// Without what was measured of Zen 5 alone. On the Intel server a vector times 4096 by 4096 takes 1.2 times as long
// where it is made a sum of products.
constexpr CpuTuning MakeOlder() {
  CpuTuning row = kWide;
  row.kernels.ahead_bytes = 0;
  row.kernels.function_registers = 1;
  row.products.vector_product_bytes = row.products.row_vector_product_bytes = std::numeric_limits<int64_t>::max();
  row.products.sharing_rows = 0;
  row.products.asking_rows = 1;
  row.products.packed_lhs_columns = 0;
  return row;
}

constexpr CpuTuning MakeHalved() {
  CpuTuning row = MakeOlder();
  row.name = "zen4";
  row.description = "vectors of 64 bytes that are computed in halves: a Zen 4 server, two cores, 1 MB of L2 cache each";
  row.fourier.half_vector = 0.8;
  row.products.products_per_cycle = 1;
  row.products.loads_per_cycle = 1;
  row.products.lane_products_per_nanosecond = 3.6;
  // `gemm_bench f32 2048 2048 2048 nn 1`: 91 to 95 instead of 81 to 86 GFLOP/s, of 115.
  row.products.panel_part = row.products.lying_panel_part = 2;
  // `gemm_bench f32 M N K nn 2`: 64 by 4096 by 4096 198 instead of 186 GFLOP/s, 128 by 512 by 512 231 and 221, 256 by
  // 512 by 512 232 and 226; of 512 rows 211 instead of 213.
  row.products.sharing_rows = 300;
  // `gemm_bench f32 M N K tn 1`: 33 by 1500 by 1500 take 1.42 ms instead of 2.65, 1500 by 33 by 1500 2.07 and 2.88,
  // 4096 by 512 by 1024 41 and 45, 1500 each 64.7 and 69; powers of two as long as before, 1024 each 1.02 times.
  row.products.packed_lhs_columns = std::numeric_limits<int64_t>::max();
  return row;
}

constexpr CpuTuning MakeIntel() {
  CpuTuning row = MakeOlder();
  row.name = "intel";
  row.description = "vectors of 64 bytes: an Emerald Rapids server, two cores, 2 MB of L2 cache each";
  // Three megabytes added up take one thread 200 to 230 microseconds, and 14 to 22 once each has its part in its cache.
  row.threads.far_bytes_per_nanosecond = 15;
  // Of sixteen CPUs every two are 75 ns apart, and a worker begins after 400 though it is no farther: sharing_bench, a
  // stencil of 6.5 microseconds takes two threads 5.7, one of 14 takes them 10, one of 24 16.
  row.threads.share_far_nanoseconds = 6000;
  // Rows of an rhs that is read in place lie farther apart than a panel's, and share sets: `gemm_bench f64 M 128 1500
  // nn 1` takes 0.74 of the time for 1500 rows, 0.88 for 128, f32 0.94 for 512 and for 128 rows of 256 columns.
  row.products.placed_part = 0.25;
  // The last cache is as slow as other machines' memory (Granite Rapids, 100 ns and 30 GB/s a core): `kiln run` of
  // maxima and minima of the columns of 4096 by 1024 takes 0.83 of the time, means and variances of its rows 0.83,
  // `gemm_bench f32 32 768 3072 nn 1` 0.49, 1500 by 8 by 1500 0.82, s8 8 by 4096 by 1024 0.76. bf16 32 by 1024 by 4096
  // takes two threads 1.16 times as long; with 2 MB 768 by 768, which two threads' caches hold, would take 1.5 times as
  // long.
  row.products.far_bytes = 4 * kMegabyte;
  // `gemm_bench f32 M N K nn 1` with tiles of 14 rows instead of 8: 0.94 of the time for 128, 512, 512 and 256 each.
  row.products.l2_load_cycles = 0.5;
  row.products.l3_load_cycles = 0.8;
  // Rows a page apart share a set of the L1 cache: `gemm_bench f32 M 1024 K` with M of 128 and 256 and K of 1024 and
  // 4096 takes 0.92 of the time where rhs is packed.
  row.products.placed_rows = 96;
  // One pair every second cycle, where a cycle has two products of f32: 1024 by 1024 by 1024 take 12.4 ms in pairs and
  // 7 widened.
  row.products.multiplies_brain_pairs = false;
  // `kiln run --repeat` of 1, 2, 4, 8, 16 and 32 rows times 4096 by 4096 f32: 0.70, 0.64, 0.65, 0.67, 0.75 and 0.87 of
  // the time with asking; by what lies along the rows 0.96, 0.90, 0.92, 1, 1.04 and 1.08.
  row.products.asks_for_streams = false;
  row.products.asking_rows = 8;
  // A vector whose results are subnormal, or underflow to zero, takes 45 times as long, others 0.7 to 0.95 of the time.
  row.kernels.scales_to_subnormals = false;
  // Four million tangents take 0.86 of the time that one register at a time takes, sines 0.94.
  row.kernels.function_registers = 2;
  // Maxima of 4096 rows of 4096 take 0.92 of the time, sums 0.97.
  row.kernels.ahead_bytes = 8 * kKilobyte;
  return row;
}

constexpr CpuTuning MakeNarrow() {
  CpuTuning row = MakeOlder();
  row.name = "avx2";
  row.description = "vectors of 32 bytes or less: a Zen 3 server, two cores, 512 kB of L2 cache each";
  // Four million of softplus take 0.76 of the time that one register at a time takes, tanh 0.88, log1p 1.08 (Zen 3).
  row.kernels.function_registers = 2;
  row.fusion.elements_per_nanosecond = 17;  // fusion_costs_bench; all else there is as above
  // `kiln run --repeat` of sums and maxima of rows with one thread and with two: 64 MB take 0.6 and 0.75 of the time of
  // one row at a time, 16 MB 0.45 and 0.6, 8 MB 0.8 and 1; neighbouring rows gain half as much.
  // Asking for the next rows while rows are in the caches: softmax of 4096 rows of 1024 takes 0.65 of the time, of 64
  // rows of 50257 0.89, cross entropy over as many classes 0.78, logsumexp 0.62, a layer norm 0.75, an RMS norm 0.9.
  row.kernels.streams = 4;
  // A tile of two vectors takes one line of each row of rhs, which then is a page's only one: `gemm_bench f32 M N K`
  // with M of 24 to 300 and N of 1024 and 4096 takes 1.2 to 1.45 times as long without packing.
  row.products.placed_rows = 24;
  // Packing rows of a kilobyte or 1.5 as well: 32, 256, 784 takes 0.57 of the time, 64, 384, 784 0.68, 64, 256, 100
  // 0.57; rows of 1200 and 1792 bytes, which share no sets, take up to 1.28 times as long for 24 and 32 of lhs.
  row.products.sharing_row_bytes = kKilobyte;
  // Tiles of 6 by 2 instead of 4 by 2 or 4 by 3: 32, 480, 512 takes 0.78 of the time, 64, 300, 256 0.79, 16, 448, 256
  // 0.76; of 8 by 1 instead of 4 by 2, 8, 128, 256 takes twice as long.
  row.products.broadcasts_per_cycle = 1;
  row.products.l2_load_cycles = 0.75;
  row.products.l3_load_cycles = 1;
  // `gemm_bench f32 M N 512 nn 1`: with rows of 100 to 300 columns packing takes 0.75 to 0.95 of the time for 512 and
  // 128 rows, and 1.18 for 48; with 64 columns it gains nothing.
  row.products.close_rows = 96;
  row.products.close_row_bytes = 384;
  // `gemm_bench f32 M N K nn 1` of 99 GFLOP/s, the best of five in turns: 2048, 2048, 2048 87 instead of 72; 128, 3072,
  // 768 79 instead of 55; 512, 512, 4096 88 instead of 83; 1024, 1024, 1024 90 instead of 87.
  row.products.panel_part = 2;
  row.products.block_caches = 2;
  // `gemm_bench f32 M N K nn 1` and with two threads: 128, 4096, 1024 1.07 and 1.09 of the speed without, 128, 3072,
  // 768 1.01 to 1.05, cubes of 256, 512 and 1024 the same; 2, 4 and 16 rows do as well.
  row.products.pack_ahead_rows = 8;
  // `gemm_bench f32 M N K tn` with packing, with one thread: 1500, 33, 128 take 1.76 of the time without, 1500, 64,
  // 1500 1.05, 512, 100, 512 0.92, 128, 128, 1000 0.76, 1500, 128, 512 0.91; with little between steps 128, 128, 512
  // takes 1.03, with two threads 1.1, 128, 256, 512 0.98 and 1.04.
  row.products.packed_lhs_columns = 96;
  row.products.packed_lhs_reach = 128 * kKilobyte;
  // Seven times more of 1024 by 1024 packed for 1024, 1024, 1024 take 1.3 ms of lhs and 2.6 of rhs, all in all 24.2.
  row.products.block_lhs_pack_work = 10;
  row.products.block_pack_work = 18;
  // With two threads 144, 64, 16384 takes 3.7 ms where they share rows of lhs, and 5.5 where they share columns.
  row.products.block_lying_lhs_work = 20;
  // `kiln run --repeat --threads 1` of a sort: rows of 64 to 1024 keys of 32 bits take 3.5 to 6 ns per key, of 64 bits
  // 5 to 13.
  row.rows.vector_sort_byte_nanoseconds = 1.2;
  // Eight lanes take fewer steps: of c64 rows of 12 to 1000, those of 32 to 60, 100, 243 and 343 take 1.1 to 1.5 times
  // as long with the other row's estimate, none is slower (`kiln run --repeat` of one FFT).
  row.fourier.transpose_cycles = 8;
  // `kiln run --repeat` with one and two threads: a vector times 4096 by 4096 takes 0.81 and 0.74 of the time, by 11008
  // 0.61 and 0.64; 16 MB take 1.15 to 1.3 and 0.62 to 0.9, and what lies along the vector 1.38 and 1.06.
  row.products.vector_product_bytes = 32 * kMegabyte;
  // 4096 by 4096 times one, two, four and eight vectors with asking: 1.3, 1.03, 0.95 and 0.9 of the time without.
  row.products.asking_rows = 4;
  // `kiln run --repeat --threads 1` of triangular-solve: 4000 systems of 8 by 8 with 8 right-hand sides take 310 us
  // instead of 107.
  row.solver.lane_products_per_nanosecond = 4;
  return row;
}

constexpr CpuTuning kRows[] = {kWide, MakeHalved(), MakeIntel(), MakeNarrow()};

constinit std::atomic<const CpuTuning*> row_in_use{nullptr};

const CpuTuning& RowOfHost() {
  if (!HasAvx512()) return kRows[3];
  return HalvesVectors() ? kRows[1] : IsIntel() ? kRows[2] : kRows[0];
}

}  // namespace

absl::Span<const CpuTuning> CpuTunings() { return kRows; }

const CpuTuning& Tuning() {
  const CpuTuning* row = row_in_use.load(std::memory_order_acquire);
  return row != nullptr ? *row : RowOfHost();
}

bool UseCpuTuning(absl::string_view name) {
  for (const CpuTuning& row : kRows) {
    if (name != row.name) continue;
    row_in_use.store(&row, std::memory_order_release);
    return true;
  }
  return false;
}

}  // namespace kiln
