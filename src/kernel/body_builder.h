// Builds the body of one kernel: values of instructions at symbolic indices, placed in the blocks they depend on.
#ifndef KILN_KERNEL_BODY_BUILDER_H_
#define KILN_KERNEL_BODY_BUILDER_H_

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/hlo/instruction.h"
#include "src/kernel/kernel.h"

namespace kiln::kernel {

using Index = std::vector<IndexExpr>;

// What gather and scatter call the dimensions of windows and of what the windows are in.
struct WindowDimensions {
  const hlo::DimensionVector& window;            // of a result or updates: along a window
  const hlo::DimensionVector& left_out;          // of the operand: of size 1 in a window
  const hlo::DimensionVector& batching;          // of the operand: found by the batch index, at
  const hlo::DimensionVector& indices_batching;  // these dimensions of the indices
  int64_t index_vector = 0;
};

// Where element `index` of a gather's result (a scatter's updates) lies in the operand of this rank if its window
// begins at 0, its index among the windows, and which dimension of the result each of the operand's is (-1: none).
struct WindowPlace {
  Index at, batch;
  std::vector<int64_t> dimensions;
};
WindowPlace PlaceInWindow(const WindowDimensions& names, const Index& index, int64_t rank);

// One function per op family says which elements of its operands an element of its result needs; composing them gives
// the body of any fusion. Values are memoized by instruction and index, so that what is shared is computed once.
class BodyBuilder {
 public:
  explicit BodyBuilder(Kernel* kernel) : kernel_(*kernel) {}

  // `instruction` is read from parameter number `parameter` of the kernel.
  void BindInput(const hlo::Instruction* instruction, int parameter) { inputs_[instruction] = parameter; }

  // `instruction` is computed elsewhere: its element at the open nest's own indices is the kernel's external value.
  // Call it inside the nest.
  void BindExternal(const hlo::Instruction* instruction, const Index& index);

  // Opens a nest with one loop per dimension and returns its loop variables. The first `parallel` are so in any case.
  absl::StatusOr<Index> BeginNest(absl::Span<const int64_t> extents, LoopKind kind, int parallel = 0);
  void EndNest();

  // Opens a stage of the nest: loops of these extents, run before what stands behind it in `outer_loops`, that store to
  // local arrays. Returns its variables.
  absl::StatusOr<Index> BeginStage(absl::Span<const int64_t> extents);
  void EndStage(uint64_t outer_loops);

  // What a stage keeps of an instruction: its element `index` is at index - origin, dimensions `left_out` aside, of the
  // local array `parameter`, and is another one in each iteration of `loops`.
  struct Kept {
    int parameter = -1;
    Index origin;
    std::vector<bool> left_out;
    uint64_t loops = 0;
  };
  const Kept& BindKept(const hlo::Instruction* instruction, Kept kept) { return kept_[instruction] = std::move(kept); }
  int AddLocal(hlo::PrimitiveType type, hlo::DimensionVector dimensions);

  // Element `index` of leaf `leaf` of `instruction`.
  absl::StatusOr<ValueId> Emit(const hlo::Instruction* instruction, const Index& index, int64_t leaf = 0);

  // The same, where `guard` holds (kNoValue: always); its loads are guarded by that alone.
  absl::StatusOr<ValueId> EmitGuarded(ValueId guard, const hlo::Instruction* instruction, const Index& index);

  void AddStore(int parameter, const Index& index, ValueId value, ValueId predicate = kNoValue);

  // Conditions on index expressions and on `also`; kNoValue when always true. `*never` is set when one cannot hold.
  ValueId AddCondition(std::vector<Condition> conditions, ValueId also, bool* never);
  // The scalar integer `value` as an index expression in `range`; values outside are clamped when `clamp`.
  IndexExpr ToIndex(ValueId value, IndexRange range, bool clamp);
  // Component `component` of where window `batch` begins.
  absl::StatusOr<ValueId> EmitStart(const hlo::Instruction* indices, const Index& batch, int64_t index_vector,
                                    size_t component);
  // Whether the predicate says that `expr` is zero.
  bool Implies(ValueId predicate, const IndexExpr& expr) const;
  // `offset` as it is where the predicate holds: of what it says to be a multiple of d no quotient by d is taken, so
  // that elements apart are loaded from where they go to.
  IndexExpr WhereHolds(ValueId predicate, IndexExpr offset);
  ValueId AddLoad(int parameter, const Index& index, ValueId predicate);
  ValueId AddElementwise(hlo::Opcode opcode, hlo::PrimitiveType type, std::vector<ValueId> operands,
                         const hlo::Instruction* instruction = nullptr);
  ValueId AddConstant(const hlo::Literal& literal, int64_t element);
  // The root of a scalar computation over values; its instructions must be elementwise or constants.
  absl::StatusOr<std::vector<ValueId>> Inline(const hlo::Computation& computation, absl::Span<const ValueId> arguments);

