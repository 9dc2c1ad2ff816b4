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

std::vector<Instruction*> AddScan(Builder* builder, std::vector<Instruction*> inputs,
                                  const std::vector<Instruction*>& carries, int64_t dimension, bool is_reverse,
                                  Computation* body) {
  const int64_t count = static_cast<int64_t>(inputs.size());
  inputs.insert(inputs.end(), carries.begin(), carries.end());
  std::vector<Shape> shapes;
  for (const Instruction* input : inputs) shapes.push_back(input->shape());
  const hlo::ScanAttributes attributes = {
      .dimension = dimension, .num_carries = count, .is_reverse = is_reverse, .is_associative = true};
  Instruction* scan = builder->Add(Opcode::kScan, Shape::Tuple(shapes), std::move(inputs), attributes, {body});
  std::vector<Instruction*> results;
  for (int64_t i = 0; i < count; ++i) results.push_back(builder->GetTupleElement(scan, i));
  return results;
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
