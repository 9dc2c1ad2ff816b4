#include "src/passes/branch_operands.h"

#include <algorithm>
#include <utility>

#include "src/passes/loop_state.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {

void MakeOperandExplicit(Instruction* conditional, int64_t branch) {
  Instruction* operand = conditional->operand(branch + 1);
  Computation* callee = conditional->called_computation(branch);
  Instruction* parameter = callee->parameter(0);
  Builder outside(conditional->parent(), conditional);
  if (!parameter->shape().IsTuple()) {
    conditional->ReplaceOperand(branch + 1, outside.Tuple({operand}));
    ReadThrough(parameter, [&](Builder& inside) {
      const Shape shape = parameter->shape();
      *parameter->mutable_shape() = Shape::Tuple({shape});
      return inside.GetTupleElement(parameter, 0);
    });
    return;
  }
  const auto operands = conditional->operands();
  const bool is_shared = std::count(operands.begin(), operands.end(), operand) > 1 || operand->users().size() > 1;
  if (operand->opcode() != Opcode::kTuple || is_shared || operand->IsRoot()) {
    conditional->ReplaceOperand(branch + 1, outside.Tuple(outside.Elements(operand)));
  }
  ReadByElement(parameter);
}

std::vector<Instruction*> AddBranchOperands(Instruction* conditional, int64_t branch,
                                            absl::Span<Instruction* const> values) {
  Instruction* tuple = conditional->operand(branch + 1);
  Instruction* parameter = conditional->called_computation(branch)->parameter(0);
  std::vector<Shape> shapes = parameter->shape().tuple_shapes();
  int64_t index = static_cast<int64_t>(shapes.size());
  for (Instruction* value : values) {
    shapes.push_back(value->shape());
    tuple->AppendOperand(value);
  }
  *tuple->mutable_shape() = *parameter->mutable_shape() = Shape::Tuple(std::move(shapes));
  Builder builder(parameter->parent(), parameter);
  std::vector<Instruction*> readers;
  for (size_t i = 0; i < values.size(); ++i) readers.push_back(builder.GetTupleElement(parameter, index++));
  return readers;
}

}  // namespace kiln::passes
