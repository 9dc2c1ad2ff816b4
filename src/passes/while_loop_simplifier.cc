#include "src/passes/while_loop_simplifier.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/call_graph.h"
#include "src/analysis/value_numbers.h"
#include "src/analysis/while_loop.h"
#include "src/passes/dce.h"
#include "src/passes/loop_state.h"

namespace kiln::passes {
namespace {

constexpr int kMaxRefinements = 8;

// What the next values of elements that are not alone in their class are computed from, operands before users.
std::vector<const Instruction*> WhatDecides(const Instruction& loop, const std::vector<int64_t>& classes) {
  const Computation& body = *loop.called_computation(0);
  std::vector<int64_t> members(classes.size());
  for (int64_t of : classes) ++members[of];
  std::vector<const Instruction*> work;
  absl::flat_hash_set<const Instruction*> needed;
  auto need = [&](const Instruction* instruction) {
    if (needed.insert(instruction).second) work.push_back(instruction);
  };
  for (size_t i = 0; i < classes.size(); ++i) {
    if (members[classes[i]] > 1) need(body.root()->operand(i));
  }
  while (!work.empty()) {
    const Instruction* instruction = work.back();
    work.pop_back();
    for (const Instruction* operand : instruction->operands()) need(operand);
  }
  std::vector<const Instruction*> order;
  for (const Instruction* instruction : body.PostOrder()) {
    if (needed.contains(instruction)) order.push_back(instruction);
  }
  return order;
}

// Partitions the state: elements of a class start equal and, if all of a class are equal, stay so in every round. The
// class of an element is the index of its first. Empty when all elements are alone, or when it takes too long to tell.
std::vector<int64_t> EqualElements(const Instruction& loop) {
  const Instruction &start = *loop.operand(0), &next = *loop.called_computation(0)->root();
  if (!loop.shape().IsTuple() || start.opcode() != Opcode::kTuple || next.opcode() != Opcode::kTuple) return {};
  const Instruction* state = loop.called_computation(0)->parameter(0);
  const size_t size = loop.shape().tuple_shapes().size();
  std::vector<int64_t> classes(size);
  analysis::ValueNumbers starts;
  // Splits classes by `number` of each element; returns how many there are then.
  auto split = [&](auto number) {
    absl::flat_hash_map<std::pair<int64_t, int64_t>, int64_t> first;
    for (size_t i = 0; i < size; ++i) {
      classes[i] = first.try_emplace({classes[i], number(i)}, static_cast<int64_t>(i)).first->second;
    }
    return first.size();
  };
  size_t count = split([&](size_t i) {
    const Instruction* value = start.operand(i);
    return value->IsConstant() ? starts.Number(*value) : starts.NumberOfLeaf(value, 0);
  });
  if (count == size) return {};
  const std::vector<const Instruction*> order = WhatDecides(loop, classes);
  for (int round = 0; round < kMaxRefinements && count < size; ++round) {
    analysis::ValueNumbers numbers;
    for (const Instruction* instruction : order) {
      if (instruction->opcode() == Opcode::kGetTupleElement && instruction->operand(0) == state) {
        numbers.Set(*instruction, numbers.NumberOfLeaf(nullptr, classes[instruction->tuple_index()]));
      } else {
        numbers.Number(*instruction);
      }
    }
    std::vector<int64_t> members(size);
    for (int64_t of : classes) ++members[of];
    const size_t refined =
        split([&](size_t i) { return members[classes[i]] > 1 ? numbers.Number(*next.operand(i)) : 0; });
    if (refined == count) return classes;
    count = refined;
  }
  return {};
}

// Lets every reader of an element read the first one of its class.
bool MergeEqualElements(Instruction* loop) {
  const std::vector<int64_t> classes = EqualElements(*loop);
  if (classes.empty() || !MakeStateExplicit(loop)) return false;
  bool changed = false;
  for (Instruction* tuple :
       {loop, loop->called_computation(0)->parameter(0), loop->called_computation(1)->parameter(0)}) {
    for (Instruction* reader : tuple->users()) {
      const int64_t index = reader->tuple_index();
      if (classes[index] == index || (reader->users().empty() && !reader->IsRoot())) continue;
      reader->GetMutable<hlo::TupleIndexAttributes>()->index = classes[index];
      changed = true;
    }
  }
  return changed;
}

// The elements of the start that elements of the result are, or -1: what the body hands on unchanged, and what it sets
// to that in every round, if there is one.
std::vector<int64_t> StartsInResult(const Instruction& loop) {
  const std::vector<bool> invariant = analysis::InvariantState(loop);
  const Computation& body = *loop.called_computation(0);
  std::vector<int64_t> starts(invariant.size(), -1);
  bool runs = false, is_set = false;
  for (size_t i = 0; i < invariant.size(); ++i) {
    const Instruction& next = *body.root()->operand(static_cast<int64_t>(i));
    if (next.opcode() != Opcode::kGetTupleElement || next.operand(0) != body.parameter(0)) continue;
    if (!invariant[next.tuple_index()]) continue;
    if (!invariant[i] && !std::exchange(is_set, true)) runs = analysis::KnownTripCount(loop).value_or(0) > 0;
    if (invariant[i] || runs) starts[i] = next.tuple_index();
  }
  return starts;
}

// Lets readers of the loop's result use the start of what is the same there.
bool ForwardInvariants(Instruction* loop) {
  const std::vector<int64_t> starts = StartsInResult(*loop);
  if (absl::c_all_of(starts, [](int64_t start) { return start < 0; })) return false;
  auto reads_start = [&](const Instruction* user) {
    return user->opcode() != Opcode::kGetTupleElement || starts[user->tuple_index()] >= 0;
  };
  if (!loop->IsRoot() && absl::c_none_of(loop->users(), reads_start)) return false;
  MakeStateExplicit(loop);
  const std::vector<Instruction*> readers(loop->users().begin(), loop->users().end());
  bool changed = false;
  for (Instruction* reader : readers) {
    const int64_t start = starts[reader->tuple_index()];
    if (start < 0 || (reader->users().empty() && !reader->IsRoot())) continue;
    reader->ReplaceAllUsesWith(loop->operand(0)->operand(start));
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> SimplifyLoops(Module* module) {
  bool changed = false;
  for (Instruction* loop : analysis::OwnersOfCallees(*module, Opcode::kWhile)) {
    changed |= FlattenState(loop);
    changed |= MergeEqualElements(loop);
    changed |= ForwardInvariants(loop);
  }
  absl::StatusOr<bool> swept = RemoveDeadCode(module);
  if (!swept.ok()) return swept;
  return changed || *swept;
}

}  // namespace kiln::passes
