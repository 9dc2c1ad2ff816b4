// The emitter behind LowerNest: one nest, its loops, values and reductions.
#ifndef KILN_KERNEL_NEST_LOWERING_H_
#define KILN_KERNEL_NEST_LOWERING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "src/kernel/index_lowering.h"
#include "src/kernel/kernel.h"
#include "src/kernel/lower_nest.h"
#include "src/kernel/memory_access.h"
#include "src/kernel/scalar_emitter.h"
#include "src/kernel/schedule.h"
#include "src/kernel/thread_mapping.h"

namespace kiln::kernel {

// Emits one nest. Ops are emitted at the depth of the innermost loop they depend on; those that differ between
// the lanes of the current vector loop are vectors, the others stay scalars.
class NestLowering {
 public:
  NestLowering(llvm::IRBuilder<>* builder, const Kernel& kernel, const Nest& nest, const NestSchedule& schedule,
               const TargetInfo& target, absl::Span<llvm::Value* const> parameters, ThreadMapping* threads,
               absl::Span<const int64_t> rooms = {})
      : b_(*builder),
        kernel_(kernel),
        nest_(nest),
        schedule_(schedule),
        target_(target),
        parameters_(parameters.begin(), parameters.end()),
        rooms_(rooms.begin(), rooms.end()),
        threads_(threads),
        scalar_(builder, 1, target.target, kernel.flushes_subnormals, kernel.has_few_elements),
        index_(builder, kernel.terms),
        values_(kernel.ops.size()) {}

  absl::Status Run(llvm::Value* begin, llvm::Value* end);

  // The body once, at given iterations, instead of loops around it.
  absl::StatusOr<Value> RunOnce(absl::Span<llvm::Value* const> loops, int vector_loop, int lanes,
                                const Value& external);

  // What LowerBox says.
  absl::Status RunBox(absl::Span<const LoopRange> box, int lanes, bool aligned);

 private:
  using Innermost = std::function<absl::Status()>;
  using LoopBody = std::function<absl::Status(llvm::Value*)>;

  std::unique_ptr<ScalarEmitter> NewVector(int lanes) {
    return std::make_unique<ScalarEmitter>(&b_, lanes, target_.target, kernel_.flushes_subnormals,
                                           kernel_.has_few_elements);
  }

  // Neighbouring loops that run as one: those with first <= depth < last. Without a share all iterations are run.
  struct Segment {
    enum class Kind : uint8_t { kFlattened, kTiled };
    int first = 0;
    int last = 0;
    LoopShare share;
    Kind kind = Kind::kFlattened;
  };

  // The loops around a block, outermost first, and how they run.
  struct Loops {
    const std::vector<int>& order;
    absl::InlinedVector<Segment, 2> segments;
    int vector_loop = -1;
    int lanes = 1;
    bool are_unrolled = false;
  };

  // So many iterations of a loop, and what is done before and behind each such block. Of innermost blocks also what is
  // done behind iterations that are left when all blocks are.
  struct LoopBlock {
    int64_t size;
    std::function<void()> begin;
    std::function<absl::Status()> finish, finish_rest;
  };
  using Blocks = std::vector<LoopBlock>;  // innermost first

  // ---- Loops (lower_nest.cc) ----

  // for (i = first; i < limit; i += step) body(i); without the first test where there `is_some` iteration.
  absl::Status EmitLoop(llvm::Value* first, llvm::Value* limit, llvm::Value* step, const LoopBody& body,
                        bool is_some = false);

  // The same for loop `loop`, block by block where BlockSums says so. The iterations are `whole` where their number is
  // a multiple of the outermost block's size.
  absl::Status EmitBlocks(int loop, llvm::Value* first, llvm::Value* limit, llvm::Value* step, const LoopBody& body);
  absl::Status EmitBlocks(const Blocks& blocks, size_t levels, llvm::Value* first, llvm::Value* limit,
                          llvm::Value* step, const LoopBody& body, bool is_some, bool whole);
  Blocks BlocksOf(int loop) const;

  // The iterations of a loop: all, or those that BoundLoops leaves.
  std::pair<llvm::Value*, llvm::Value*> BoundsOf(int loop);

