#include "src/passes/conditional_simplifier.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/analysis/call_graph.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/structure.h"
#include "src/base/cpu_tuning.h"
#include "src/passes/dce.h"
#include "src/passes/loop_state.h"
#include "src/passes/simplify/known_branch.h"

namespace kiln::passes {
namespace {

constexpr int64_t kMaxSelectedInstructions = 16;

// What running `branch` without need costs, in elements; more than the limit when it must not run.
int64_t Work(const Computation& branch) {
  const BranchTuning& limits = Tuning().branches;
  const int64_t too_much = limits.selected_elements + 1;
  int64_t work = 0, count = 0;
  for (const Instruction* instruction : branch.instructions()) {
    switch (instruction->opcode()) {
      case Opcode::kParameter:
      case Opcode::kConstant:
      case Opcode::kTuple:
      case Opcode::kGetTupleElement:
      case Opcode::kReshape:
        continue;
      case Opcode::kBroadcast:
      case Opcode::kIota:
      case Opcode::kSlice:
      case Opcode::kTranspose:
      case Opcode::kReverse:
      case Opcode::kConcatenate:
      case Opcode::kPad:
      case Opcode::kDynamicSlice:
        break;
      default:
        if (!hlo::IsElementwise(instruction->opcode())) return too_much;
    }
    const int64_t elements = instruction->shape().element_count();
    if (!instruction->control_predecessors().empty() || elements > limits.selected_elements ||
        ++count > kMaxSelectedInstructions) {
      return too_much;
    }
    const bool is_function = analysis::CostOf(*instruction) == analysis::EvaluationCost::kExpensive;
    work = std::min(too_much, work + std::max(elements, is_function ? limits.function_elements : 0));
  }
  return work;
}

bool OnlyArrays(const Shape& shape) {
  const auto leaves = shape.Leaves();
  return absl::c_all_of(leaves, [](const Shape* leaf) { return leaf->IsArray() && !leaf->has_dynamic_dimensions(); });
}

Instruction* SelectLeaves(Instruction* predicate, Instruction* on_true, Instruction* on_false, Builder& builder) {
  if (on_true == on_false) return on_true;
  if (on_true->shape().IsTuple()) {
    std::vector<Instruction*> elements = builder.Elements(on_true);
    const std::vector<Instruction*> others = builder.Elements(on_false);
    for (size_t i = 0; i < elements.size(); ++i) {
      elements[i] = SelectLeaves(predicate, elements[i], others[i], builder);
    }
    return builder.Tuple(std::move(elements));
  }
  return builder.Select(builder.BroadcastScalar(predicate, on_true->shape().dimensions()), on_true, on_false);
}

// Both branches and a select, where that is cheaper than to jump.
Instruction* AsSelect(const Instruction& conditional, Builder& builder) {
  if (conditional.called_computations().size() != 2 || !OnlyArrays(conditional.shape())) return nullptr;
  const Computation &first = *conditional.called_computation(0), &second = *conditional.called_computation(1);
  if (Work(first) + Work(second) > Tuning().branches.selected_elements) return nullptr;
  Instruction* index = conditional.operand(0);
  if (index->shape().element_type() != PrimitiveType::kPred) {
    index = builder.Compare(ComparisonDirection::kEq, index, builder.Scalar(index->shape().element_type(), 0));
  }
  return SelectLeaves(index, builder.Inline(first, {conditional.operand(1)}),
                      builder.Inline(second, {conditional.operand(2)}), builder);
}

// The one branch that all are copies of, over the one operand that all get.
Instruction* AsOnlyBranch(const Instruction& conditional, const analysis::ComputationClasses& classes,
                          Builder& builder) {
  const auto& branches = conditional.called_computations();
  for (size_t i = 1; i < branches.size(); ++i) {
    const Instruction &a = *conditional.operand(1), &b = *conditional.operand(i + 1);
    const bool same =
        &a == &b || (a.opcode() == Opcode::kTuple && b.opcode() == Opcode::kTuple &&
                     std::equal(a.operands().begin(), a.operands().end(), b.operands().begin(), b.operands().end()));
    if (!same || classes.Representative(branches[i]) != classes.Representative(branches[0])) return nullptr;
  }
  return builder.Inline(*branches[0], {conditional.operand(1)});
}

// Lets readers of a result element that is in every branch the same as an earlier one read that one.
bool MergeEqualResults(Instruction* conditional) {
  if (!conditional->shape().IsTuple() || !OnlyReadByElement(*conditional)) return false;
  const size_t size = conditional->shape().tuple_shapes().size();
  std::vector<int64_t> classes(size, 0);
  for (const Computation* branch : conditional->called_computations()) {
    if (branch->root()->opcode() != Opcode::kTuple) return false;
    absl::flat_hash_map<std::pair<int64_t, const Instruction*>, int64_t> first;
    for (size_t i = 0; i < size; ++i) {
      classes[i] = first.try_emplace({classes[i], branch->root()->operand(i)}, static_cast<int64_t>(i)).first->second;
    }
  }
  bool changed = false;
  for (Instruction* reader : conditional->users()) {
    auto* attributes = reader->GetMutable<hlo::TupleIndexAttributes>();
    if (classes[attributes->index] == attributes->index) continue;
    attributes->index = classes[attributes->index];
    changed = true;
  }
  return changed;
}

// The outer value that element `element` of a branch's root hands on, or null.
Instruction* HandedOn(const Instruction& conditional, int64_t branch, int64_t element) {
  const Computation& callee = *conditional.called_computation(branch);
  const Instruction* value = callee.root();
  if (conditional.shape().IsTuple()) {
    if (value->opcode() != Opcode::kTuple) return nullptr;
    value = value->operand(element);
  }
  Instruction* outer = conditional.operand(branch + 1);
  if (value == callee.parameter(0)) return outer;
  if (value->opcode() != Opcode::kGetTupleElement || value->operand(0) != callee.parameter(0)) return nullptr;
  return outer->opcode() == Opcode::kTuple ? outer->operand(value->tuple_index()) : nullptr;
}

// Lets readers of results that every branch hands on from the same outer value read that value.
bool ForwardHandedOn(Instruction* conditional) {
  auto common = [&](int64_t element) -> Instruction* {
    Instruction* value = HandedOn(*conditional, 0, element);
    for (size_t i = 1; value != nullptr && i < conditional->called_computations().size(); ++i) {
      if (HandedOn(*conditional, static_cast<int64_t>(i), element) != value) return nullptr;
    }
    return value;
  };
  if (!conditional->shape().IsTuple()) {
    Instruction* value = common(0);
    if (value == nullptr) return false;
    conditional->ReplaceAllUsesWith(value);
    return true;
  }
  const std::vector<Instruction*> readers(conditional->users().begin(), conditional->users().end());
  bool changed = false;
  for (Instruction* reader : readers) {
    if (reader->opcode() != Opcode::kGetTupleElement || (reader->users().empty() && !reader->IsRoot())) continue;
    Instruction* value = common(reader->tuple_index());
    if (value == nullptr) continue;
    reader->ReplaceAllUsesWith(value);
    changed = true;
  }
  return changed;
}

bool Simplify(Instruction* conditional, const analysis::ComputationClasses& classes) {
  if (conditional->HasSideEffect()) return false;
  Builder builder(conditional->parent(), conditional);
  Instruction* value = simplify::InlineKnownBranch(*conditional, builder);
  if (value == nullptr) value = AsOnlyBranch(*conditional, classes, builder);
  if (value == nullptr) value = AsSelect(*conditional, builder);
  if (value != nullptr) {
    conditional->ReplaceAllUsesWith(value);
    return true;
  }
  bool changed = false;
  // Branch 0 is that of true, and of the index 0: false.
  const Instruction& index = *conditional->operand(0);
  const bool is_predicate = index.shape().element_type() == PrimitiveType::kPred;
  if (is_predicate ? index.opcode() == Opcode::kNot
                   : index.opcode() == Opcode::kConvert && conditional->called_computations().size() == 2 &&
                         index.operand(0)->shape().element_type() == PrimitiveType::kPred) {
    Instruction* taken = conditional->operand(1);
    conditional->ReplaceOperand(0, index.operand(0));
    conditional->ReplaceOperand(1, conditional->operand(2));
    conditional->ReplaceOperand(2, taken);
    conditional->set_called_computations({conditional->called_computation(1), conditional->called_computation(0)});
    changed = true;
  }
  if (conditional->shape().IsTuple() && conditional->IsRoot()) {
    ReadByElement(conditional);
    changed = true;
  }
  changed |= ForwardHandedOn(conditional);
  changed |= MergeEqualResults(conditional);
  return changed;
}

}  // namespace

absl::StatusOr<bool> SimplifyConditionals(Module* module) {
  const std::vector<Instruction*> conditionals = analysis::OwnersOfCallees(*module, Opcode::kConditional);
  if (conditionals.empty()) return false;
  const analysis::ComputationClasses classes(*module);
  bool changed = false;
  for (Instruction* conditional : conditionals) changed |= Simplify(conditional, classes);
  absl::StatusOr<bool> swept = RemoveDeadCode(module);
  if (!swept.ok()) return swept;
  return changed || *swept;
}

}  // namespace kiln::passes
