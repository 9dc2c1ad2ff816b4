// The evaluator's parts: one state per evaluation, one function per op family.
#ifndef KILN_HLO_EVALUATOR_INTERNAL_H_
#define KILN_HLO_EVALUATOR_INTERNAL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "src/hlo/evaluator.h"
#include "src/hlo/evaluator_kernel.h"

namespace kiln::hlo::evaluator {

// What one Evaluate call carries along. Not thread-safe.
class Evaluation {
 public:
  explicit Evaluation(const EvaluatorOptions& options);
  ~Evaluation();

  // The computation's value; `arguments` are consumed so that loop-carried arrays are updated in place.
  absl::StatusOr<Literal> Run(const Computation& computation, std::vector<Literal> arguments);
  // The instruction's value over the values of its operands, which are consumed and of the shapes that they declare.
  // Shape inference has accepted the instruction.
  absl::StatusOr<Literal> RunInstruction(const Instruction& instruction, std::vector<Literal> operands);

  // Checks what Run would check of the computation itself.
  absl::Status Prepare(const Computation& computation) { return PlanOf(computation).status(); }

  // Counts `operations` against the limit.
  absl::Status Charge(int64_t operations);
  // Charges the elements of `shape` and allocates zeros of it; refuses what is invalid or too large for memory.
  absl::StatusOr<Literal> Allocate(const Shape& shape);

  // The counter of rng and rng-get-and-update-state.
  uint64_t* random_state() { return &random_state_; }

 private:
  struct Plan;
  absl::StatusOr<const Plan*> PlanOf(const Computation& computation);
  absl::StatusOr<Literal> EvaluateOpcode(const Instruction& instruction, std::vector<Literal>& operands);

  EvaluatorOptions options_;
  int64_t operations_ = 0;
  int depth_ = 0;
  uint64_t random_state_ = 0;
  absl::flat_hash_map<const Computation*, std::unique_ptr<Plan>> plans_;
};

using Operands = std::vector<Literal>;

// One per family. Shape inference has accepted the instruction, and the values of the operands have their shapes.
absl::StatusOr<Literal> EvaluateElementwise(Evaluation& evaluation, const Instruction& instruction, Operands& operands);
absl::StatusOr<Literal> EvaluateMovement(Evaluation& evaluation, const Instruction& instruction, Operands& operands);
absl::StatusOr<Literal> EvaluateIndexed(Evaluation& evaluation, const Instruction& instruction, Operands& operands);
absl::StatusOr<Literal> EvaluateReduction(Evaluation& evaluation, const Instruction& instruction, Operands& operands);
absl::StatusOr<Literal> EvaluateSort(Evaluation& evaluation, const Instruction& instruction, Operands& operands);
absl::StatusOr<Literal> EvaluateScan(Evaluation& evaluation, const Instruction& instruction, Operands& operands);
absl::StatusOr<Literal> EvaluateTopK(Evaluation& evaluation, const Instruction& instruction, Operands& operands);
absl::StatusOr<Literal> EvaluateContraction(Evaluation& evaluation, const Instruction& instruction, Operands& operands);
absl::StatusOr<Literal> EvaluateConvolution(Evaluation& evaluation, const Instruction& instruction, Operands& operands);
absl::StatusOr<Literal> EvaluateLinearAlgebra(Evaluation& evaluation, const Instruction& instruction,
                                              Operands& operands);
absl::StatusOr<Literal> EvaluateFft(Evaluation& evaluation, const Instruction& instruction, Operands& operands);
absl::StatusOr<Literal> EvaluateBatchNorm(Evaluation& evaluation, const Instruction& instruction, Operands& operands);
absl::StatusOr<Literal> EvaluateRandom(Evaluation& evaluation, const Instruction& instruction, Operands& operands);
absl::StatusOr<Literal> EvaluateCommunication(Evaluation& evaluation, const Instruction& instruction,
                                              Operands& operands);

// (operand, result, context...): what asynchronous instructions start with.
absl::StatusOr<Literal> StartTuple(Evaluation& evaluation, const Instruction& instruction, const Literal& operand,
                                   const Literal& result);

// Calls `computation` on scalars many times: a straight line of elementwise ops runs over a few registers, anything
// else through Evaluation::Run. Scalars are elements in memory form.
class ScalarFunction {
 public:
  // `computation` takes and gives scalars, as shape inference holds of what applies it.
  static absl::StatusOr<std::unique_ptr<ScalarFunction>> Create(Evaluation& evaluation, const Computation& computation);

  // arguments[i] points to the value of parameter i; results[i] to room for the i-th result (one, or the tuple's).
  // Results may overlap arguments.
  absl::Status Call(absl::Span<const std::byte* const> arguments, absl::Span<std::byte* const> results);

  // The root is add, multiply, ... (any elementwise opcode) of the two parameters in either order.
  bool IsBinary(Opcode opcode) const;

 private:
  struct alignas(16) Register {
    std::byte bytes[16] = {};  // the widest element, c128
  };
  struct Step {
    KernelSpec kernel;
    int operands[3] = {0, 0, 0};
    int result = 0;
  };
  // A register, and how much of it is used.
  struct Place {
    int slot = 0;
    int width = 0;
  };
  ScalarFunction(Evaluation& evaluation, const Computation& computation)
      : evaluation_(evaluation), computation_(computation) {}
  bool Compile();

  Evaluation& evaluation_;
  const Computation& computation_;
  std::vector<Register> registers_;  // none: evaluated by Evaluation::Run
  std::vector<Step> steps_;
  std::vector<Place> parameters_, results_;
};

// INVALID_ARGUMENT naming the instruction unless `holds`.
inline absl::Status Require(const Instruction& instruction, bool holds, absl::string_view what) {
  if (holds) return absl::OkStatus();
  return InvalidArgument(instruction.Describe(), ": ", what);
}

// Row-major strides in elements.
DimensionVector StridesOf(absl::Span<const int64_t> dimensions);

inline int64_t OffsetOf(absl::Span<const int64_t> index, absl::Span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

// Visits the index space of `dimensions` in row-major order: `index` starts at zeros; false after the last one.
inline bool NextIndex(absl::Span<const int64_t> dimensions, DimensionVector* index) {
  for (int64_t d = static_cast<int64_t>(dimensions.size()) - 1; d >= 0; --d) {
    if (++(*index)[d] < dimensions[d]) return true;
    (*index)[d] = 0;
  }
  return false;
}

// The index of the operand that position `position` of the window at index `output` of the result falls on; -1 in padding
// and between dilated elements.
inline int64_t WindowPosition(const WindowDimension& window, int64_t size, int64_t output, int64_t position) {
  int64_t dilated = 0;
  // What overflows is far in the padding, which may be any number.
  if (__builtin_sub_overflow(output * window.stride, window.padding_low, &dilated)) return -1;
  if (__builtin_add_overflow(dilated, position * window.window_dilation, &dilated)) return -1;
  if (dilated < 0 || dilated % window.base_dilation != 0) return -1;
  const int64_t index = dilated / window.base_dilation;
  return index < size ? index : -1;
}

// Copies dst[sum(i_d * dst_stride_d)] = src[sum(i_d * src_stride_d)] over the index space; strides in elements of
// `width` bytes, may be 0 or negative. The pointers are those of index zero.
void CopyStrided(int width, absl::Span<const int64_t> dimensions, const std::byte* source,
                 absl::Span<const int64_t> source_strides, std::byte* destination,
                 absl::Span<const int64_t> destination_strides);

}  // namespace kiln::hlo::evaluator

#endif  // KILN_HLO_EVALUATOR_INTERNAL_H_
