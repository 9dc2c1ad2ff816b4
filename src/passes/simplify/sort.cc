// Sort: what is in order already.

#include "absl/container/flat_hash_map.h"
#include "src/analysis/structure.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

const hlo::SortAttributes& SortOf(const Instruction& sort) { return sort.Get<hlo::SortAttributes>(); }

// Copies of one another, of a size that comparators have.
bool SameComparator(const Computation& a, const Computation& b) {
  if (&a == &b) return true;
  constexpr int64_t kMaxSize = 64;
  if (a.instruction_count() != b.instruction_count() || a.instruction_count() > kMaxSize) return false;
  const std::vector<Instruction*> x = a.PostOrder(), y = b.PostOrder();
  absl::flat_hash_map<const Instruction*, const Instruction*> twin;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!analysis::SameOperation(*x[i], *y[i]) || !x[i]->called_computations().empty() ||
        x[i]->operand_count() != y[i]->operand_count()) {
      return false;
    }
    for (int64_t j = 0; j < x[i]->operand_count(); ++j) {
      if (twin.at(x[i]->operand(j)) != y[i]->operand(j)) return false;
    }
    twin[x[i]] = y[i];
  }
  return twin.at(a.root()) == b.root();
}

Instruction* SortOfOne(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  if (root.operand(0)->shape().dimensions(SortOf(root).dimension) > 1) return nullptr;
  if (root.operand_count() == 1) return root.operand(0);
  return builder.Tuple({root.operands().begin(), root.operands().end()});
}

bool HasThatOrder(const Match& match) {
  const Instruction& inner = *match['t'];
  const bool same = SortOf(*match.root()).dimension == SortOf(inner).dimension &&
                    SameComparator(*match.root()->called_computation(), *inner.called_computation());
  return same;
}

// Equal values have no order.
bool SortsCopies(const Match& match) {
  const auto& map = match['t']->dimensions();
  return !Contains(map, SortOf(*match.root()).dimension);
}

// Which of the two it is, is the same all along a row.
bool SelectsRows(const Match& match) {
  return match['t']->shape().IsArray() && !Contains(match['t']->dimensions(), SortOf(*match.root()).dimension);
}

// Counted upwards, or not at all, along the sorted dimension.
bool Counts(const Match& match) {
  const Computation& comparator = *match.root()->called_computation();
  const Instruction& compare = *comparator.root();
  if (match['t']->dimensions()[0] != SortOf(*match.root()).dimension) return true;
  // Counts that wrap around or stay where they are do not ascend.
  const PrimitiveType type = match['t']->shape().element_type();
  if (!hlo::IsIntegral(type) || hlo::BitWidth(type) < 32 || compare.opcode() != Opcode::kCompare) return false;
  const bool up = compare.comparison().direction == ComparisonDirection::kLt;
  const bool down = compare.comparison().direction == ComparisonDirection::kGt;
  const bool ascends =
      (up && compare.operand(0) == comparator.parameter(0) && compare.operand(1) == comparator.parameter(1)) ||
      (down && compare.operand(0) == comparator.parameter(1) && compare.operand(1) == comparator.parameter(0));
  return ascends;
}

constexpr Rule kRules[] = {
    {"sort(...)", "its operands, of one element", SortOfOne},
    {"sort(t:sort(_))", "t", Guard{"in the same order", HasThatOrder}},
    {"sort(t:broadcast(_))", "t", Guard{"along copies", SortsCopies}},
    {"r:sort(s:select'(t:broadcast(_), c, x))", "s(t, c, r(x))", Guard{"t along rows", SelectsRows}},
    {"r:sort(s:select'(t:broadcast(_), x, c))", "s(t, r(x), c)", Guard{"t along rows", SelectsRows}},
    {"sort(t:iota())", "t", Guard{"it counts upwards", Counts}},
};

}  // namespace

absl::Span<const Rule> SortRules() { return kRules; }

}  // namespace kiln::passes::simplify
