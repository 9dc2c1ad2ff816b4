// The kernel language: loop nests over affine index maps with scalar bodies. A fusion becomes one kernel; a target
// schedules it (schedule.h) and lowers it to LLVM IR (lower_nest.h).
//
//   kernel softmax_row (p0: f32[8,128]) -> (p1: f32[8])
//     nest parallel i0 in 8
//       reduce i1 in 128 -> v2 = maximum from v0
//         v1 = load p0[128*i0 + i1]
//       store p1[i0] = v2
#ifndef KILN_KERNEL_KERNEL_H_
#define KILN_KERNEL_KERNEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/hlo/computation.h"
#include "src/hlo/instruction.h"
#include "src/hlo/literal.h"
#include "src/kernel/index_expr.h"

namespace kiln::kernel {

// A number of an op; ops are numbered over the whole kernel in order of definition.
using ValueId = int;
inline constexpr ValueId kNoValue = -1;

inline constexpr int kMaxLoops = 60;

enum class LoopKind : uint8_t {
  kParallel,  // iterations are independent and may run in any order, on many threads
  kSerial,    // iterations run in order: scatter, whose updates may meet in one element
  kReduce,    // iterations are combined by an associative and commutative computation
};

// Bit l for each loop l.
uint64_t SetOf(const std::vector<int>& loops);
// Puts loop `to` in the place of `from`, where the set has it.
void ReplaceLoop(int from, int to, uint64_t* set);

struct Loop {
  int64_t extent = 1;
  LoopKind kind = LoopKind::kParallel;
};

// low <= expr < high.
struct Condition {
  IndexExpr expr;
  int64_t low = 0;
  int64_t high = 0;
};

enum class OpKind : uint8_t {
  kLoad,         // parameters[parameter][offset], only where `predicate` holds (0 elsewhere)
  kConstant,     // element of `literal`
  kElementwise,  // `opcode` over operands; `instruction`, where given, has its attributes
  kIndex,        // `offset` as a value of `type` (iota)
  kCondition,    // pred: all of `conditions`, and operand 0 where there is one
  kToIndex,      // operand 0, an integer, as an index: clamped to `range` when `clamp`; only used through symbols
  kExternal,     // a value that whoever lowers the body supplies, at the nest's own indices: a matrix product's sum
  kKey,          // operand 0, a float, as an integer that `opcode`, a maximum or minimum, orders like it
  kOfKey,        // the float of such an integer
  kReduced,      // result number `offset.constant` of the reduce `reduce`
};

struct Op {
  OpKind kind;
  hlo::PrimitiveType type = hlo::PrimitiveType::kInvalid;
  uint64_t loops = 0;  // bit l: differs between iterations of loop l
  std::vector<ValueId> operands;
  hlo::Opcode opcode = hlo::Opcode::kConstant;
  const hlo::Instruction* instruction = nullptr;
  int parameter = -1;
  IndexExpr offset;
  ValueId predicate = kNoValue;
  hlo::Literal literal;
  int64_t literal_index = 0;
  std::vector<Condition> conditions;
  IndexRange range;
  bool clamp = false;
  int reduce = -1;
};

// Writes `value` to parameters[parameter][offset] where `predicate` holds.
struct Store {
  int parameter = 0;
  IndexExpr offset;
  ValueId value = kNoValue;
  ValueId predicate = kNoValue;
};

struct Block;

// results = inits combined, by `combiner`, with `elements` over all iterations of `loops` (outermost first). Without
// results it is a stage, whose block stores to local arrays.
struct Reduce {
  std::vector<int> loops;
  std::vector<ValueId> inits;
  std::vector<ValueId> elements;
  // Iterations where it does not hold take no part.
  ValueId predicate = kNoValue;
  // A condition; iterations where it does not hold change nothing, so that loops may leave them out.
  ValueId inside = kNoValue;
  std::vector<ValueId> results;
  // Scalar computation: accumulators, then elements, to new accumulators. Null: of each element its binary op.
  const hlo::Computation* combiner = nullptr;
  std::vector<hlo::Opcode> combine_opcodes;
  // Which other orders of the iterations than the loops' own give the same results.
  enum class Order : uint8_t {
    kAny,
    kByIndex,  // any in which the second accumulator tells which of two partial results comes first
    kOwn,
  };
  Order order = Order::kAny;
  int64_t rows = 1;           // side by side in it (rows_together.h)
  bool one_register = false;  // of lanes: it runs so seldom that more take longer to compile than they gain
  uint64_t outer_loops = 0;   // loops outside this reduce that its block depends on
  std::unique_ptr<Block> block;
};

// Ops, reduces and stores in order. An op stands in the outermost block whose loops it depends on.
struct Block {
  enum class Kind : uint8_t { kOp, kReduce, kStore };
  struct Statement {
    Kind kind;
    int index;  // ValueId, or index into the kernel's reduces or stores
  };
  std::vector<Statement> statements;
};

// One loop nest. All its loops but those of reduces are listed outermost first.
struct Nest {
  std::vector<int> loops;
  // The last of `loops`, or -1: the one before it becomes vector lanes, and this one runs inside (narrow_rows.h).
  int repeat_loop = -1;
  Block body;
};

// An array that the kernel reads or writes; dense, row-major.
struct Parameter {
  hlo::PrimitiveType type = hlo::PrimitiveType::kInvalid;
  hlo::DimensionVector dimensions;
  bool is_output = false;
  // Read and written (scatter, dynamic-update-slice): its loads and stores keep their order.
  bool is_updated = false;
  // Lives while the nest runs: what a stage of a row keeps for those behind it. Loops outside of its offsets that its
  // value depends on, and that run as lanes, give every lane elements of its own.
  bool is_local = false;
  // Values known at compile time: a table that the kernel brings along.
  std::optional<hlo::Literal> constant;

  int64_t element_count() const {
    int64_t count = 1;
    for (int64_t size : dimensions) count *= size;
    return count;
  }
};

// Inputs come first in `parameters`, then outputs, then constants, then local arrays. Borrows instructions and
// computations of the module it was built from.
struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Loop> loops;
  IndexTerms terms;
  std::vector<Op> ops;
  std::vector<Reduce> reduces;
  std::vector<Store> stores;
  // Run one after the other.
  std::vector<Nest> nests;
  // Subnormal numbers count as zeros (subnormals.h): the code runs where the processor takes them for that.
  bool flushes_subnormals = false;
  // Of its arrays only the rows are there that a call is for (cpu/row_chain.h): element 0 may not be.
  bool has_rows_alone = false;
  // So few that what is made of one is waited for (HasFewElements).
  bool has_few_elements = false;
};

// Calls `visit` for what a statement reads itself: of a reduce not what its block reads, of its result the result.
void ForEachOperand(const Kernel& kernel, const Block::Statement& statement, const std::function<void(ValueId)>& visit);

// Of one of `Reduce::combine_opcodes`: x combined with it is x, bit for bit.
hlo::Literal CombinerIdentity(hlo::Opcode opcode, hlo::PrimitiveType type);

// Takes ops out of blocks whose values nothing reads.
void RemoveUnread(Kernel* kernel);

std::string ToString(const Kernel& kernel);

// Merges adjacent parallel loops wherever every access allows it, so that elementwise work over any shape becomes one
// contiguous loop.
void CollapseLoops(Kernel* kernel);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_KERNEL_H_
