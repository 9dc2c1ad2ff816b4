#include "src/passes/condition_propagation.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/analysis/call_graph.h"
#include "src/analysis/value_numbers.h"
#include "src/passes/loop_state.h"

namespace kiln::passes {
namespace {

// What values are known to be, by their numbers.
class Facts {
 public:
  explicit Facts(analysis::ValueNumbers* numbers) : numbers_(numbers) {}

  // Learns what the scalar `value` is, and what follows from it.
  void Learn(const Instruction& value, const Literal& known) {
    constexpr size_t kMaxFacts = 64;
    if (known_.size() == kMaxFacts || !known_.emplace(numbers_->Number(value), known).second) return;
    if (value.shape().element_type() != PrimitiveType::kPred) return;
    const bool holds = hlo::IsSplatOf(known, 1);
    if (value.opcode() == Opcode::kNot) Learn(*value.operand(0), Predicate(!holds));
    if (value.opcode() == (holds ? Opcode::kAnd : Opcode::kOr)) {
      for (const Instruction* part : value.operands()) Learn(*part, known);
    }
    if (value.opcode() != Opcode::kCompare ||
        value.comparison().direction != (holds ? ComparisonDirection::kEq : ComparisonDirection::kNe)) {
      return;
    }
    // Floats may be zeros of either sign.
    const Instruction &x = *value.operand(0), &y = *value.operand(1);
    if (y.IsConstant() && hlo::IsIntegral(y.shape().element_type())) Learn(x, y.literal());
  }

  // Puts constants in the place of what is known in `computation`. What it hands on stays: others look for that.
  bool Use(Computation* computation) const {
    bool changed = false;
    for (Instruction* instruction : computation->PostOrder()) {
      const auto known = known_.find(numbers_->Number(*instruction));
      if (known == known_.end() || instruction->IsConstant()) continue;
      changed |= ReplaceUsesInside(instruction, [&] { return computation->AddConstant(known->second); });
    }
    return changed;
  }

  // Lets what branch `branch` gets have the numbers of the outer values.
  void Enter(const Instruction& conditional, int64_t branch) {
    const Instruction& outer = *conditional.operand(branch + 1);
    const Instruction* parameter = conditional.called_computation(branch)->parameter(0);
    auto stands_for = [&](const Instruction& inner, const Instruction& value) {
      numbers_->Set(inner, numbers_->Number(value));
      if (value.IsConstant() && value.shape().IsScalar()) Learn(value, value.literal());
      if (value.opcode() != Opcode::kNot) return;
      const auto known = known_.find(numbers_->Number(*value.operand(0)));
      if (known != known_.end() && value.shape() == Shape::Scalar(PrimitiveType::kPred)) {
        Learn(value, Predicate(!hlo::IsSplatOf(known->second, 1)));
      }
    };
    stands_for(*parameter, outer);
    for (const Instruction* reader : parameter->users()) {
      if (reader->opcode() != Opcode::kGetTupleElement || outer.opcode() != Opcode::kTuple) continue;
      stands_for(*reader, *outer.operand(reader->tuple_index()));
    }
  }

  static Literal Predicate(bool holds) { return hlo::LiteralOf(Shape::Scalar(PrimitiveType::kPred), int64_t{holds}); }

 private:
  analysis::ValueNumbers* numbers_;
  absl::flat_hash_map<int64_t, Literal> known_;
};

bool EnterBranches(const Instruction& conditional, analysis::ValueNumbers* numbers) {
  const Instruction& index = *conditional.operand(0);
  const int64_t branches = static_cast<int64_t>(conditional.called_computations().size());
  const bool is_predicate = index.shape().element_type() == PrimitiveType::kPred;
  bool changed = false;
  for (int64_t branch = 0; branch < branches; ++branch) {
    Facts facts(numbers);
    if (is_predicate) {
      facts.Learn(index, Facts::Predicate(branch == 0));
    } else if (branch + 1 < branches) {  // the last one is taken for every other index
      facts.Learn(index, hlo::LiteralOf(index.shape(), branch));
    }
    facts.Enter(conditional, branch);
    changed |= facts.Use(conditional.called_computation(branch));
  }
  return changed;
}

bool EnterBody(const Instruction& loop) {
  // The state has one number in both.
  analysis::ValueNumbers numbers;
  const Computation& condition = *loop.called_computation(1);
  for (const Instruction* instruction : condition.PostOrder()) numbers.Number(*instruction);
  Facts facts(&numbers);
  facts.Learn(*condition.root(), Facts::Predicate(true));
  return facts.Use(loop.called_computation(0));
}

}  // namespace

absl::StatusOr<bool> PropagateConditions(Module* module) {
  bool changed = false;
  for (const Instruction* loop : analysis::OwnersOfCallees(*module, Opcode::kWhile)) changed |= EnterBody(*loop);
  absl::flat_hash_map<const Computation*, std::vector<const Instruction*>> conditionals;
  for (const Instruction* conditional : analysis::OwnersOfCallees(*module, Opcode::kConditional)) {
    conditionals[conditional->parent()].push_back(conditional);
  }
  const std::vector<Computation*> order = module->PostOrder();
  // Outer computations first: what is known in a branch is known in those inside.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const auto found = conditionals.find(*it);
    if (found == conditionals.end()) continue;
    analysis::ValueNumbers numbers;
    for (const Instruction* instruction : (*it)->PostOrder()) numbers.Number(*instruction);
    for (const Instruction* conditional : found->second) changed |= EnterBranches(*conditional, &numbers);
  }
  return changed;
}

}  // namespace kiln::passes