  absl::Status EmitIf(llvm::Value* condition, const Innermost& body);

  // The task loop, and behind it what the threads of a group divide.
  absl::InlinedVector<Segment, 2> NestSegments();

  // Depth of a set of loops: one past the innermost of them, 0 when it has none of them.
  int DepthOf(uint64_t set, const Loops& loops) const;

  int StatementDepth(const Block::Statement& statement, const Loops& loops) const;

  // Emits what stands at `depth` of `block`, then the loop below it.
  absl::Status LowerLevel(const Block& block, const Loops& loops, int depth, const Innermost& innermost);

  // Whether loop number `depth` has a body of some instructions that updates an array where indices say. These are
  // emitted several at a time: their loop would take as many.
  bool IsShortUpdate(const Block& block, const Loops& loops, int depth) const;
  absl::Status EmitUpdates(int64_t count, const LoopBody& body);

  // The parts of `number`, which counts through `extents`, outermost first.
  std::vector<llvm::Value*> TakeApart(llvm::Value* number, absl::Span<const int64_t> extents);

  // One loop over the iterations of the segment's loops, whose variables are taken apart inside. The vector loop may be
  // the last of them when its extent is a multiple of the lanes, or when it is the only one.
  absl::Status LowerFlattened(const Loops& loops, const Segment& segment,
                              const std::function<absl::Status(int)>& deeper);

  // ---- Tiles (lower_tile.cc) ----

  // A loop over this share of the tasks, up to `end` (null: all), of `span` by `span` iterations of the tiled loops;
  // `body` gets the numbers of the task along the load and the store loop.
  absl::Status ForEachTile(const LoopShare& share, llvm::Value* end, int64_t span,
                           const std::function<absl::Status(llvm::Value*, llvm::Value*)>& body);

  // Blocks of threads, rows of `size` of them, walk over square tiles. A tile is read with threads along the load loop,
  // then worked on with threads along the store loop.
  absl::Status LowerTiled(const Segment& segment, const std::function<absl::Status(int)>& deeper);

  // The same for one thread (lower_register_tile.cc): vectors along the load loop are transposed into vectors along the
  // store loop.
  absl::Status LowerRegisterTiles(const Segment& segment, const std::function<absl::Status(int)>& deeper);

  // The store of a nest that does nothing but transpose, and by how much what it writes lies apart; null for other
  // nests.
  const Store* TransposedStore(int64_t* pitch) const;
  // Calls what transposes the square with these numbers (square_transposition.h), with room for the places of its rows.
  absl::Status TransposeSquare(const Store& store, int64_t pitch, llvm::Value* rows_begin, llvm::Value* load_number,
                               llvm::Value* store_number);

  // The tile at these iterations; `whole`: none of it is beyond the loops' ends.
  absl::Status LowerRegisterTile(llvm::Value* load_base, llvm::Value* store_base, bool whole, const Innermost& body);

  // A load's tile: one plane per part of an element, or one of whole elements in registers' case.
  struct Staged {
    llvm::Type* plane_type = nullptr;
    std::vector<llvm::Value*> planes;
  };

  llvm::Value* TileElement(const Staged& staged, size_t part, llvm::Value* row, llvm::Value* column);

  Value LoadFromTile(const Op& op, const Staged& staged);

  // ---- Tiles of rows (lower_row_tiles.cc) ----

  struct PlacedRowTile {
    llvm::Type* element = nullptr;
    llvm::Value* places = nullptr;
    llvm::Value* rows = nullptr;  // in the array
    // Of a tile that is unrolled what a function fills instead where rows are fewer than lanes.
    llvm::Value* rest = nullptr;
  };

  // `body` between filling the tiles that are read and emptying those that are written, at the vector loop's iterations
  // from `base` on.
  absl::Status WithRowTiles(llvm::Value* base, const Innermost& body);

  // Fills or empties it; `rest`: rows from the first on, or null for as many as lanes at least.
  absl::Status MoveRowTile(const RowTile& tile, const PlacedRowTile& placed, llvm::Value* rest);

  // With shuffles that are compiled here.
  void FillUnrolled(const RowTile& tile, const PlacedRowTile& placed, int piece);

