#include "src/passes/dce.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "src/analysis/call_graph.h"
#include "src/passes/loop_state.h"

namespace kiln::passes {
namespace {

// Marks the elements of `tuple` that some get-tuple-element with a use reads.
void MarkRead(const Instruction& tuple, std::vector<bool>* needed) {
  for (const Instruction* user : tuple.users()) {
    if (!user->users().empty() || user->IsRoot()) (*needed)[user->tuple_index()] = true;
  }
}

// Which elements of a value somebody reads; empty where that cannot be told.
std::vector<bool> ReadElements(const Instruction& value) {
  if (!value.shape().IsTuple() || !OnlyReadByElement(value)) return {};
  std::vector<bool> needed(value.shape().tuple_shapes().size(), false);
  MarkRead(value, &needed);
  return needed;
}

// Elements of the loop's state that matter, or an empty vector when they cannot be told.
std::vector<bool> NeededState(const Instruction& loop) {
  const Computation& body = *loop.called_computation(0);
  const Computation& condition = *loop.called_computation(1);
  const Instruction* state = body.parameter(0);
  if (!loop.shape().IsTuple() || body.root()->opcode() != Opcode::kTuple || !OnlyReadByElement(loop) ||
      !OnlyReadByElement(*state) || !OnlyReadByElement(*condition.parameter(0))) {
    return {};
  }
  std::vector<bool> needed(loop.shape().tuple_shapes().size(), false);
  MarkRead(loop, &needed);
  MarkRead(*condition.parameter(0), &needed);

  std::vector<const Instruction*> work;
  absl::flat_hash_set<const Instruction*> visited;
  auto mark = [&](const Instruction* instruction) {
    if (visited.insert(instruction).second) work.push_back(instruction);
  };
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) mark(body.root()->operand(i));
  }
  for (const Instruction* instruction : body.instructions()) {
    if (instruction->HasSideEffect()) mark(instruction);
  }
  while (!work.empty()) {
    const Instruction* instruction = work.back();
    work.pop_back();
    if (instruction->opcode() == Opcode::kGetTupleElement && instruction->operand(0) == state) {
      const int64_t index = instruction->tuple_index();
      if (!needed[index]) {
        needed[index] = true;
        mark(body.root()->operand(index));
      }
      continue;
    }
    for (const Instruction* operand : instruction->operands()) mark(operand);
    for (const Instruction* before : instruction->control_predecessors()) mark(before);
  }
  return needed;
}

Shape NarrowedShape(const Shape& tuple, const std::vector<bool>& needed) {
  std::vector<Shape> elements;
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) elements.push_back(tuple.tuple_shapes(i));
  }
  return Shape::Tuple(std::move(elements));
}

// Gives `tuple` its narrow shape and its readers their new indices. Readers of dropped elements are dead; they are
// cut off so that nothing looks at their index again.
void NarrowReaders(Instruction* tuple, const std::vector<bool>& needed) {
  std::vector<int64_t> position(needed.size(), -1);
  int64_t next = 0;
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) position[i] = next++;
  }
  *tuple->mutable_shape() = NarrowedShape(tuple->shape(), needed);
  std::vector<Instruction*> dead;
  for (Instruction* user : tuple->users()) {
    int64_t index = position[user->tuple_index()];
    if (index >= 0) {
      user->GetMutable<hlo::TupleIndexAttributes>()->index = index;
    } else {
      dead.push_back(user);
    }
  }
  for (Instruction* reader : dead) reader->ReplaceAllOperands({});
}

// tuple(elements of `tuple` that are needed).
Instruction* NarrowedTuple(Instruction* tuple, const std::vector<bool>& needed) {
  Builder builder(tuple->parent(), nullptr);
  const std::vector<Instruction*> elements = builder.Elements(tuple);
  std::vector<Instruction*> kept;
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) kept.push_back(elements[i]);
  }
  return builder.Tuple(std::move(kept));
}

bool NarrowLoop(Instruction* loop) {
  std::vector<bool> needed = NeededState(*loop);
  if (!absl::c_linear_search(needed, false)) return false;
  Computation* body = loop->called_computation(0);
  loop->ReplaceOperand(0, NarrowedTuple(loop->operand(0), needed));
  body->set_root(NarrowedTuple(body->root(), needed));
  // What fed only dropped elements goes first: it reads elements that are about to vanish.
  body->RemoveDeadInstructions();
  NarrowReaders(body->parameter(0), needed);
  NarrowReaders(loop->called_computation(1)->parameter(0), needed);
  NarrowReaders(loop, needed);
  return true;
}

