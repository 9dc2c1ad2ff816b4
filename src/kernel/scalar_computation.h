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
  // The state of a while, a tuple of scalars, after its last round.
  std::function<absl::StatusOr<std::vector<T>>(const hlo::Instruction& loop, std::vector<T> state)> loop;
};

// The leaves of the root of `computation` over scalars: elementwise ops, constants, tuples, calls and loops over tuples
// of scalars. A parameter that is a tuple is the only one; `arguments` are its leaves. Other ops become these in a pass
// (passes/scalar_flattening.cc); here they fail with UNIMPLEMENTED, naming the first.
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
        if (instruction->shape().IsTuple()) {
          results.assign(arguments.begin(), arguments.end());
        } else {
          results = {arguments[instruction->parameter_number()]};
        }
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
        KILN_ASSIGN_OR_RETURN(results, WalkScalarComputation<T>(*instruction->called_computation(), operands, ops));
        break;
      }
      case Opcode::kWhile: {
        KILN_ASSIGN_OR_RETURN(results, ops.loop(*instruction, std::move(operands)));
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

// True when a loop stands in `computation` or in what it calls.
bool HasLoop(const hlo::Computation& computation);

// The same as registers.
absl::StatusOr<std::vector<Value>> EmitScalarComputation(ScalarEmitter* emitter, const hlo::Computation& computation,
                                                         absl::Span<const Value> arguments);

// The state of `loop` after its last round, of one lane, from a function that is private to the module of the builder.
absl::StatusOr<std::vector<Value>> EmitScalarLoop(ScalarEmitter* emitter, const hlo::Instruction& loop,
                                                  absl::Span<const Value> state);

// `opcode` over operands in registers, with the attributes of `origin` (null: the opcode has none).
absl::StatusOr<Value> EmitElementwise(ScalarEmitter* emitter, hlo::Opcode opcode, const hlo::Instruction* origin,
                                      hlo::PrimitiveType type, absl::Span<const Value> operands);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_SCALAR_COMPUTATION_H_