  // Whether the reduce reads a tile whose places are to be registers.
  bool ReadsUnrolledRowTile(const Reduce& reduce) const;

  llvm::Value* PlaceInRowTile(const RowTile& tile, const PlacedRowTile& placed, const IndexExpr& offset);

  // False where the access goes through no tile.
  bool LoadFromRowTile(ValueId id, Value* value);
  bool StoreToRowTile(int number);

  // ---- Vector loops (lower_nest.cc) ----

  // Runs `body` with iterations of `loop` as lanes.
  absl::Status InVector(int loop, int lanes, const Innermost& body);

  // Full vectors, then one masked vector for what is left.
  absl::Status LowerVectorLoop(int loop, int lanes, bool is_task_loop, const Innermost& body);

  absl::Status LowerTail(int64_t first, int64_t count, int lanes, const LoopBody& at);

  // ---- Interiors (lower_interior.cc) ----

  // An iteration of the vector loop: `body` where nothing is known of its conditions, or where all is, as it turns out.
  absl::Status LowerVectorBody(int loop, llvm::Value* variable, const Innermost& body);

  // The iterations, a multiple of the lanes, in which each condition on `loop` alone is true or false throughout; none
  // where they are too few to pay. All where conditions are on the loops around it.
  std::pair<int64_t, int64_t> FindInterior(int loop, int lanes) const;

  // Whether the condition depends on the iteration of this loop and on nothing else.
  bool IsOfLoop(const Condition& condition, int loop) const;

  // Whether it depends on loops around `loop` and on nothing else.
  bool IsOutside(const Condition& condition, int loop) const;

  // Whether it holds for more values of its expression than not.
  bool HoldsMostly(const Condition& condition) const;

  // Whether all such conditions of the nest's own ops are in this iteration what they mostly are; null where there are
  // none. These are usual then; a reduce may have others.
  llvm::Value* IsUsualOutside(int loop);
  bool IsUsual(const Condition& condition) const;

  enum class Truth : uint8_t { kUnknown, kFalse, kTrue };
  Truth KnownInside(const Condition& condition) const;

  // ---- Values (lower_body.cc) ----

  bool Varies(uint64_t loops) const { return vector_loop_ >= 0 && (loops >> vector_loop_ & 1) != 0; }

  // The value of an op as the current context needs it: a vector when `vector`, splat where it is uniform.
  Value Get(ValueId id, bool vector);

  llvm::Value* CombineMasks(llvm::Value* a, llvm::Value* b);

  // A mask of those of `lanes` lanes whose number is below `count`.
  llvm::Value* LanesBelow(llvm::Value* count, int lanes);

  absl::Status LowerStatement(const Block::Statement& statement);

  absl::StatusOr<Value> LowerOp(ValueId id);

  // A quotient of many vectors by one number: where that HasReciprocalNow(), which is found out once, by its
  // reciprocal.
  bool IsDividedByOne(const Op& op) const;
  absl::StatusOr<Value> DivideByOne(const Op& op);

  absl::StatusOr<Value> LowerToIndex(const Op& op, bool vector);

  // ---- Memory (lower_body.cc) ----

  // The vector loop occurs in no division or remainder.
  bool IsPlainSum(const IndexExpr& offset) const;

  // `of_lanes`: element `offset` of an array that holds one for each lane.
  Access AccessFor(const IndexExpr& offset, bool of_lanes = false);

  // A local array has an element for each lane in the place of one: what is stored there differs between them.
  bool HoldsLanes(int parameter) const;

  // Such an array, at an offset that leaves out the loop that runs as lanes.
  bool IsLocalOfLanes(int parameter, const IndexExpr& offset) const;

  // Bytes of a local array: whole vectors, as many as go side by side.
  int64_t RoomOfLocal(int parameter) const;
  // Where a parameter is; local arrays are allocated on first use.
  llvm::Value* ArrayOf(int parameter);
  // `base` of the array where `asked` holds, else where something can be read in its stead from element 0 on.
  llvm::Value* ArrayIfAsked(llvm::Value* asked, int parameter, llvm::Value* base);

