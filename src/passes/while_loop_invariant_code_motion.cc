#include "src/passes/while_loop_invariant_code_motion.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/call_graph.h"
#include "src/analysis/while_loop.h"
#include "src/passes/loop_state.h"

namespace kiln::passes {
namespace {

using hlo::OpKind;

// What one loop may carry in addition, however small its state is.
constexpr int64_t kMinCarriedBytes = 1 << 20;

bool MayMove(const Instruction& instruction) {
  switch (KindOf(instruction.opcode())) {
    case OpKind::kRandom:
    case OpKind::kCommunication:
    case OpKind::kDynamicShape:
      return false;
    case OpKind::kControl:
      // Calls, loops and branches stay: what they hold may never end.
      if (instruction.opcode() != Opcode::kTuple && instruction.opcode() != Opcode::kGetTupleElement) return false;
      break;
    default:
      break;
  }
  return !instruction.IsParameter() && instruction.opcode() != Opcode::kCustomCall &&
         instruction.opcode() != Opcode::kOptBarrier && instruction.control_predecessors().empty() &&
         !instruction.shape().has_dynamic_dimensions() && !instruction.HasSideEffect();
}

// Whether computing it costs so much more than loading it that it may take more memory than its sources.
bool IsExpensive(const Instruction& instruction) {
  switch (KindOf(instruction.opcode())) {
    case OpKind::kContraction:
    case OpKind::kReduction:
    case OpKind::kComposite:
      return true;
    default:
      return instruction.opcode() == Opcode::kScatter;
  }
}

// One computation of a loop.
class Hoister {
 public:
  Hoister(Computation* computation, const std::vector<bool>& invariant) : order_(computation->PostOrder()) {
    const Instruction* state = computation->parameter(0);
    for (Instruction* instruction : order_) {
      if (instruction->opcode() == Opcode::kGetTupleElement && instruction->operand(0) == state) {
        if (invariant[instruction->tuple_index()]) bytes_[instruction] = instruction->shape().byte_count();
        continue;
      }
      if (MayMove(*instruction)) Consider(instruction);
    }
  }

  // What is worth computing before the loop and still read inside it, operands before users. `budget` bounds its bytes.
  std::vector<Instruction*> Carried(int64_t* budget) {
    absl::flat_hash_set<const Instruction*> alive;
    std::vector<Instruction*> carried;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      Instruction* instruction = *it;
      const auto users = instruction->users();
      if (!instruction->IsRoot() && !users.empty() &&
          absl::c_none_of(users, [&](const Instruction* user) { return alive.contains(user); })) {
        continue;
      }
      if (hoisted_.contains(instruction) && instruction->shape().byte_count() <= *budget) {
        *budget -= instruction->shape().byte_count();
        carried.push_back(instruction);
      } else {
        alive.insert(instruction);
      }
    }
    absl::c_reverse(carried);
    return carried;
  }

  // What `carried` needs of this computation, itself included, operands before users.
  std::vector<Instruction*> Closure(const std::vector<Instruction*>& carried) const {
    absl::flat_hash_set<const Instruction*> needed(carried.begin(), carried.end());
    std::vector<Instruction*> closure;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      if (!needed.contains(*it) || IsStateRead(**it)) continue;
      closure.push_back(*it);
      needed.insert((*it)->operands().begin(), (*it)->operands().end());
    }
    absl::c_reverse(closure);
    return closure;
  }

 private:
  static bool IsStateRead(const Instruction& instruction) {
    return instruction.opcode() == Opcode::kGetTupleElement && instruction.operand(0)->IsParameter();
  }

  // Sorts an instruction that may move into those that vary, those that are free, and those that are hoisted.
  void Consider(Instruction* instruction) {
    int64_t sources = 0;
    for (const Instruction* operand : instruction->operands()) {
      auto bytes = bytes_.find(operand);
      if (bytes == bytes_.end()) return;
      sources += bytes->second;
    }
    const int64_t own = instruction->shape().byte_count();
    if (instruction->IsConstant()) {
      bytes_[instruction] = own;
    } else if (IsFree(*instruction)) {
      bytes_[instruction] = std::min(own, sources);
    } else if (!instruction->shape().IsArray() || (own > sources && !IsExpensive(*instruction))) {
      // Made again in every round, from sources that others may read as well.
      bytes_[instruction] = sources;
    } else {
      bytes_[instruction] = own;
      hoisted_.insert(instruction);
    }
  }

  std::vector<Instruction*> order_;
  // What does not vary -> bytes that must be kept to have it.
  absl::flat_hash_map<const Instruction*, int64_t> bytes_;
  absl::flat_hash_set<const Instruction*> hoisted_;
};

bool HoistFrom(Instruction* loop, int computation_index, int64_t* budget) {
  const std::vector<bool> invariant = analysis::InvariantState(*loop);
  if (invariant.empty()) return false;
  Computation* computation = loop->called_computation(computation_index);
  Hoister hoister(computation, invariant);
  const std::vector<Instruction*> carried = hoister.Carried(budget);
  if (carried.empty() || !MakeStateExplicit(loop)) return false;

  const auto copies = CopyInto(loop->parent(), hoister.Closure(carried),
                               [&](Instruction* read) { return loop->operand(0)->operand(read->tuple_index()); });
  std::vector<Instruction*> values;
  for (const Instruction* instruction : carried) values.push_back(copies.at(instruction));
  int64_t index = AddInvariantState(loop, values);
  Builder builder(computation, nullptr);
  for (Instruction* instruction : carried) {
    instruction->ReplaceAllUsesWith(builder.GetTupleElement(computation->parameter(0), index++));
  }
  computation->RemoveDeadInstructions();
  return true;
}

}  // namespace

absl::StatusOr<bool> HoistLoopInvariants(Module* module) {
  bool changed = false;
  // Inner loops first: what leaves one may leave those around it as well.
  for (Instruction* loop : analysis::OwnersOfCallees(*module, Opcode::kWhile)) {
    int64_t budget = std::max(loop->shape().byte_count(), kMinCarriedBytes);
    for (int computation : {0, 1}) changed |= HoistFrom(loop, computation, &budget);
  }
  return changed;
}

}  // namespace kiln::passes
