// Builds the body of one kernel: values of instructions at symbolic indices, placed in the blocks they depend on.
#ifndef KILN_KERNEL_BODY_BUILDER_H_
#define KILN_KERNEL_BODY_BUILDER_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/hlo/instruction.h"
#include "src/kernel/kernel.h"

namespace kiln::kernel {

using Index = std::vector<IndexExpr>;

// One function per op family says which elements of its operands an element of its result needs; composing them gives
// the body of any fusion. Values are memoized by instruction and index, so that what is shared is computed once.
class BodyBuilder {
 public:
  explicit BodyBuilder(Kernel* kernel) : kernel_(*kernel) {}

  // `instruction` is read from parameter number `parameter` of the kernel.
  void BindInput(const hlo::Instruction* instruction, int parameter) { inputs_[instruction] = parameter; }

  // `instruction` is computed elsewhere: its element at the open nest's own indices is the kernel's external value. Call it
  // inside the nest.
  void BindExternal(const hlo::Instruction* instruction, const Index& index);

  // Opens a nest with one loop per dimension and returns its loop variables.
  absl::StatusOr<Index> BeginNest(absl::Span<const int64_t> extents, LoopKind kind);
  void EndNest();

  // Element `index` of leaf `leaf` of `instruction`.
  absl::StatusOr<ValueId> Emit(const hlo::Instruction* instruction, const Index& index, int64_t leaf = 0);

  void AddStore(int parameter, const Index& index, ValueId value, ValueId predicate = kNoValue);

  // Conditions on index expressions and on `also`; kNoValue when always true. `*never` is set when one cannot hold.
  ValueId AddCondition(std::vector<Condition> conditions, ValueId also, bool* never);
  // The scalar integer `value` as an index expression in `range`; values outside are clamped when `clamp`.
  IndexExpr ToIndex(ValueId value, IndexRange range, bool clamp);
  ValueId AddLoad(int parameter, const Index& index, ValueId predicate);
  ValueId AddElementwise(hlo::Opcode opcode, hlo::PrimitiveType type, std::vector<ValueId> operands,
                         const hlo::Instruction* instruction = nullptr);
  ValueId AddConstant(const hlo::Literal& literal, int64_t element);
  // The root of a scalar computation over values; its instructions must be elementwise or constants.
  absl::StatusOr<std::vector<ValueId>> Inline(const hlo::Computation& computation, absl::Span<const ValueId> arguments);

  IndexTerms& terms() { return kernel_.terms; }
  Kernel& kernel() { return kernel_; }

 private:
  struct OpenBlock {
    Block* block;
    uint64_t loops;
  };

  absl::StatusOr<ValueId> EmitUncached(const hlo::Instruction* instruction, const Index& index, int64_t leaf);
  absl::StatusOr<ValueId> EmitElementwise(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitConstant(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitPad(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitConcatenate(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitBitcastConvert(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitDynamicSlice(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitDynamicUpdateSlice(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitGather(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitMap(const hlo::Instruction* instruction, const Index& index);
  static bool WidensExtreme(const hlo::Instruction* simple, hlo::PrimitiveType type);
  absl::StatusOr<ValueId> EmitReduce(const hlo::Instruction* instruction, const Index& index, int64_t leaf);
  absl::StatusOr<ValueId> EmitReduceWindow(const hlo::Instruction* instruction, const Index& index, int64_t leaf);
  absl::StatusOr<ValueId> EmitDot(const hlo::Instruction* instruction, const Index& index);
  absl::StatusOr<ValueId> EmitConvolution(const hlo::Instruction* instruction, const Index& index);

  // Emits `instruction` at `index` where `predicate` holds; its loads are guarded by it.
  absl::StatusOr<ValueId> EmitUnder(ValueId predicate, const hlo::Instruction* instruction, const Index& index);

  // Opens the block of a new reduce over loops of these extents; returns its number and the loop variables.
  absl::StatusOr<int> BeginReduce(absl::Span<const int64_t> extents, Index* variables);
  // Closes it. Results get the types of `inits`.
  absl::StatusOr<std::vector<ValueId>> EndReduce(int reduce, std::vector<ValueId> inits, std::vector<ValueId> elements,
                                                 const hlo::Computation* combiner, hlo::Opcode combine_opcode);

  absl::StatusOr<int> NewLoop(int64_t extent, LoopKind kind);
  ValueId AddOp(Op op);

  Kernel& kernel_;
  absl::flat_hash_map<const hlo::Instruction*, int> inputs_;
  const hlo::Instruction* external_ = nullptr;
  Index external_index_;
  std::vector<OpenBlock> open_;
  std::vector<std::unique_ptr<Block>> reduce_blocks_;
  ValueId predicate_ = kNoValue;  // guards every load emitted now
  int depth_ = 0;
  struct Key {
    const hlo::Instruction* instruction;
    int64_t leaf;
    ValueId predicate;
    Index index;
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.instruction, k.leaf, k.predicate, k.index);
    }
  };
  absl::flat_hash_map<Key, ValueId> memo_;
  absl::flat_hash_map<std::tuple<ValueId, int64_t, int64_t, bool>, ValueId> symbols_;
  // Reduces already made, so that the leaves of a variadic one share its loop.
  absl::flat_hash_map<Key, std::vector<ValueId>> reduce_memo_;
};

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_BODY_BUILDER_H_
