#include <algorithm>
#include <utility>
#include <vector>

#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

bool IsSplat(const Instruction& operand) {
  return operand.opcode() == Opcode::kBroadcast && operand.operand(0)->shape().IsScalar();
}

bool IsMove(const Instruction& operand) {
  switch (operand.opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kReverse:
      return operand.control_predecessors().empty();
    default:
      return false;
  }
}

bool SameMove(const Instruction& a, const Instruction& b) {
  return a.opcode() == b.opcode() && a.attributes() == b.attributes() &&
         a.operand(0)->shape().dimensions() == b.operand(0)->shape().dimensions();
}

// Whether what is made of `op`, step by step and by elementwise ops alone, is moved by an op like `move`, so that the
// two meet.
bool MeetsAnother(const Instruction& op, const Instruction& move) {
  constexpr int kMaxSteps = 8;
  const Instruction* value = &op;
  for (int step = 0; step < kMaxSteps && value->users().size() == 1 && !value->IsRoot(); ++step) {
    value = *value->users().begin();
    if (value->opcode() == move.opcode()) return true;
    if (!hlo::IsElementwise(value->opcode())) return false;
  }
  return false;
}

// The move that all array operands of `op` are, splats aside, where sinking it saves something; or null.
const Instruction* CommonMove(const Instruction& op) {
  const Instruction* move = nullptr;
  bool several = false, has_other_users = false;
  for (const Instruction* operand : op.operands()) {
    if (operand->shape().dimensions() != op.shape().dimensions()) return nullptr;
    if (IsSplat(*operand)) continue;
    if (!IsMove(*operand) || (move != nullptr && !SameMove(*move, *operand))) return nullptr;
    several |= move != nullptr && move != operand;
    has_other_users |= operand->users().size() > 1;
    move = operand;
  }
  if (move == nullptr) return nullptr;
  const bool saves_work = move->operand(0)->shape().element_count() < move->shape().element_count();
  if (saves_work || (several && !has_other_users)) return move;
  return !has_other_users && MeetsAnother(op, *move) ? move : nullptr;
}

// `op` before `move`, and the move after it.
Instruction* Sink(const Instruction& op, const Instruction& move, Builder& builder) {
  const auto& dimensions = move.operand(0)->shape().dimensions();
  std::vector<Instruction*> operands;
  for (Instruction* operand : op.operands()) {
    operands.push_back(IsSplat(*operand) ? builder.BroadcastScalar(operand->operand(0), dimensions)
                                         : operand->operand(0));
  }
  Instruction* inner =
      builder.Add(op.opcode(), Shape(op.shape().element_type(), dimensions), std::move(operands), op.attributes());
  return builder.Add(move.opcode(), op.shape(), {inner}, move.attributes());
}

}  // namespace

absl::StatusOr<bool> SinkMoves(Module* module) {
  return ReplaceOps(module, {}, [](Instruction* op) -> Instruction* {
    if (!hlo::IsElementwise(op->opcode()) || op->opcode() == Opcode::kBitcastConvert || op->operand_count() == 0 ||
        op->shape().IsScalar() || op->shape().has_dynamic_dimensions() || !op->control_predecessors().empty()) {
      return nullptr;
    }
    const Instruction* move = CommonMove(*op);
    if (move == nullptr) return nullptr;
    Builder builder(op->parent(), op);
    return Sink(*op, *move, builder);
  });
}

}  // namespace kiln::passes
