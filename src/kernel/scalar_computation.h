// Scalar computations (of reduce, scatter, sort, ...) emitted inline over registers.
#ifndef KILN_KERNEL_SCALAR_COMPUTATION_H_
#define KILN_KERNEL_SCALAR_COMPUTATION_H_

#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/base/status.h"
#include "src/hlo/computation.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::kernel {

// How to make values of type T.
template <typename T>
struct ScalarOps {
  std::function<T(const hlo::Literal& literal)> constant;
  // Elementwise ops, and bitcast-convert between types of one width.
  std::function<absl::StatusOr<T>(const hlo::Instruction& instruction, std::vector<T> operands)> elementwise;
  std::function<T(const T& predicate, const T& on_true, const T& on_false)> select;
};

// The leaves of the root of `computation` over scalars: elementwise ops, constants, tuples, calls, and branches on a
// pred, which are all computed. Fails with UNIMPLEMENTED naming the first other instruction.
template <typename T>
absl::StatusOr<std::vector<T>> WalkScalarComputation(const hlo::Computation& computation, absl::Span<const T> arguments,
                                                     const ScalarOps<T>& ops) {
  using hlo::Opcode;
  absl::flat_hash_map<const hlo::Instruction*, std::vector<T>> values;
  for (const hlo::Instruction* instruction : computation.PostOrder()) {
    std::vector<T> operands;
    for (const hlo::Instruction* operand : instruction->operands()) {
      const std::vector<T>& leaves = values.at(operand);
      operands.insert(operands.end(), leaves.begin(), leaves.end());
    }
    std::vector<T> results;
    switch (instruction->opcode()) {
      case Opcode::kParameter:
        results = {arguments[instruction->parameter_number()]};
        break;
      case Opcode::kConstant:
        results = {ops.constant(instruction->literal())};
        break;
      case Opcode::kTuple:
        results = std::move(operands);
        break;
      case Opcode::kGetTupleElement:
        results = {operands[instruction->tuple_index()]};
        break;
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kCopy:
      case Opcode::kBitcast:
        results = {operands[0]};  // of scalars: the value itself
        break;
      case Opcode::kCall:
      case Opcode::kFusion: {
        KILN_ASSIGN_OR_RETURN(results,
                              WalkScalarComputation<T>(*instruction->called_computation(), operands, ops));
        break;
      }
      case Opcode::kConditional: {
        const hlo::Shape& which = instruction->operand(0)->shape();
        if (which.element_type() != hlo::PrimitiveType::kPred || instruction->operand(1)->shape().IsTuple() ||
            instruction->operand(2)->shape().IsTuple()) {
          return Unimplemented(instruction->Describe(), ": the scalar computation ", computation.name(),
                               " may only branch on a pred, with branches that take a scalar");
        }
        KILN_ASSIGN_OR_RETURN(results, WalkScalarComputation<T>(*instruction->called_computation(0),
                                                                absl::MakeConstSpan(operands).subspan(1, 1), ops));
        KILN_ASSIGN_OR_RETURN(const std::vector<T> otherwise,
                              WalkScalarComputation<T>(*instruction->called_computation(1),
                                                       absl::MakeConstSpan(operands).subspan(2, 1), ops));
        for (size_t i = 0; i < results.size(); ++i) results[i] = ops.select(operands[0], results[i], otherwise[i]);
        break;
      }
      default: {
        if (!hlo::IsElementwise(instruction->opcode()) && instruction->opcode() != Opcode::kBitcastConvert) {
          return Unimplemented(instruction->Describe(), ": not supported in the scalar computation ",
                               computation.name());
        }
        KILN_ASSIGN_OR_RETURN(T value, ops.elementwise(*instruction, std::move(operands)));
        results = {value};
        break;
      }
    }
    values[instruction] = std::move(results);
  }
  return values.at(computation.root());
}

// The same as registers.
absl::StatusOr<std::vector<Value>> EmitScalarComputation(ScalarEmitter* emitter, const hlo::Computation& computation,
                                                         absl::Span<const Value> arguments);

// `opcode` over operands in registers, with the attributes of `origin` (null: the opcode has none).
absl::StatusOr<Value> EmitElementwise(ScalarEmitter* emitter, hlo::Opcode opcode, const hlo::Instruction* origin,
                                      hlo::PrimitiveType type, absl::Span<const Value> operands);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_SCALAR_COMPUTATION_H_
