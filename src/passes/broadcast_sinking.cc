#include "src/passes/broadcast_sinking.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/code_kinds.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/while_loop.h"

namespace kiln::passes {
namespace {

// Smaller arrays are not worth another parameter, which those made from nothing do not need.
constexpr int64_t kMinBytes = 16 << 10;
// Operands are at most this part of the result.
constexpr int64_t kMinGrowth = 8;
constexpr int64_t kMaxProducerOps = 12;
constexpr int64_t kMaxUserOps = 120;
constexpr int64_t kMaxParameters = 40;

bool IsElementFusion(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kFusion) return false;
  const hlo::FusionKind kind = instruction.Get<hlo::FusionAttributes>().kind;
  if (kind != hlo::FusionKind::kLoop && kind != hlo::FusionKind::kInput) return false;
  const std::vector<Instruction*> body = instruction.called_computation()->instructions();
  return absl::c_none_of(body, [](const Instruction* inner) {
    return analysis::IsContraction(*inner) || inner->opcode() == Opcode::kDynamicUpdateSlice ||
           inner->opcode() == Opcode::kScatter;
  });
}

bool IsScalarConstant(const Instruction& operand) {
  return operand.IsConstant() && operand.shape().element_count() == 1;
}

bool IsMadeFromLittle(const Instruction& producer) {
  if (!producer.shape().IsArray() || producer.IsRoot() || producer.users().empty() ||
      !producer.control_predecessors().empty()) {
    return false;
  }
  const int64_t bytes = producer.shape().byte_count();
  int64_t operands = 0;
  for (const Instruction* operand : producer.operands()) {
    if (!IsScalarConstant(*operand)) operands += operand->shape().byte_count();
  }
  if (operands > 0 && (bytes < kMinBytes || operands > bytes / kMinGrowth)) return false;
  if (producer.opcode() == Opcode::kBroadcast) return true;
  if (producer.opcode() != Opcode::kFusion || producer.Get<hlo::FusionAttributes>().kind != hlo::FusionKind::kLoop) {
    return false;
  }
  const Computation& body = *producer.called_computation();
  if (body.instruction_count() - body.parameter_count() > kMaxProducerOps) return false;
  const std::vector<Instruction*> inside = body.instructions();
  return absl::c_all_of(inside, [](const Instruction* inner) {
    return inner->IsParameter() || inner->IsConstant() ||
           (analysis::IsLoopProducer(*inner) && analysis::CostOf(*inner) != analysis::EvaluationCost::kExpensive);
  });
}

bool MayTake(const Instruction& user, const Instruction& producer) {
  return IsElementFusion(user) && user.called_computation()->instruction_count() <= kMaxUserOps &&
         user.operand_count() + producer.operand_count() <= kMaxParameters;
}

}  // namespace

void SinkInto(const Instruction& producer, Instruction* user) {
  Computation* body = user->called_computation();
  std::vector<Instruction*> operands(user->operands().begin(), user->operands().end());
  const auto parameter_for = [&](Instruction* operand) {
    const auto it = absl::c_find(operands, operand);
    if (it != operands.end()) return body->parameter(it - operands.begin());
    operands.push_back(operand);
    return body->AddParameter(body->parameter_count(), operand->shape());
  };
  std::vector<Instruction*> inputs;
  for (Instruction* operand : producer.operands()) {
    inputs.push_back(IsScalarConstant(*operand) ? body->AddClone(*operand, {}) : parameter_for(operand));
  }
  Instruction* value = producer.opcode() == Opcode::kFusion
                           ? Builder(body, &producer).Inline(*producer.called_computation(), inputs)
                           : body->AddClone(producer, std::move(inputs));
  // The parameter goes, from the back in case there are several of it.
  for (size_t i = operands.size(); i-- > 0;) {
    if (operands[i] != &producer) continue;
    body->parameter(static_cast<int64_t>(i))->ReplaceAllUsesWith(value);
    body->RemoveParameter(static_cast<int64_t>(i));
    operands.erase(operands.begin() + static_cast<int64_t>(i));
  }
  body->SetOrder(body->PostOrder());
  user->ReplaceAllOperands(std::move(operands));
}

namespace {

Instruction* Copy(const Instruction& producer) {
  Instruction* copy = producer.parent()->AddClone(producer, {producer.operands().begin(), producer.operands().end()});
  if (copy->opcode() == Opcode::kFusion) {
    copy->set_called_computation(0, producer.parent()->parent()->AddClone(*producer.called_computation()));
  }
  return copy;
}

// The operands of `user` in whose memory it works: those that become states which a loop changes, through a tuple, and
// what is updated in place.
std::vector<int64_t> WrittenOperands(const Instruction& user) {
  if (const int64_t updated = analysis::UpdatedOperand(user); updated >= 0) return {updated};
  std::vector<int64_t> written;
  if (user.opcode() != Opcode::kTuple || user.users().size() != 1) return written;
  const Instruction& loop = **user.users().begin();
  if (loop.opcode() != Opcode::kWhile) return written;
  const std::vector<bool> invariant = analysis::InvariantState(loop);
  for (size_t i = 0; i < invariant.size(); ++i) {
    if (!invariant[i]) written.push_back(static_cast<int64_t>(i));
  }
  return written;
}

// Lets everything that begins as `producer` and is written over begin as one of its own: made where it is needed,
// instead of kept somewhere and copied.
bool SpreadOverWriters(Instruction* producer) {
  const std::vector<Instruction*> users(producer->users().begin(), producer->users().end());
  bool changed = false;
  bool is_taken = !absl::c_all_of(users, [](const Instruction* user) { return !WrittenOperands(*user).empty(); });
  for (Instruction* user : users) {
    for (int64_t i : WrittenOperands(*user)) {
      if (user->operand(i) != producer) continue;
      if (is_taken) user->ReplaceOperand(i, Copy(*producer));
      changed |= is_taken;
      is_taken = true;
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> SinkBroadcasts(Module* module) {
  absl::flat_hash_set<const Computation*> fused;
  absl::flat_hash_map<const Computation*, int> calls;
  for (const Computation* computation : module->PostOrder()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!hlo::HasScalarComputation(instruction->opcode()) && instruction->opcode() != Opcode::kFusion) continue;
      for (const Computation* callee : instruction->called_computations()) {
        fused.insert(callee);
        ++calls[callee];
      }
    }
  }
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    if (fused.contains(computation)) continue;
    // Backwards, so that a chain of them goes in as a whole.
    std::vector<Instruction*> order = computation->PostOrder();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      Instruction* producer = *it;
      if (!IsMadeFromLittle(*producer)) continue;
      changed |= SpreadOverWriters(producer);
      const std::vector<Instruction*> users(producer->users().begin(), producer->users().end());
      if (!absl::c_all_of(users, [&](const Instruction* user) {
            return MayTake(*user, *producer) && calls[user->called_computation()] == 1;
          })) {
        continue;
      }
      for (Instruction* user : users) SinkInto(*producer, user);
      changed = true;
    }
    if (changed) computation->RemoveDeadInstructions();
  }
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
