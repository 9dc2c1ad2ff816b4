#include "src/passes/dimension_size_expander.h"

#include "src/hlo/builder.h"

namespace kiln::passes {

using hlo::Instruction;
using hlo::Opcode;

bool DimensionSizeExpander::Expands(const Instruction& instruction) const {
  if (instruction.opcode() == Opcode::kGetDimensionSize) {
    return !instruction.operand(0)->shape().is_dynamic_dimension(instruction.dimensions()[0]);
  }
  if (instruction.opcode() != Opcode::kSetDimensionSize || instruction.shape().has_dynamic_dimensions()) return false;
  const hlo::Shape& shape = instruction.operand(0)->shape();
  const Instruction& size = *instruction.operand(1);
  return !shape.has_dynamic_dimensions() && size.IsConstant() &&
         ElementAsInt64(size.literal(), 0) == shape.dimensions(instruction.dimensions()[0]);
}

absl::StatusOr<Instruction*> DimensionSizeExpander::Expand(Instruction* instruction) {
  Instruction* operand = instruction->operand(0);
  if (instruction->opcode() == Opcode::kSetDimensionSize) return operand;
  hlo::Builder builder(instruction->parent(), instruction);
  const int64_t size = operand->shape().dimensions(instruction->dimensions()[0]);
  return builder.Constant(LiteralOf(instruction->shape(), size));
}

}  // namespace kiln::passes
