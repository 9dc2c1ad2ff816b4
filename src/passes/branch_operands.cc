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
    std::vector<Instruction*> elements;
    for (size_t i = 0; i < operand->shape().tuple_shapes().size(); ++i) {
      elements.push_back(operand->opcode() == Opcode::kTuple
                             ? operand->operand(i)
                             : outside.GetTupleElement(operand, static_cast<int64_t>(i)));
    }
    conditional->ReplaceOperand(branch + 1, outside.Tuple(std::move(elements)));
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

bool DropUnreadOperands(Instruction* conditional, int64_t branch) {
  Computation* callee = conditional->called_computation(branch);
  Instruction* parameter = callee->parameter(0);
  if (!parameter->shape().IsTuple() || !OnlyReadByElement(*parameter)) return false;
  std::vector<int64_t> place(parameter->shape().tuple_shapes().size(), -1);
  for (const Instruction* reader : parameter->users()) place[reader->tuple_index()] = 0;
  if (!absl::c_linear_search(place, -1)) return false;
  MakeOperandExplicit(conditional, branch);
  std::vector<Instruction*> kept;
  for (size_t i = 0; i < place.size(); ++i) {
    if (place[i] < 0) continue;
    place[i] = static_cast<int64_t>(kept.size());
    kept.push_back(conditional->operand(branch + 1)->operand(i));
  }
  Instruction* tuple = Builder(conditional->parent(), conditional).Tuple(std::move(kept));
  conditional->operand(branch + 1)->ReplaceAllOperands({});
  conditional->ReplaceOperand(branch + 1, tuple);
  *parameter->mutable_shape() = tuple->shape();
  for (Instruction* reader : parameter->users()) {
    auto* attributes = reader->GetMutable<hlo::TupleIndexAttributes>();
    attributes->index = place[attributes->index];
  }
  return true;
}

}  // namespace kiln::passes
