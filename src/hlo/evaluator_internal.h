// The evaluator's parts: one state per evaluation, one function per op family.
#ifndef KILN_HLO_EVALUATOR_INTERNAL_H_
#define KILN_HLO_EVALUATOR_INTERNAL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "src/hlo/evaluator.h"

namespace kiln::hlo::evaluator {

// What one Evaluate call carries along. Not thread-safe.
class Evaluation {
 public:
  explicit Evaluation(const EvaluatorOptions& options);
  ~Evaluation();

  // The computation's value; `arguments` are consumed so that loop-carried arrays are updated in place.
  absl::StatusOr<Literal> Run(const Computation& computation, std::vector<Literal> arguments);
  // The instruction's value over the values of its operands, which are consumed.
  absl::StatusOr<Literal> RunInstruction(const Instruction& instruction, std::vector<Literal> operands);

  // Counts `operations` against the limit.
  absl::Status Charge(int64_t operations);
  // Charges the elements of `shape` and allocates zeros of it; refuses what is invalid or too large for memory.
  absl::StatusOr<Literal> Allocate(const Shape& shape);

  // The counter of rng and rng-get-and-update-state.
  uint64_t* random_state() { return &random_state_; }

 private:
  struct Plan;
  const Plan& PlanOf(const Computation& computation);
  absl::StatusOr<Literal> EvaluateOpcode(const Instruction& instruction, std::vector<Literal>& operands);

  EvaluatorOptions options_;
  int64_t operations_ = 0;
  int depth_ = 0;
  uint64_t random_state_ = 0;
  absl::flat_hash_map<const Computation*, std::unique_ptr<Plan>> plans_;
};

using Operands = std::vector<Literal>;

// One per family. Operand shapes have been compared with the instruction's.
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

// Calls `computation` on scalars many times: a straight line of elementwise ops runs over a few registers, anything
// else through Evaluation::Run. Scalars are elements in memory form.
class ScalarFunction {
 public:
  static absl::StatusOr<std::unique_ptr<ScalarFunction>> Create(Evaluation& evaluation, const Computation& computation);
  ~ScalarFunction();

  // arguments[i] points to the value of parameter i; results[i] to room for the i-th result (one, or the tuple's).
  // Results may overlap arguments.
  absl::Status Call(absl::Span<const std::byte* const> arguments, absl::Span<std::byte* const> results);

  int64_t parameter_count() const;
  int64_t result_count() const;
  PrimitiveType parameter_type(int64_t index) const;
  PrimitiveType result_type(int64_t index) const;
  // The root is add, multiply, ... (any elementwise opcode) of the two parameters in either order.
  bool IsBinary(Opcode opcode) const;

 private:
  struct Program;
  explicit ScalarFunction(std::unique_ptr<Program> program);
  std::unique_ptr<Program> program_;
};

// The attribute struct of the instruction's family.
template <typename T>
absl::StatusOr<const T*> AttributesOf(const Instruction& instruction) {
  if (const T* attributes = instruction.GetIf<T>()) return attributes;
  return InvalidArgument(instruction.Describe(), " has no attributes of its family");
}

// INVALID_ARGUMENT naming the instruction unless `holds`.
inline absl::Status Require(const Instruction& instruction, bool holds, absl::string_view what) {
  if (holds) return absl::OkStatus();
  return InvalidArgument(instruction.Describe(), ": ", what);
}

// Distinct numbers, each in [0, rank).
bool AreDistinctDimensions(absl::Span<const int64_t> dimensions, int64_t rank);

// Row-major strides in elements.
DimensionVector StridesOf(absl::Span<const int64_t> dimensions);

// Visits the index space of `dimensions` in row-major order: `index` starts at zeros; false after the last one.
inline bool NextIndex(absl::Span<const int64_t> dimensions, DimensionVector* index) {
  for (int64_t d = static_cast<int64_t>(dimensions.size()) - 1; d >= 0; --d) {
    if (++(*index)[d] < dimensions[d]) return true;
    (*index)[d] = 0;
  }
  return false;
}

// Copies dst[sum(i_d * dst_stride_d)] = src[sum(i_d * src_stride_d)] over the index space; strides in elements of
// `width` bytes, may be 0 or negative. The pointers are those of index zero.
void CopyStrided(int width, absl::Span<const int64_t> dimensions, const std::byte* source,
                 absl::Span<const int64_t> source_strides, std::byte* destination,
                 absl::Span<const int64_t> destination_strides);

}  // namespace kiln::hlo::evaluator

#endif  // KILN_HLO_EVALUATOR_INTERNAL_H_
