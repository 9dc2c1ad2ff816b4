#include "src/passes/conditional_merger.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/call_graph.h"

namespace kiln::passes {
namespace {

// Between the two, in an order of operands before users.
constexpr size_t kMaxDistance = 256;

bool IsPartOf(const Instruction& value, const Instruction& first) {
  return &value == &first || (value.opcode() == Opcode::kGetTupleElement && value.operand(0) == &first);
}

class Pair {
 public:
  // `between`: what stands between the two in an order of operands before users.
  Pair(Instruction* first, Instruction* second, absl::Span<Instruction* const> between)
      : first_(first), second_(second) {
    depends_.insert(first);
    const auto depends = [&](const Instruction* operand) { return depends_.contains(operand); };
    for (const Instruction* instruction : between) {
      if (absl::c_any_of(instruction->operands(), depends) ||
          absl::c_any_of(instruction->control_predecessors(), depends)) {
        depends_.insert(instruction);
      }
    }
  }

  bool MayMerge() const {
    const auto operands = second_->operands();
    return absl::c_all_of(operands.subspan(1), [&](const Instruction* operand) {
      if (!depends_.contains(operand) || IsPartOf(*operand, *first_)) return true;
      return operand->opcode() == Opcode::kTuple &&
             absl::c_all_of(operand->operands(), [&](const Instruction* element) {
               return !depends_.contains(element) || IsPartOf(*element, *first_);
             });
    });
  }

  void Merge() {
    Builder outer(second_->parent(), first_);
    std::vector<Computation*> branches;
    std::vector<Instruction*> operands = {first_->operands()[0]};
    for (int64_t b = 0; b < static_cast<int64_t>(first_->called_computations().size()); ++b) {
      std::vector<Instruction*> given;
      branches.push_back(Branch(b, outer, &given));
      operands.push_back(outer.Tuple(std::move(given)));
    }
    Instruction* merged =
        outer.Add(Opcode::kConditional, branches[0]->root()->shape(), std::move(operands), {}, branches);
    int64_t next = 0;
    for (Instruction* conditional : {first_, second_}) {
      conditional->ReplaceAllUsesWith(Taken(conditional->shape(), merged, &next, outer));
    }
  }

 private:
  // What a branch computes of both; `given` gets what it needs from outside.
  Computation* Branch(int64_t b, Builder& outer, std::vector<Instruction*>* given) {
    Instruction *of_first = first_->operands()[b + 1], *of_second = second_->operands()[b + 1];
    Append(of_first, outer, given);
    const bool is_split = of_second->opcode() == Opcode::kTuple && depends_.contains(of_second);
    const absl::Span<Instruction* const> parts =
        is_split ? of_second->operands() : second_->operands().subspan(b + 1, 1);
    for (Instruction* part : parts) {
      if (!depends_.contains(part)) Append(part, outer, given);
    }
    std::vector<Shape> shapes;
    for (const Instruction* value : *given) shapes.push_back(value->shape());
    const Computation& before = *first_->called_computation(b);
    Computation* branch = second_->parent()->parent()->AddComputation(before.name());
    Instruction* state = branch->AddParameter(0, Shape::Tuple(std::move(shapes)));
    Builder inner(branch, second_);
    int64_t next = 0;
    Instruction* result = inner.Inline(before, {Taken(of_first->shape(), state, &next, inner)});
    std::vector<Instruction*> arguments;
    for (const Instruction* part : parts) {
      arguments.push_back(part == first_            ? result
                          : depends_.contains(part) ? inner.GetTupleElement(result, part->tuple_index())
                                                    : Taken(part->shape(), state, &next, inner));
    }
    Instruction* argument = is_split ? inner.Tuple(std::move(arguments)) : arguments[0];
    std::vector<Instruction*> results;
    Append(result, inner, &results);
    Append(inner.Inline(*second_->called_computation(b), {argument}), inner, &results);
    branch->set_root(inner.Tuple(std::move(results)));
    return branch;
  }

  // The elements of a tuple, or what is none.
  static void Append(Instruction* value, Builder& builder, std::vector<Instruction*>* values) {
    if (!value->shape().IsTuple()) return values->push_back(value);
    for (Instruction* element : builder.Elements(value)) values->push_back(element);
  }

  // A value of `shape` of the elements of `tuple` from `*next` on, as Append lays them down.
  static Instruction* Taken(const Shape& shape, Instruction* tuple, int64_t* next, Builder& builder) {
    if (!shape.IsTuple()) return builder.GetTupleElement(tuple, (*next)++);
    std::vector<Instruction*> elements;
    for (size_t i = 0; i < shape.tuple_shapes().size(); ++i) {
      elements.push_back(builder.GetTupleElement(tuple, (*next)++));
    }
    return builder.Tuple(std::move(elements));
  }

  Instruction *first_, *second_;
  absl::flat_hash_set<const Instruction*> depends_;  // on the first
};

}  // namespace

absl::StatusOr<bool> MergeConditionals(Module* module) {
  absl::flat_hash_map<Computation*, std::vector<Instruction*>> conditionals;
  for (Instruction* conditional : analysis::OwnersOfCallees(*module, Opcode::kConditional)) {
    if (!conditional->HasSideEffect()) conditionals[conditional->parent()].push_back(conditional);
  }
  bool changed = false;
  for (auto& [computation, candidates] : conditionals) {
    if (candidates.size() < 2) continue;
    const absl::flat_hash_set<const Instruction*> is_candidate(candidates.begin(), candidates.end());
    const std::vector<Instruction*> order = computation->PostOrder();
    absl::flat_hash_map<const Instruction*, size_t> last;  // by what is asked: where the last one stands
    size_t settled = 0;                                    // what stands before is no longer as it was
    for (size_t i = 0; i < order.size(); ++i) {
      if (!is_candidate.contains(order[i])) continue;
      const auto [it, inserted] = last.try_emplace(order[i]->operand(0), i);
      const size_t before = std::exchange(it->second, i);
      if (inserted || before < settled || i - before > kMaxDistance ||
          order[before]->called_computations().size() != order[i]->called_computations().size()) {
        continue;
      }
      Pair pair(order[before], order[i], absl::MakeConstSpan(order).subspan(before + 1, i - before - 1));
      if (!pair.MayMerge()) continue;
      pair.Merge();
      settled = i + 1;
      changed = true;
    }
    if (changed) computation->RemoveDeadInstructions();
  }
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
