#include "src/passes/conditional_merger.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/call_graph.h"

namespace kiln::passes {
namespace {

// Between one and the next, in an order of operands before users.
constexpr size_t kMaxDistance = 256;
// Of what the second is given and gives: when they are one, it is all there at once.
constexpr int64_t kMaxBytes = 64 << 10;
// In which the next may be.
constexpr size_t kMaxOpenConditionals = 4;
// Of all branches that become one.
constexpr int64_t kMaxMergedInstructions = 256;

int64_t BytesOf(const Instruction& conditional) {
  int64_t bytes = conditional.shape().byte_count();
  for (const Instruction* operand : conditional.operands().subspan(1)) bytes += operand->shape().byte_count();
  return bytes;
}

// Conditionals that become one: each asks the same, and its branches need nothing that the ones before it have a part
// in, save their results.
class ConditionalGroup {
 public:
  explicit ConditionalGroup(Instruction* first) { Take(first); }

  const Instruction& first() const { return *members_[0]; }
  bool HasSeveral() const { return members_.size() > 1; }

  // To be told what stands behind the last member, in an order of operands before users.
  void Note(const Instruction& instruction) {
    const auto depends = [&](const Instruction* operand) { return depends_.contains(operand); };
    if (absl::c_any_of(instruction.operands(), depends) ||
        absl::c_any_of(instruction.control_predecessors(), depends)) {
      depends_.insert(&instruction);
    }
  }

  bool MayTake(const Instruction& next) const {
    const auto operands = next.operands();
    return next.operand(0) == first().operand(0) &&
           next.called_computations().size() == first().called_computations().size() && BytesOf(next) <= kMaxBytes &&
           instructions_ + InstructionsOf(next) <= kMaxMergedInstructions && !depends_.contains(next.operand(0)) &&
           absl::c_all_of(operands.subspan(1), [&](const Instruction* operand) {
             const auto is_known = [&](const Instruction* part) {
               return !depends_.contains(part) || MemberOf(*part) >= 0;
             };
             return is_known(operand) ||
                    (operand->opcode() == Opcode::kTuple && absl::c_all_of(operand->operands(), is_known));
           });
  }

  void Take(Instruction* next) {
    members_.push_back(next);
    depends_.insert(next);
    instructions_ += InstructionsOf(*next);
  }

  void Merge() {
    Builder outer(first().parent(), &first());
    std::vector<Computation*> branches;
    std::vector<Instruction*> operands = {members_[0]->operands()[0]};
    for (size_t b = 0; b < first().called_computations().size(); ++b) {
      std::vector<Instruction*> given;
      branches.push_back(Branch(b, outer, &given));
      operands.push_back(outer.Tuple(std::move(given)));
    }
    Instruction* merged =
        outer.Add(Opcode::kConditional, branches[0]->root()->shape(), std::move(operands), {}, branches);
    int64_t next = 0;
    for (Instruction* member : members_) member->ReplaceAllUsesWith(Taken(member->shape(), merged, &next, outer));
  }

 private:
  static int64_t InstructionsOf(const Instruction& conditional) {
    int64_t count = 0;
    for (const Computation* branch : conditional.called_computations()) count += branch->instruction_count();
    return count;
  }

  // The member that `value` is the result of, or an element of its result; -1 where it is none.
  int64_t MemberOf(const Instruction& value) const {
    const Instruction* result = value.opcode() == Opcode::kGetTupleElement ? value.operand(0) : &value;
    const auto found = absl::c_find(members_, result);
    return found == members_.end() ? -1 : found - members_.begin();
  }

  // What of a member's operand stands by itself: its elements, where one depends on members.
  absl::Span<Instruction* const> Parts(const Instruction& member, size_t b) const {
    const Instruction& operand = *member.operand(b + 1);
    const bool is_split = depends_.contains(&operand) && MemberOf(operand) < 0;
    return is_split ? operand.operands() : member.operands().subspan(b + 1, 1);
  }

