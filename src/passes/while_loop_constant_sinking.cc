#include "src/passes/while_loop_constant_sinking.h"

#include <vector>

#include "src/analysis/call_graph.h"
#include "src/analysis/while_loop.h"
#include "src/passes/loop_state.h"

namespace kiln::passes {
namespace {

constexpr size_t kMaxTree = 8;

// `value` and what it is made of, operands first, when that is constants under ops that cost nothing to repeat; else
// nothing.
std::vector<Instruction*> ConstantTree(Instruction* value) {
  std::vector<Instruction*> tree = {value};
  for (size_t i = 0; i < tree.size(); ++i) {
    switch (tree[i]->opcode()) {
      case Opcode::kConstant:
      case Opcode::kIota:
        break;
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kConvert:
        tree.push_back(tree[i]->operand(0));
        break;
      default:
        return {};
    }
    if (tree.size() > kMaxTree || !tree[i]->control_predecessors().empty()) return {};
  }
  absl::c_reverse(tree);
  return tree;
}

// Lets the readers of the state elements that have a tree use a copy of it, save what hands the elements on.
bool Sink(const std::vector<std::vector<Instruction*>>& trees, Computation* computation) {
  std::vector<Instruction*> copies(trees.size());
  auto copy_of = [&](int64_t index) {
    if (copies[index] == nullptr) copies[index] = CopyInto(computation, trees[index], nullptr).at(trees[index].back());
    return copies[index];
  };
  Instruction* root = computation->root();
  const auto parameter_users = computation->parameter(0)->users();
  const std::vector<Instruction*> readers(parameter_users.begin(), parameter_users.end());
  bool changed = false;
  for (Instruction* reader : readers) {
    if (reader->opcode() != Opcode::kGetTupleElement || trees[reader->tuple_index()].empty()) continue;
    const int64_t index = reader->tuple_index();
    changed |= ReplaceUsesInside(reader, [&] { return copy_of(index); });
    if (reader->IsRoot()) {
      computation->set_root(copy_of(index));
      changed = true;
    }
  }
  if (root->opcode() != Opcode::kTuple) return changed;
  for (int64_t i = 0; i < root->operand_count(); ++i) {
    const Instruction& element = *root->operand(i);
    if (element.opcode() != Opcode::kGetTupleElement || element.operand(0) != computation->parameter(0)) continue;
    if (element.tuple_index() == i || trees[element.tuple_index()].empty()) continue;
    root->ReplaceOperand(i, copy_of(element.tuple_index()));
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> SinkLoopConstants(Module* module) {
  bool changed = false;
  std::vector<Instruction*> loops = analysis::OwnersOfCallees(*module, Opcode::kWhile);
  // Outer loops first: what is sunk into one may go on into those inside.
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    const Instruction& start = *(*loop)->operand(0);
    const std::vector<bool> invariant = analysis::InvariantState(**loop);
    if (start.opcode() != Opcode::kTuple) continue;
    std::vector<std::vector<Instruction*>> trees(invariant.size());
    bool any = false;
    for (size_t i = 0; i < invariant.size(); ++i) {
      if (invariant[i]) trees[i] = ConstantTree(start.operand(i));
      any |= !trees[i].empty();
    }
    if (!any) continue;
    for (Computation* computation : (*loop)->called_computations()) changed |= Sink(trees, computation);
  }
  return changed;
}

}  // namespace kiln::passes
