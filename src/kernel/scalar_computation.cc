#include "src/kernel/scalar_computation.h"

#include "absl/container/flat_hash_map.h"
#include "src/base/status.h"
#include "src/hlo/module.h"

namespace kiln::kernel {

using hlo::Instruction;
using hlo::Opcode;

absl::StatusOr<std::vector<Value>> EmitScalarComputation(ScalarEmitter* emitter, const hlo::Computation& computation,
                                                         absl::Span<const Value> arguments) {
  absl::flat_hash_map<const Instruction*, std::vector<Value>> values;
  for (const Instruction* instruction : computation.PostOrder()) {
    std::vector<Value> operands;
    for (const Instruction* operand : instruction->operands()) {
      const std::vector<Value>& leaves = values.at(operand);
      operands.insert(operands.end(), leaves.begin(), leaves.end());
    }
    switch (instruction->opcode()) {
      case Opcode::kParameter:
        values[instruction] = {arguments[instruction->parameter_number()]};
        break;
      case Opcode::kConstant:
        values[instruction] = {emitter->Constant(instruction->literal(), 0)};
        break;
      case Opcode::kTuple:
        values[instruction] = std::move(operands);
        break;
      case Opcode::kGetTupleElement:
        values[instruction] = {operands[instruction->tuple_index()]};
        break;
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kCopy:
      case Opcode::kBitcast:
        values[instruction] = {operands[0]};  // of scalars: the value itself
        break;
      case Opcode::kCall:
      case Opcode::kFusion: {
        KILN_ASSIGN_OR_RETURN(values[instruction],
                              EmitScalarComputation(emitter, *instruction->called_computation(), operands));
        break;
      }
      default: {
        if (!hlo::IsElementwise(instruction->opcode()) && instruction->opcode() != Opcode::kBitcastConvert) {
          return Unimplemented(instruction->Describe(), ": not supported in the scalar computation ",
                               computation.name());
        }
        KILN_ASSIGN_OR_RETURN(Value value, emitter->Elementwise(*instruction, operands));
        values[instruction] = {value};
        break;
      }
    }
  }
  return values.at(computation.root());
}

absl::StatusOr<Value> EmitElementwise(ScalarEmitter* emitter, Opcode opcode, const Instruction* origin,
                                      hlo::PrimitiveType type, absl::Span<const Value> operands) {
  if (origin != nullptr) return emitter->Elementwise(*origin, operands);
  // An op that no instruction stands for gets one of its own for the while.
  hlo::Module module("synthetic");
  hlo::Computation* computation = module.AddComputation("synthetic");
  std::vector<Instruction*> parameters;
  for (const Value& operand : operands) {
    parameters.push_back(
        computation->AddParameter(static_cast<int64_t>(parameters.size()), hlo::Shape::Scalar(operand.type)));
  }
  return emitter->Elementwise(*computation->Add(opcode, hlo::Shape::Scalar(type), std::move(parameters)), operands);
}

}  // namespace kiln::kernel