  // What a branch computes of all members; `given` gets what it needs from outside.
  Computation* Branch(size_t b, Builder& outer, std::vector<Instruction*>* given) {
    for (const Instruction* member : members_) {
      for (Instruction* part : Parts(*member, b)) {
        if (MemberOf(*part) < 0) Append(part, outer, given);
      }
    }
    std::vector<Shape> shapes;
    for (const Instruction* value : *given) shapes.push_back(value->shape());
    Computation* branch = first().parent()->parent()->AddComputation(first().called_computation(b)->name());
    Instruction* state = branch->AddParameter(0, Shape::Tuple(std::move(shapes)));
    Builder inner(branch, &first());
    int64_t next = 0;
    std::vector<Instruction*> results, elements;
    for (const Instruction* member : members_) {
      std::vector<Instruction*> arguments;
      for (const Instruction* part : Parts(*member, b)) {
        const int64_t of = MemberOf(*part);
        arguments.push_back(of < 0                 ? Taken(part->shape(), state, &next, inner)
                            : part == members_[of] ? results[of]
                                                   : inner.GetTupleElement(results[of], part->tuple_index()));
      }
      const bool is_whole = Parts(*member, b).data() == &member->operands()[b + 1];
      Instruction* argument = is_whole ? arguments[0] : inner.Tuple(std::move(arguments));
      results.push_back(inner.Inline(*member->called_computation(b), {argument}));
      Append(results.back(), inner, &elements);
    }
    branch->set_root(inner.Tuple(std::move(elements)));
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

  std::vector<Instruction*> members_;
  absl::flat_hash_set<const Instruction*> depends_;  // on members, which are among them
  int64_t instructions_ = 0;
};

// Groups that members may still join, and where they begin and end.
struct OpenGroup {
  ConditionalGroup group;
  size_t first, last;
};

// Merges in one go what may be, save groups that stand among each other: they might need each other.
bool MergeIn(Computation* computation, absl::Span<Instruction* const> candidates) {
  const absl::flat_hash_set<const Instruction*> is_candidate(candidates.begin(), candidates.end());
  const std::vector<Instruction*> order = computation->PostOrder();
  std::vector<OpenGroup> groups;
  size_t first_open = 0;  // of the last few
  for (size_t i = 0; i < order.size(); ++i) {
    bool is_taken = !is_candidate.contains(order[i]);
    first_open = std::max(first_open, groups.size() - std::min(groups.size(), kMaxOpenConditionals));
    for (size_t g = first_open; g < groups.size(); ++g) {
      if (i - groups[g].last > kMaxDistance) continue;
      if (!is_taken && groups[g].group.MayTake(*order[i])) {
        groups[g].group.Take(order[i]);
        groups[g].last = i;
        is_taken = true;
      } else {
        groups[g].group.Note(*order[i]);
      }
    }
    if (!is_taken) groups.push_back({ConditionalGroup(order[i]), i, i});
  }
  bool changed = false;
  size_t end = 0;
  for (OpenGroup& open : groups) {
    if (!open.group.HasSeveral() || (changed && open.first < end)) continue;
    open.group.Merge();
    end = open.last;
    changed = true;
  }
  if (changed) computation->RemoveDeadInstructions();
  return changed;
}

}  // namespace

absl::StatusOr<bool> MergeConditionals(Module* module) {
  absl::flat_hash_map<const Computation*, std::vector<Instruction*>> conditionals;
  for (Instruction* conditional : analysis::OwnersOfCallees(*module, Opcode::kConditional)) {
    if (!conditional->HasSideEffect()) conditionals[conditional->parent()].push_back(conditional);
  }
  bool changed = false;
  for (Computation* computation : module->PostOrder()) {
    const auto found = conditionals.find(computation);
    if (found != conditionals.end() && found->second.size() > 1) changed |= MergeIn(computation, found->second);
  }
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
