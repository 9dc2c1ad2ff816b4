#include "src/passes/array_formula.h"

#include <utility>

namespace kiln::passes {

bool IsFormula(const Computation& computation) {
  for (const Instruction* instruction : computation.instructions()) {
    const Opcode opcode = instruction->opcode();
    const bool spread = opcode == Opcode::kBroadcast && instruction->operand(0)->shape().rank() == 0;
    const bool scalar = instruction->IsConstant() && instruction->shape().rank() == 0;
    const bool results = opcode == Opcode::kTuple && instruction->IsRoot();
    if (!(instruction->IsParameter() || hlo::IsElementwise(opcode) || spread || scalar || results)) return false;
    if (!results && !instruction->shape().IsArray()) return false;
  }
  return true;
}

Instruction* ArrayFormula::Of(const Instruction* scalar) {
  if (auto found = arrays_.find(scalar); found != arrays_.end()) return found->second;
  const Shape shape(scalar->shape().element_type(), dimensions_);
  Instruction* made = nullptr;
  if (scalar->IsParameter()) {
    made = arguments_[scalar->parameter_number()];
  } else if (scalar->IsConstant()) {
    made = builder_->Splat(shape, scalar->literal());
  } else if (scalar->opcode() == Opcode::kBroadcast) {
    made = Of(scalar->operand(0));
  } else {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : scalar->operands()) operands.push_back(Of(operand));
    made = builder_->Add(scalar->opcode(), shape, std::move(operands), scalar->attributes());
  }
  arrays_[scalar] = made;
  return made;
}

}  // namespace kiln::passes