  // Whether an access of the lanes that are left behind the last full vector may be one of all lanes: the others are in
  // the array's room, behind its end. Processors hand what a store writes to a load where neither has a mask.
  bool HasRoom(int parameter, const Access& access) const;
  // Whether a predicate picks out lanes by their place in a period alone: elements of a Spread are there for all lanes
  // or for none.
  bool HoldsForRuns(ValueId predicate) const;
  Value LowerLoad(ValueId id);
  // A load that goes round the ends of rows (IsWrapped); false when `op` is none.
  bool LowerWrapped(const Op& op, llvm::Value* base, Value* value);
  // Lets a strided load find its elements in the vectors that others load which begin beside it.
  void JoinNeighbours(const Op& op, Access* access);
  void AddPlainLoads(const Block& block);
  // Bytes from what the load reads to what it will with the next task, if it is the last of several that go over the same
  // rows of a large array: while they are in the caches the next ones come; 0: none.
  int64_t NextRows(const Op& op) const;
  // Asks for what a reduction along the lanes will load from memory some iterations on, or for the next task's rows.
  void AskAhead(const Op& op, llvm::Value* base, llvm::Value* offset);
  int64_t StretchOf(const Op& op) const;

  // A select between elements of two arrays that is the same for all lanes: of one array nothing is read. False where
  // it is none. (The loads of both are there already, and are dropped for want of a use.)
  bool LoadChosen(const Op& op, Value* value);

  // All threads of a group have the task's values, and no loop is left that they would divide.
  bool WrittenByOneOfGroup() const;

  absl::Status LowerStore(const Store& store);

  // Writes store `number` with others that it alternates with (InterleavedStores); false where there are none.
  bool LowerInterleaved(int number);

  // The multiple of bytes at which every full vector of the store begins, given that the array does: of a register, and
  // 32 at least; 0: they begin at others.
  int64_t StreamingAlignment(const Store& store) const;

  // ---- Reductions (lower_reduce.cc) ----

  absl::StatusOr<std::vector<Value>> Combine(const Reduce& reduce, ScalarEmitter* emitter,
                                             const std::vector<Value>& accumulators,
                                             const std::vector<Value>& elements);

  // The same for a reduce by index whose accumulators are of elements before: those that are as good stay.
  std::vector<Value> KeepBest(const Reduce& reduce, ScalarEmitter* emitter, const std::vector<Value>& accumulators,
                              const std::vector<Value>& elements);

  // The same for partial results of which a reduce by index finds out which come first, lane by lane.
  absl::StatusOr<std::vector<Value>> CombineParts(const Reduce& reduce, ScalarEmitter* emitter, std::vector<Value> low,
                                                  std::vector<Value> high);

  absl::Status LowerReduce(int number);

  // Divides a long sum (or product) of floats into blocks, so that its rounding errors grow less: the loop, among those
  // in `order`, and how many of its iterations are a block, a block of blocks, and so on. `lanes` iterations of
  // `vector_loop` are one.
  std::pair<int, std::vector<int64_t>> BlockSums(const Reduce& reduce, const std::vector<int>& order, int vector_loop,
                                                 int lanes);

  // Whether so many levels of sums, of `lanes` lanes each, want more registers than there are. All but the innermost
  // are arrays then, which take part a vector at a time.
  bool SumsExceedRegisters(const Reduce& reduce, int lanes, size_t levels) const;
  std::vector<Value> SumIdentities(const Reduce& reduce, ScalarEmitter* emitter) const;
  std::vector<Value> SumArrays(const std::vector<Value>& values);  // arrays on the stack that hold `values`
  std::vector<Value> LoadSumArrays(const ScalarEmitter& emitter, const std::vector<Value>& arrays);

  // to = to + from, by pieces of `lanes` lanes; `from` holds nothing then if it is to `start_anew`.
  absl::Status AddSumArrays(const Reduce& reduce, int lanes, const std::vector<Value>& from,
                            const std::vector<Value>& to, bool start_anew);

  // Makes those conditions of `reduce.inside` bounds of its loops that hold for a range of one loop's iterations, the
  // same for all lanes. `vector_loop` is the reduce's own one.
  void BoundLoops(const Reduce& reduce, int vector_loop);

