#include "src/passes/sum_widening.h"

#include <optional>

#include "src/analysis/combiner.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

Instruction* WidenSum(Instruction* reduce) {
  const Shape &operand = reduce->operand(0)->shape(), &result = reduce->shape();
  if (reduce->operand_count() != 2 || result.element_count() == 0) return nullptr;
  const std::optional<Opcode> opcode = analysis::CombinerOpcode(*reduce->called_computation());
  if ((opcode != Opcode::kAdd && opcode != Opcode::kMultiply) ||
      !analysis::AddUpInF32(result.element_type(), operand.element_count() / result.element_count())) {
    return nullptr;
  }
  Builder builder(reduce->parent(), reduce);
  Instruction* wide = reduce->parent()->AddClone(*reduce, {builder.Convert(reduce->operand(0), PrimitiveType::kF32),
                                                           builder.Convert(reduce->operand(1), PrimitiveType::kF32)});
  wide->set_called_computation(0, hlo::AddCombiner(reduce->parent()->parent(), *opcode, PrimitiveType::kF32));
  wide->mutable_shape()->set_element_type(PrimitiveType::kF32);
  return builder.Convert(wide, result.element_type());
}

}  // namespace

absl::StatusOr<bool> WidenSums(Module* module) { return ReplaceOps(module, {Opcode::kReduce}, WidenSum); }

}  // namespace kiln::passes
