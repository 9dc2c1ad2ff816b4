#include "src/kernel/scalar_computation.h"

#include "src/hlo/module.h"

namespace kiln::kernel {

using hlo::Instruction;
using hlo::Opcode;

absl::StatusOr<std::vector<Value>> EmitScalarComputation(ScalarEmitter* emitter, const hlo::Computation& computation,
                                                         absl::Span<const Value> arguments) {
  const ScalarOps<Value> ops = {
      [&](const hlo::Literal& literal) { return emitter->Constant(literal, 0); },
      [&](const Instruction& instruction, std::vector<Value> operands) {
        return emitter->Elementwise(instruction, operands);
      },
      [&](const Value& predicate, const Value& a, const Value& b) { return emitter->Select(predicate.value, a, b); }};
  return WalkScalarComputation(computation, arguments, ops);
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