  // `value` as a number of this type.
  ValueId Converted(ValueId value, hlo::PrimitiveType type);

 private:
  struct OpenBlock {
    Block* block;
    uint64_t loops;
    int reduce = -1;  // whose block it is
  };

  absl::StatusOr<ValueId> EmitUncached(const hlo::Instruction* instruction, const Index& index, int64_t leaf);
  absl::StatusOr<ValueId> EmitElementwise(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitKept(const Kept& kept, const Index& index);
  // Of floats that are loaded from a table, each of which has one that divisions can use: loaded from another.
  ValueId ReciprocalOf(ValueId divisor);
  // The parameter that is `literal`, which the kernel brings along.
  int AddTable(const hlo::Literal& literal);
  absl::StatusOr<ValueId> EmitConstant(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitPad(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitConcatenate(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitBitcastConvert(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitDynamicSlice(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitDynamicUpdateSlice(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitGather(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitMap(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitReduce(const hlo::Instruction* instruction, const Index& index, int64_t leaf);
  // Whether a window is small and goes along rows that are loaded: with an operation for each of its elements, what of
  // it lies in the padding is known inside of a row (lower_interior.cc).
  bool IsWrittenOut(const hlo::Instruction& reduce_window) const;
  absl::StatusOr<ValueId> EmitWrittenOut(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitDot(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitConvolution(const hlo::Instruction* instruction, const Index& index);

  // `inside` (kNoValue: true) and what guards loads now.
  ValueId Guard(ValueId inside);
  // The element at `position` along a dimension of `size` elements that lie `dilation` apart, with the conditions under
  // which there is one.
  IndexExpr Undilate(const IndexExpr& position, int64_t size, int64_t dilation, std::vector<Condition>* conditions);

  // Opens the block of a new reduce over loops of these extents; returns the loop variables.
  absl::StatusOr<Index> BeginReduce(absl::Span<const int64_t> extents);
  // Closes the innermost one. Results get the types of `inits`. Either of the ways to combine; where `inside` does not
  // hold the elements change nothing.
  std::vector<ValueId> EndReduce(std::vector<ValueId> inits, std::vector<ValueId> elements,
                                 const hlo::Computation* combiner, std::optional<hlo::Opcode> combine_opcode,
                                 ValueId inside);
  // What a sum of products begins with that becomes an element of `type`.
  ValueId AddZeroOfSum(hlo::PrimitiveType type);
  // Closes the innermost reduce as such a sum: of a * b where `inside` (kNoValue: always) holds.
  ValueId EndSumOfProducts(ValueId zero, ValueId a, ValueId b, ValueId inside, hlo::PrimitiveType type);

  // New loops of these extents, numbers in `loops`; returns their variables.
  absl::StatusOr<Index> NewLoops(absl::Span<const int64_t> extents, LoopKind kind, std::vector<int>* loops);
  // The outermost open block inside these loops.
  Block* BlockOf(uint64_t loops);
  ValueId AddOp(Op op);
  // Local arrays, the last parameters, from number `first` on make room for one.
  void MoveLocals(int first);

  Kernel& kernel_;
  absl::flat_hash_map<const hlo::Instruction*, int> inputs_;
  absl::flat_hash_map<const hlo::Instruction*, Kept> kept_;
  const hlo::Instruction* external_ = nullptr;
  Index external_index_;
  std::vector<OpenBlock> open_;
  ValueId predicate_ = kNoValue;  // guards every load emitted now
  int depth_ = 0;
  // With the leaf, and with what guards loads. A reduce adds all its leaves at once.
  using Key = std::tuple<const hlo::Instruction*, int64_t, ValueId, Index>;
  absl::flat_hash_map<Key, ValueId> memo_;
  absl::flat_hash_map<std::tuple<ValueId, int64_t, int64_t, bool>, ValueId> symbols_;
};

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_BODY_BUILDER_H_
