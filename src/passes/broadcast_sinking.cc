#include "src/passes/broadcast_sinking.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/code_kinds.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/while_loop.h"
#include "src/passes/fusion_body.h"

namespace kiln::passes {
namespace {

// Smaller arrays are not worth another parameter, which those made from nothing do not need.
constexpr int64_t kMinSunkBytes = 16 << 10;
// Operands are at most this part of the result.
constexpr int64_t kMinSunkGrowth = 8;
constexpr int64_t kMaxProducerOps = 12;
constexpr int64_t kMaxUserOps = 120;
constexpr int64_t kMaxSunkParameters = 40;

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
  const bool is_loop =
      producer.opcode() == Opcode::kFusion && producer.Get<hlo::FusionAttributes>().kind == hlo::FusionKind::kLoop;
  if (producer.opcode() != Opcode::kBroadcast && !is_loop) return false;
  const int64_t bytes = producer.shape().byte_count();
  int64_t operands = 0;
  for (const Instruction* operand : producer.operands()) {
    if (!IsScalarConstant(*operand)) operands += operand->shape().byte_count();
  }
  if (operands > 0 && (bytes < kMinSunkBytes || operands > bytes / kMinSunkGrowth)) return false;
  if (producer.opcode() == Opcode::kBroadcast) return true;
  const Computation& body = *producer.called_computation();
  if (body.instruction_count() - body.parameter_count() > kMaxProducerOps) return false;
  const std::vector<Instruction*> inside = body.instructions();
  return absl::c_all_of(inside, [](const Instruction* inner) {
    return inner->IsParameter() || inner->IsConstant() ||
           (analysis::IsLoopProducer(*inner) && analysis::CostOf(*inner) != analysis::EvaluationCost::kExpensive);
  });
}

// An instruction that is a kernel by itself.
bool IsElementKernel(const Instruction& instruction) {
  return analysis::IsElementwiseLike(instruction) && !analysis::RunsNoCode(instruction) &&
         instruction.control_predecessors().empty();
}

bool MayTake(const Instruction& user, const Instruction& producer) {
  if (IsElementKernel(user)) return true;
  return IsElementFusion(user) && user.called_computation()->instruction_count() <= kMaxUserOps &&
         user.operand_count() + producer.operand_count() <= kMaxSunkParameters;
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

// The operands of instructions in whose memory these work: those that become states which a loop changes, through a
// tuple, and what is updated in place. Remembers the tuples, which may be long and are asked about by each operand.
class WrittenOperands {
 public:
  bool Any(const Instruction& user) {
    return analysis::UpdatedOperand(user) >= 0 || (IsState(user) && !StatesOf(user).empty());
  }
  // Where `operand` is such an operand of `user`. Copies that take its place are not asked about.
  std::vector<int64_t> PlacesOf(const Instruction* operand, const Instruction& user) {
    if (const int64_t updated = analysis::UpdatedOperand(user); updated >= 0) {
      return user.operand(updated) == operand ? std::vector<int64_t>{updated} : std::vector<int64_t>();
    }
    if (!IsState(user)) return {};
    const Places& states = StatesOf(user);
    const auto places = states.find(operand);
    return places == states.end() ? std::vector<int64_t>() : places->second;
  }

 private:
  using Places = absl::flat_hash_map<const Instruction*, std::vector<int64_t>>;

  static bool IsState(const Instruction& user) {
    return user.opcode() == Opcode::kTuple && user.users().size() == 1 && user.users()[0]->opcode() == Opcode::kWhile;
  }
  const Places& StatesOf(const Instruction& tuple) {
    const auto [it, inserted] = states_.try_emplace(&tuple);
    if (inserted) {
      const std::vector<bool> invariant = analysis::InvariantState(*tuple.users()[0]);
      for (size_t i = 0; i < invariant.size(); ++i) {
        if (!invariant[i]) it->second[tuple.operand(i)].push_back(static_cast<int64_t>(i));
      }
    }
    return it->second;
  }

  absl::flat_hash_map<const Instruction*, Places> states_;
};

// Lets everything that begins as `producer` and is written over begin as one of its own: made where it is needed,
// instead of kept somewhere and copied.
bool SpreadOverWriters(Instruction* producer, WrittenOperands* written) {
  const std::vector<Instruction*> users(producer->users().begin(), producer->users().end());
  bool changed = false;
  bool is_taken = !absl::c_all_of(users, [&](const Instruction* user) { return written->Any(*user); });
  for (Instruction* user : users) {
    for (int64_t i : written->PlacesOf(producer, *user)) {
      if (is_taken) user->ReplaceOperand(i, Copy(*producer));
      changed |= is_taken;
      is_taken = true;
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> SinkBroadcasts(Module* module) {
  absl::flat_hash_map<const Computation*, int> calls = CallsOfBodies(*module);
  absl::flat_hash_set<const Computation*> fused;
  for (const auto& [body, count] : calls) fused.insert(body);
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    if (fused.contains(computation)) continue;
    // Backwards, so that a chain of them goes in as a whole; and again what has been given what it is made of.
    std::vector<Instruction*> order = computation->PostOrder();
    WrittenOperands written;
    while (!order.empty()) {
      Instruction* producer = order.back();
      order.pop_back();
      if (producer->users().empty() || !IsMadeFromLittle(*producer)) continue;
      changed |= SpreadOverWriters(producer, &written);
      const std::vector<Instruction*> users(producer->users().begin(), producer->users().end());
      if (!absl::c_all_of(users, [&](const Instruction* user) {
            return MayTake(*user, *producer) &&
                   (user->opcode() != Opcode::kFusion || calls[user->called_computation()] == 1);
          })) {
        continue;
      }
      // Where there is no fusion yet, nothing is gained but for others.
      if (absl::c_none_of(users, [](const Instruction* user) { return user->opcode() == Opcode::kFusion; })) continue;
      for (Instruction* user : users) {
        if (user->opcode() != Opcode::kFusion) {
          FusionBody body(module, "fused_" + std::string(hlo::OpcodeName(user->opcode())));
          body.Add(*user);
          Instruction* kernel = std::exchange(user, body.Finish({&user, 1}, hlo::FusionKind::kLoop, "loop_fusion"));
          computation->Remove(kernel);
          calls[user->called_computation()] = 1;
        }
        SinkInto(*producer, user);
        order.push_back(user);
      }
      changed = true;
    }
    if (changed) computation->RemoveDeadInstructions();
  }
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