// Leaves of operand `index` of `user` what is read of `inside`, as which it is seen there.
bool NarrowOperand(Instruction* user, int64_t index, Instruction* inside) {
  const std::vector<bool> needed = ReadElements(*inside);
  if (!absl::c_linear_search(needed, false)) return false;
  user->ReplaceOperand(index, NarrowedTuple(user->operand(index), needed));
  NarrowReaders(inside, needed);
  return true;
}

// Results that nobody reads, then what branches do not read of their operands.
bool NarrowConditional(Instruction* conditional) {
  const std::vector<bool> needed = ReadElements(*conditional);
  bool changed = absl::c_linear_search(needed, false);
  if (changed) {
    for (Computation* branch : conditional->called_computations()) {
      branch->set_root(NarrowedTuple(branch->root(), needed));
    }
    NarrowReaders(conditional, needed);
  }
  for (size_t i = 0; i < conditional->called_computations().size(); ++i) {
    Computation* branch = conditional->called_computation(i);
    branch->RemoveDeadInstructions();
    changed |= NarrowOperand(conditional, static_cast<int64_t>(i) + 1, branch->parameter(0));
  }
  return changed;
}

// A sort carries what is compared and what somebody reads.
bool NarrowSort(Instruction* sort, bool owns_comparator) {
  std::vector<bool> needed = ReadElements(*sort);
  if (needed.empty()) return false;
  const auto is_compared = [&](int64_t parameter) {
    const Instruction* compared = sort->called_computation()->parameter(parameter);
    return !compared->users().empty() || compared->IsRoot();
  };
  std::vector<Instruction*> operands;
  for (int64_t i = 0; i < sort->operand_count(); ++i) {
    needed[i] = needed[i] || is_compared(2 * i) || is_compared(2 * i + 1);
    if (needed[i]) operands.push_back(sort->operand(i));
  }
  if (operands.empty() || operands.size() == needed.size()) return false;
  if (!owns_comparator) {
    sort->set_called_computation(0, sort->parent()->parent()->AddClone(*sort->called_computation()));
  }
  for (int64_t i = sort->operand_count(); i-- > 0;) {
    for (int64_t parameter : {2 * i + 1, 2 * i}) {
      if (!needed[i]) sort->called_computation()->RemoveParameter(parameter);
    }
  }
  sort->ReplaceAllOperands(operands);
  NarrowReaders(sort, needed);
  if (operands.size() > 1) return true;
  // One array is no tuple.
  *sort->mutable_shape() = Shape(sort->shape().tuple_shapes(0));
  for (Instruction* reader : std::vector<Instruction*>(sort->users().begin(), sort->users().end())) {
    reader->ReplaceAllUsesWith(sort);
    reader->ReplaceAllOperands({});
  }
  return true;
}

// Narrows the tuples of while loops (elements that neither the condition, nor a live element of the next iteration, nor
// a user of the loop reads) and the results and operands of conditionals. Leaves dead instructions behind for a sweep.
// A computation with several callers is left as it is. Returns whether anything changed.
bool RemoveDeadState(Module* module) {
  std::vector<Computation*> order = module->PostOrder();
  const auto has_none = [](const Computation* computation) {
    constexpr Opcode kNarrowed[] = {Opcode::kWhile, Opcode::kConditional, Opcode::kOptBarrier, Opcode::kSort};
    return absl::c_none_of(kNarrowed, [&](Opcode opcode) { return computation->MayContain(opcode); });
  };
  std::erase_if(order, has_none);
  if (order.empty()) return false;
  const analysis::CallerCounts counts(*module);
  bool changed = false;
  // Callers first: state that an outer loop drops is no longer read by inner ones.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    for (Instruction* instruction : (*it)->instructions()) {
      const bool owns = counts.OwnsCallees(*instruction);
      switch (instruction->opcode()) {
        case Opcode::kWhile:
          changed |= owns && NarrowLoop(instruction);
          break;
        case Opcode::kConditional:
          changed |= owns && NarrowConditional(instruction);
          break;
        case Opcode::kOptBarrier:
          changed |= NarrowOperand(instruction, 0, instruction);  // holds back what somebody reads
          break;
        case Opcode::kSort:
          changed |= NarrowSort(instruction, owns);
          break;
        default:
          break;
      }
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> RemoveDeadCode(Module* module) {
  bool changed = false;
  auto sweep = [&] {
    for (Computation* computation : module->PostOrder()) changed |= computation->RemoveDeadInstructions() > 0;
    changed |= module->RemoveUnusedComputations() > 0;
  };
  // Swept first, so that dead code does not count as a use of loop state; swept again for what the state kept alive.
  sweep();
  if (RemoveDeadState(module)) {
    changed = true;
    sweep();
  }
  return changed;
}

}  // namespace kiln::passes
