#include "src/passes/constant_folding.h"

#include <utility>
#include <vector>

#include "src/hlo/evaluator.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

constexpr int64_t kMaxResultElements = 1024;
constexpr int64_t kMaxOperandElements = 1 << 16;
// An operation within control flow takes about half a microsecond, one of an array far less.
constexpr int64_t kMaxOperationsPerInstruction = 1 << 18;
constexpr int64_t kMaxOperationsPerModule = 1 << 20;

bool MayVanish(const Instruction& instruction) {
  if (instruction.HasSideEffect() || !instruction.control_predecessors().empty()) return false;
  switch (hlo::KindOf(instruction.opcode())) {
    case hlo::OpKind::kRandom:
    case hlo::OpKind::kCommunication:
    case hlo::OpKind::kDynamicShape:
      return false;
    default:
      // Constants are row-major; what a call with layouts takes is a bitcast of one.
      return instruction.shape().IsArray() && !instruction.shape().has_dynamic_dimensions() &&
             instruction.shape().HasDescendingLayout();
  }
}

bool IsSpread(const Instruction& operand) {
  return operand.opcode() == Opcode::kBroadcast && operand.operand(0)->IsConstant();
}

bool MayFold(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kConstant:
    case Opcode::kParameter:
    case Opcode::kIota:
    case Opcode::kBroadcast:
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
    case Opcode::kCustomCall:
    case Opcode::kOptBarrier:
    case Opcode::kFusion:
    case Opcode::kAddDependency:
    case Opcode::kCopy:
      return false;
    default:
      break;
  }
  // A reshape of a splat is a splat, which a rule sees; of other constants it is the same bytes.
  if (instruction.operand_count() == 0 || instruction.shape().element_count() > kMaxResultElements) return false;
  // Counts are cheaper made anew than loaded, unless one number comes of them.
  const bool takes_counts = instruction.shape().element_count() == 1;
  const auto is_known = [&](const Instruction* operand) {
    return (operand->IsConstant() || IsSpread(*operand) || (takes_counts && operand->opcode() == Opcode::kIota)) &&
           (operand->shape().IsTuple() || operand->shape().element_count() <= kMaxOperandElements);
  };
  return absl::c_all_of(instruction.operands(), is_known) &&
         !absl::c_all_of(instruction.operands(), [](const Instruction* operand) { return IsSpread(*operand); });
}

// The constant that replaces `instruction`, or null.
Instruction* Fold(const Instruction& instruction, int64_t* budget, Builder& builder) {
  if (instruction.shape().element_count() == 0) {
    return builder.Constant(Literal(Shape(instruction.shape().element_type(), instruction.shape().dimensions())));
  }
  std::vector<Literal> operands;
  hlo::EvaluatorOptions options;
  options.max_operations = kMaxOperationsPerInstruction;
  options.budget = budget;
  for (const Instruction* operand : instruction.operands()) {
    std::vector<Literal> source;
    if (IsSpread(*operand)) source.push_back(operand->operand(0)->literal());
    absl::StatusOr<Literal> value =
        operand->IsConstant() ? operand->literal() : hlo::EvaluateInstruction(*operand, source, options);
    if (!value.ok()) return nullptr;
    operands.push_back(*std::move(value));
  }
  absl::StatusOr<Literal> value = hlo::EvaluateInstruction(instruction, operands, options);
  // What the evaluator refuses is left for the target to report or to run.
  if (!value.ok() || !Shape::Compatible(value->shape(), instruction.shape())) return nullptr;
  return builder.Constant(*std::move(value));
}

}  // namespace

absl::StatusOr<bool> FoldConstants(Module* module) {
  int64_t budget = kMaxOperationsPerModule;
  const absl::StatusOr<bool> changed = ReplaceOps(module, {}, [&](Instruction* instruction) -> Instruction* {
    if ((instruction->users().empty() && !instruction->IsRoot()) || !MayVanish(*instruction)) return nullptr;
    const bool is_empty = instruction->shape().element_count() == 0 && !instruction->IsConstant() &&
                          !instruction->IsParameter() && instruction->opcode() != Opcode::kCustomCall;
    if ((!is_empty && !MayFold(*instruction)) || budget <= 0) return nullptr;
    Builder builder(instruction->parent(), instruction);
    Instruction* constant = Fold(*instruction, &budget, builder);
    const bool fits = constant != nullptr && (!instruction->IsRoot() || constant->shape() == instruction->shape());
    return fits ? constant : nullptr;
  });
  if (changed.ok() && *changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