  // ---- Lanes in pairs (lower_pairs.cc) ----

  // Whether a reduce with lanes of its own takes what it loads in pairs: bf16 alone, which is widened at once.
  bool TakesPairs(const Reduce& reduce, const ReduceSchedule& schedule) const;
  bool IsWidening(const Op& op) const;  // of bf16 to f32

  // A product of two bf16 in f32 is exact: adding it in one instruction rounds as two do. Both have to say that they
  // may.
  bool IsExactProduct(const Op& op) const;
  static void MayJoinSum(llvm::Value* value);
  static bool JoinsSum(llvm::Value* value);
  // bf16 as f32: first the even lanes, then the odd ones. A mask of lanes in that order.
  Value WidenPairs(const Value& pairs);
  llvm::Value* InPairs(llvm::Value* mask);

  // The accumulators of the group's threads; `has` (null: all do) tells whether this thread has any elements.
  absl::StatusOr<std::vector<Value>> CombineGroup(const Reduce& reduce, std::vector<Value> values, llvm::Value* has);

  // Lanes [first, first + count) of a vector.
  Value Lanes(const Value& value, int first, int count);

  // The key of an extreme whose bits are kept (ScalarEmitter::ExtremeBits) in so many lanes, in no more than a register
  // has, which it returns.
  int KeyOfBits(hlo::PrimitiveType type, bool is_max, int lanes, std::vector<Value>* values);

  // Halves the vectors until one lane is left.
  absl::StatusOr<std::vector<Value>> CombineLanes(const Reduce& reduce, std::vector<Value> values, int lanes);

  // A stack slot in the function's entry, which becomes a register.
  llvm::AllocaInst* Slot(llvm::Type* type, uint64_t alignment = 0);
  // Calls a function that is compiled with Kiln and returns nothing.
  void CallByName(absl::string_view name, absl::Span<llvm::Value* const> arguments);

  llvm::IRBuilder<>& b_;
  const Kernel& kernel_;
  const Nest& nest_;
  const NestSchedule& schedule_;
  const TargetInfo& target_;
  std::vector<llvm::Value*> parameters_;  // local arrays included
  const std::vector<int64_t> rooms_;      // bytes that a parameter's array has for itself, beyond its end as well
  ThreadMapping* const threads_;          // null: one thread runs the code
  ScalarEmitter scalar_;
  std::unique_ptr<ScalarEmitter> vector_;  // while inside a vector loop; from NewVector()
  int vector_loop_ = -1;
  llvm::Value* mask_ = nullptr;    // lanes inside the extent; null: all
  llvm::Value* active_ = nullptr;  // the thread's task is one of the nest; null: it always is
  llvm::Value* begin_ = nullptr;
  llvm::Value* end_ = nullptr;
  IndexLowering index_;
  std::vector<Value> values_;
  Value external_;
  // Conditions (their bits by kCondition op) that hold since loops run over `bounds_` only.
  struct Bound {
    IndexExpr rest;  // condition.low <= rest + coefficient * loop < condition.high
    int64_t coefficient, low, high;
  };
  absl::flat_hash_map<ValueId, uint64_t> enforced_;
  absl::flat_hash_map<int, std::vector<Bound>> bounds_;  // by loop
  absl::flat_hash_map<int, Blocks> blocks_;              // by loop
  absl::flat_hash_map<int, LoopRange> box_;              // by loop, in RunBox
  std::pair<int64_t, int64_t> interior_ = {0, 0};        // where the code is for this part of the vector loop alone,
  std::vector<const Condition*> usual_;                  // and these are what they mostly are
  bool has_stored_ = false;                              // by code that was emitted before
  bool in_pairs_ = false;                                // inside of a reduce that TakesPairs
  bool aligned_runs_ = true;                             // vectors begin at multiples of their lanes
  absl::flat_hash_map<ValueId, Staged> staged_;
  std::vector<ValueId> plain_loads_;      // without a predicate, of the nest; found when one is strided
  std::vector<PlacedRowTile> row_tiles_;  // as in the schedule, inside its vector loop
  llvm::Value* tile_row_ = nullptr;
  llvm::Value* tile_column_ = nullptr;
};

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_NEST_LOWERING_H_
