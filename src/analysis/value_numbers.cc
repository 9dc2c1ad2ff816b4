#include "src/analysis/value_numbers.h"

#include <utility>

#include "absl/hash/hash.h"

namespace kiln::analysis {

using hlo::ComparisonDirection;
using hlo::Instruction;
using hlo::Opcode;

namespace {

bool IsDownward(const hlo::CompareAttributes& compare) {
  return compare.direction == ComparisonDirection::kGt || compare.direction == ComparisonDirection::kGe;
}

// The same of operands in the order in which they are numbered: a > b is b < a.
bool SameOfNumbers(const Instruction& a, const Instruction& b) {
  const auto *x = a.GetIf<hlo::CompareAttributes>(), *y = b.GetIf<hlo::CompareAttributes>();
  if (x == nullptr || y == nullptr) return SameOperation(a, b);
  const auto upward = [](const hlo::CompareAttributes& compare) {
    return IsDownward(compare) ? Mirrored(compare.direction) : compare.direction;
  };
  return a.shape() == b.shape() && x->type == y->type && upward(*x) == upward(*y);
}

}  // namespace

bool MayBeShared(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kParameter:
    case Opcode::kOptBarrier:
    case Opcode::kRng:
    case Opcode::kAddDependency:
    case Opcode::kAfterAll:
    case Opcode::kCustomCall:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return false;
    default:
      return hlo::KindOf(instruction.opcode()) != hlo::OpKind::kCommunication &&
             instruction.control_predecessors().empty() && !instruction.HasSideEffect();
  }
}

const void* ValueNumbers::Callee(const Instruction& instruction, size_t index) const {
  hlo::Computation* callee = instruction.called_computations()[index];
  return classes_ == nullptr ? callee : classes_->Representative(callee);
}

bool ValueNumbers::SameCallees(const Instruction& a, const Instruction& b) const {
  return classes_ == nullptr ? a.called_computations() == b.called_computations() : classes_->SameCallees(a, b);
}

int64_t ValueNumbers::Number(const Instruction& instruction) {
  auto known = numbers_.find(&instruction);
  if (known != numbers_.end()) return known->second;
  if (!MayBeShared(instruction) && !instruction.IsParameter()) return numbers_[&instruction] = next_++;
  absl::InlinedVector<int64_t, 3> operands;
  for (const Instruction* operand : instruction.operands()) operands.push_back(Number(*operand));
  const auto* compare = instruction.GetIf<hlo::CompareAttributes>();
  const bool any_order = hlo::IsCommutative(instruction.opcode()) ||
                         (compare != nullptr && Mirrored(compare->direction) == compare->direction);
  if ((any_order && operands[1] < operands[0]) || (compare != nullptr && IsDownward(*compare))) {
    std::swap(operands[0], operands[1]);
  }
  size_t hash = absl::HashOf(HashAttributes(instruction), operands);
  for (size_t i = 0; i < instruction.called_computations().size(); ++i)
    hash = absl::HashOf(hash, Callee(instruction, i));
  const auto found = by_hash_.try_emplace(hash, -1).first;
  for (int64_t i = found->second; i >= 0; i = leaders_[i].next) {
    const Leader& leader = leaders_[i];
    if (leader.operands == operands && SameOfNumbers(*leader.instruction, instruction) &&
        SameCallees(*leader.instruction, instruction)) {
      return numbers_[&instruction] = leader.number;
    }
  }
  leaders_.push_back({&instruction, std::move(operands), next_, found->second});
  found->second = static_cast<int64_t>(leaders_.size()) - 1;
  return numbers_[&instruction] = next_++;
}

bool SameFunction(const hlo::Computation& a, const hlo::Computation& b) {
  if (&a == &b) return true;
  ValueNumbers numbers;
  for (const hlo::Computation* computation : {&a, &b}) {
    for (const Instruction* instruction : computation->PostOrder()) numbers.Number(*instruction);
  }
  return numbers.Number(*a.root()) == numbers.Number(*b.root());
}

}  // namespace kiln::analysis
