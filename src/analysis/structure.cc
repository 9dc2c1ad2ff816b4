#include "src/analysis/structure.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "src/analysis/value_numbers.h"

namespace kiln::analysis {
namespace {

using hlo::ComparisonDirection;
using hlo::Computation;
using hlo::Instruction;

size_t HashLiteral(const hlo::Literal& literal) {
  if (literal.shape().IsTuple()) {
    size_t hash = literal.elements().size();
    for (const hlo::Literal& element : literal.elements()) hash = absl::HashOf(hash, HashLiteral(element));
    return hash;
  }
  // Large constants are told apart by their first bytes; equality compares the rest.
  absl::Span<const std::byte> bytes = literal.bytes();
  absl::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 256));
  return absl::HashOf(head, bytes.size());
}

}  // namespace

ComparisonDirection Mirrored(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kLt:
      return ComparisonDirection::kGt;
    case ComparisonDirection::kGt:
      return ComparisonDirection::kLt;
    case ComparisonDirection::kLe:
      return ComparisonDirection::kGe;
    case ComparisonDirection::kGe:
      return ComparisonDirection::kLe;
    default:
      return direction;
  }
}

size_t HashAttributes(const Instruction& instruction) {
  size_t hash = absl::HashOf(static_cast<int>(instruction.opcode()), instruction.shape());
  if (instruction.IsConstant()) return absl::HashOf(hash, HashLiteral(instruction.literal()));
  if (const auto* dimensions = instruction.GetIf<hlo::DimensionsAttributes>()) {
    return absl::HashOf(hash, dimensions->dimensions);
  }
  if (const auto* element = instruction.GetIf<hlo::TupleIndexAttributes>()) return absl::HashOf(hash, element->index);
  if (const auto* slice = instruction.GetIf<hlo::SliceAttributes>())
    return absl::HashOf(hash, slice->start, slice->limit);
  if (const auto* pad = instruction.GetIf<hlo::PadAttributes>()) return absl::HashOf(hash, pad->low, pad->high);
  if (const auto* parameter = instruction.GetIf<hlo::ParameterAttributes>()) {
    return absl::HashOf(hash, parameter->number);
  }
  return hash;
}

bool SameOperation(const Instruction& a, const Instruction& b) {
  return a.opcode() == b.opcode() && a.shape() == b.shape() && a.attributes() == b.attributes() &&
         a.backend_config() == b.backend_config() && a.frontend_attributes() == b.frontend_attributes();
}

ComputationClasses::ComputationClasses(const hlo::Module& module) {
  const std::vector<Computation*> order = module.PostOrder();
  // Most differ in size already: only the others are looked at.
  absl::flat_hash_map<std::pair<int64_t, int64_t>, int64_t> sizes;
  auto size = [](const Computation* c) { return std::make_pair(c->instruction_count(), c->parameter_count()); };
  for (const Computation* computation : order) ++sizes[size(computation)];
  ValueNumbers numbers(this);
  absl::flat_hash_map<std::vector<int64_t>, Computation*> first;  // by the numbers of root and parameters
  for (Computation* computation : order) {
    representative_[computation] = computation;
    if (computation == module.entry() || sizes.at(size(computation)) == 1) continue;
    bool has_side_effect = false;
    for (const Instruction* instruction : computation->PostOrder()) {
      numbers.Number(*instruction);
      has_side_effect |= instruction->HasSideEffect();
    }
    if (has_side_effect) continue;
    std::vector<int64_t> key = {numbers.Number(*computation->root())};
    for (const Instruction* parameter : computation->parameters()) key.push_back(numbers.Number(*parameter));
    representative_[computation] = first.try_emplace(std::move(key), computation).first->second;
  }
}

Computation* ComputationClasses::Representative(Computation* computation) const {
  auto it = representative_.find(computation);
  return it == representative_.end() ? computation : it->second;
}

bool ComputationClasses::SameCallees(const Instruction& a, const Instruction& b) const {
  return std::equal(a.called_computations().begin(), a.called_computations().end(), b.called_computations().begin(),
                    b.called_computations().end(),
                    [&](Computation* x, Computation* y) { return Representative(x) == Representative(y); });
}

const Instruction* OperationClasses::FirstLike(const Instruction& instruction) {
  size_t hash = HashAttributes(instruction);
  for (const Instruction* operand : instruction.operands()) hash = absl::HashOf(hash, operand->shape());
  for (Computation* callee : instruction.called_computations()) {
    hash = absl::HashOf(hash, computations_.Representative(callee));
  }
  std::vector<const Instruction*>& candidates = classes_[hash];
  for (const Instruction* candidate : candidates) {
    if (Same(*candidate, instruction)) return candidate;
  }
  candidates.push_back(&instruction);
  return &instruction;
}

bool OperationClasses::Same(const Instruction& a, const Instruction& b) const {
  if (!SameOperation(a, b) || a.operand_count() != b.operand_count() || !computations_.SameCallees(a, b)) return false;
  for (int64_t i = 0; i < a.operand_count(); ++i) {
    const Instruction &x = *a.operand(i), &y = *b.operand(i);
    if (x.shape() != y.shape() || x.IsConstant() != y.IsConstant()) return false;
    if (x.IsConstant() && !SameOperation(x, y)) return false;
    for (int64_t k = 0; k < i; ++k) {
      if ((a.operand(k) == &x) != (b.operand(k) == &y)) return false;
    }
  }
  return true;
}

}  // namespace kiln::analysis
