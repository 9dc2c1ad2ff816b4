// How a nest runs on a target: loop order, the loop that becomes vector lanes, and what is divided over threads. A
// schedule is data apart from the kernel: the cost model writes it, `kiln opt --stage=schedule` prints it.
#ifndef KILN_KERNEL_SCHEDULE_H_
#define KILN_KERNEL_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/cpu_tuning.h"
#include "src/kernel/kernel.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::kernel {

struct TargetInfo {
  Target target = Target::kCpu;
  int vector_bytes = 64;  // width of a vector register
  int vector_registers = 32;
  // Outputs of at least this size bypass the cache; 0: never.
  int64_t streaming_bytes = Tuning().kernels.streaming_bytes;
  int64_t streamed_bytes = Tuning().kernels.streamed_bytes;
  // Iterations of the vector loop in a block, if they are short; 0: as the tuning says.
  int64_t block_elements = 0;
  // Rows may go through tiles, so that lanes have one each.
  bool has_row_tiles = true;
};

// The innermost loop of a reduce as vector lanes, each lane with its own accumulator.
struct ReduceSchedule {
  std::vector<int> order;  // the reduce's loops, outermost first
  int vector_loop = -1;    // the last of `order`, or -1
  int lanes = 1;
  // The loops, flattened, are divided over the threads of a group (thread_mapping.h), which then combine what they
  // have.
  bool over_group = false;
};

// Loads that run along another loop than the stores go through square tiles, so that both sides touch consecutive
// elements: in memory that a block of threads shares, or in registers that are transposed. The two loops are the last
// of the order.
struct TileSchedule {
  int store_loop = -1;  // -1: no tiles
  int load_loop = -1;
  int size = 32;               // iterations of either loop in a tile; a row of threads, or lanes
  int together = 1;            // tiles along either loop that a CPU's task has
  std::vector<ValueId> loads;  // those that pass through the tile
};

// The tiles for a nest whose stores all run along `tile.store_loop` and that has the loops `order`: sets the rest of
// `tile` but its size. Both loops have at least `min_extent` iterations; a tile's elements take `max_bytes` at most,
// each at most `max_width`. False where no load gains by it.
bool FindTile(const Kernel& kernel, const Nest& nest, const std::vector<int>& order, int64_t min_extent, int max_width,
              int64_t max_bytes, TileSchedule* tile);

// How many of its tiles along either loop a task has: some neighbouring cache lines of every row, and more of few rows
// that nothing is done to but to move them.
int TilesTogether(const Kernel& kernel, const TileSchedule& tile, bool only_moves);

// The loops of `nest` with those of its tiles last. The others go along what is read where a tile writes longer runs
// than it reads: processors ask ahead of what they read.
std::vector<int> TileOrder(const Kernel& kernel, const Nest& nest, const TileSchedule& tile);

// Rows of an array that the lanes of a vector have one each of: what they read or write of it goes through a local
// array, in which the elements of one place in the rows lie side by side. They are brought there, or from there to the
// array, by shuffles of pieces of rows. Behind the vector loop only loops over places in a row are in its offsets.
struct RowTile {
  int parameter = -1;
  IndexExpr first;             // of a row's elements
  int64_t pitch = 0;           // from the row of a lane to that of the next
  int64_t size = 0;            // elements of a row
  std::vector<ValueId> loads;  // or
  int store = -1;              // the only one to the array
  // Only short loops of reduces read it, which are unrolled, so that its places are registers.
  bool is_unrolled = false;

  // Elements of a row that are moved together, so that as many rows are a square; 1: they are picked one by one.
  int PieceOf(int element_bytes, int lanes) const;
};

// Tiles for what the lanes of `vector_loop` read and write in rows; `outside`: loops around it.
std::vector<RowTile> FindRowTiles(const Kernel& kernel, const Nest& nest, int vector_loop, int lanes, uint64_t outside);

struct NestSchedule {
  std::vector<int> order;  // the nest's loops, outermost first
  // -1, or the last of those of `order` that as many reduces depend on: behind it are loops that need their results.
  int vector_loop = -1;
  int lanes = 1;
  // The leading `task_loops` of `order` run as one loop over `task_count` iterations, a range of which is a task. When
  // the vector loop is among them (it is the only one then) an iteration stands for `block` elements.
  int task_loops = 0;
  int64_t task_count = 1;
  int64_t block = 1;
  bool streaming_stores = false;
  // Estimated time of one iteration of the task loop on one thread: with arrays in its nearest caches, and, to decide
  // how many threads share it, from where so much memory is.
  double task_nanoseconds = 0, far_task_nanoseconds = 0;
  // With a ThreadMapping: an iteration of the task loop belongs to a group of threads, which divide the loops behind
  // it.
  bool over_groups = false;
  TileSchedule tile;
  std::vector<RowTile> row_tiles;
  std::vector<ReduceSchedule> reduces;  // by number in the kernel; those of other nests are empty
};

// Memory that the local arrays of a nest take at most, all lanes together.
inline constexpr int64_t kMaxLocalBytes = int64_t{256} << 10;

NestSchedule ScheduleNest(const Kernel& kernel, const Nest& nest, const TargetInfo& target);

std::string ToString(const NestSchedule& schedule);

// The stores of a block of `nest` to one array that, with `loop` as lanes, fill all places between the elements of
// store `number`, in order of their places; empty where there are none such.
std::vector<int> InterleavedStores(const Kernel& kernel, const Nest& nest, int number, int loop, int lanes);

// How the value of `expr` moves with one step of `loop`: 0 when it does not depend on it, the step when it is linear in
// it over aligned runs of `lanes` iterations. False when neither.
bool LinearStride(const IndexTerms& terms, const IndexExpr& expr, int loop, int lanes, int64_t* stride);

// How many of the last loops of `order` run inside each vector of `vector_loop`, since the stores put what they make
// closer together than the vector's elements: as many as fill a line of the cache, that it is written at once, and by
// one thread.
int LoopsOfLines(const Kernel& kernel, const std::vector<const Store*>& stores, const std::vector<int>& order,
                 int vector_loop, int lanes);

// Which elements the lanes of an access have where a pattern of the lane alone tells: elements that are repeated, that
// come with gaps for others, or those of short rows. Lane l has the element shared + places[l], where `shared` is what
// the offset has without the pattern, at lane 0.
struct Spread {
  IndexExpr shared;
  IndexRange range;  // of it
  std::vector<int64_t> places;
  int64_t low = 0, high = 0;  // of the places
  // A quotient of the loop alone moves it, so that all lanes have elements wherever one has.
  bool is_quotient = false;
};
// False when `expr` over aligned runs of `lanes` iterations of `loop` is none, or when the elements of a run are not
// within two vectors.
bool IsSpread(const IndexTerms& terms, const IndexExpr& expr, int loop, int lanes, Spread* spread);

// A place that goes on at the other end of a row: the remainder `term`, which moves by `step` with each iteration, as
// the place does by `stride`; each is 1 or -1. Lanes are neighbours but where they come to an end.
struct Wrapped {
  int term = -1;
  int64_t step = 0, stride = 0;
};
// False when `expr` is no such place, or when `lanes` may come to more than one end.
bool IsWrapped(const IndexTerms& terms, const IndexExpr& expr, int loop, int lanes, Wrapped* wrapped);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_SCHEDULE_H_
