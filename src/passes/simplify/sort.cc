// Sort: what is in order already.

#include "absl/container/flat_hash_map.h"
#include "src/analysis/combiner.h"
#include "src/analysis/sort_order.h"
#include "src/analysis/value_numbers.h"
#include "src/passes/simplify/indices.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

const hlo::SortAttributes& SortOf(const Instruction& sort) { return sort.Get<hlo::SortAttributes>(); }

// Whether a row of `x` along the sorted dimension is one value.
bool IsSameAlong(const Instruction& x, int64_t dimension) {
  if (x.shape().dimensions(dimension) <= 1) return true;
  return (x.opcode() == Opcode::kBroadcast || x.opcode() == Opcode::kIota) && !Contains(x.dimensions(), dimension);
}

Instruction* TupleOrOne(std::vector<Instruction*> results, Builder& builder) {
  return results.size() == 1 ? results[0] : builder.Tuple(std::move(results));
}

// Equal values have no order.
Instruction* SortOfCopies(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto is_compared = [](const Instruction* x) { return !x->users().empty() || x->IsRoot(); };
  for (int64_t i = 0; i < 2 * root.operand_count(); ++i) {
    if (is_compared(root.called_computation()->parameter(i)) &&
        !IsSameAlong(*root.operand(i / 2), SortOf(root).dimension)) {
      return nullptr;
    }
  }
  return TupleOrOne({root.operands().begin(), root.operands().end()}, builder);
}

// Of operands that stand there twice, one is sorted.
Instruction* SortEachOnce(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  absl::flat_hash_map<const Instruction*, int64_t> first;  // place of an operand
  std::vector<Instruction*> operands;
  std::vector<Shape> shapes;
  std::vector<int64_t> places;  // of results among those of the new sort
  for (Instruction* operand : root.operands()) {
    const auto [place, is_new] = first.try_emplace(operand, operands.size());
    places.push_back(place->second);
    if (!is_new) continue;
    operands.push_back(operand);
    shapes.push_back(operand->shape());
  }
  if (operands.size() == places.size()) return nullptr;
  Computation* comparator = root.parent()->parent()->AddClone(*root.called_computation());
  // What is left keeps its order: the parameters of an operand come after those of all before it.
  for (int64_t i = 0, kept = 0; i < root.operand_count(); ++i) {
    if (places[i] == kept) {
      ++kept;
      continue;
    }
    for (const int64_t side : {0, 1}) {
      comparator->parameter(2 * kept)->ReplaceAllUsesWith(comparator->parameter(2 * places[i] + side));
      comparator->RemoveParameter(2 * kept);
    }
  }
  Shape shape = shapes.size() == 1 ? shapes[0] : Shape::Tuple(shapes);
  Instruction* sorted = builder.Add(Opcode::kSort, std::move(shape), operands, root.attributes(), {comparator});
  std::vector<Instruction*> results;
  for (int64_t place : places) {
    results.push_back(operands.size() == 1 ? sorted : builder.GetTupleElement(sorted, place));
  }
  return builder.Tuple(std::move(results));
}

bool HasThatOrder(const Match& match) {
  const Instruction& inner = *match['t'];
  return SortOf(*match.root()).dimension == SortOf(inner).dimension &&
         analysis::SameFunction(*match.root()->called_computation(), *inner.called_computation());
}

// Equal elements cannot be told apart, and t only moves them along rows.
bool IsOfBits(const Match& match) {
  const Instruction& inner = *match['t'];
  const int64_t dimension = SortOf(*match.root()).dimension;
  const std::optional<analysis::LeadingKey> key = analysis::LeadingKeyOf(*match.root());
  return key && key->order.keys != analysis::KeyOrder::kZerosEqual && key->order.keys != analysis::KeyOrder::kNumbers &&
         (inner.opcode() == Opcode::kSort ? SortOf(inner).dimension == dimension
                                          : inner.dimensions() == DimensionVector{dimension});
}
constexpr Guard OfBits{"of integers or in the total order, along one dimension", IsOfBits};

// Which of the two it is, is the same all along a row.
bool SelectsRows(const Match& match) {
  return match['t']->shape().IsArray() && !Contains(match['t']->dimensions(), SortOf(*match.root()).dimension);
}

// By a count before all others: the order is known.
Instruction* SortOfCount(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const std::optional<analysis::LeadingKey> key = analysis::LeadingKeyOf(root);
  const Instruction* count = key ? root.operand(key->operand) : nullptr;
  const int64_t dimension = SortOf(root).dimension;
  if (count == nullptr || count->opcode() != Opcode::kIota || count->dimensions()[0] != dimension) return nullptr;
  // In types that have all numbers.
  const PrimitiveType type = count->shape().element_type();
  const int64_t last = count->shape().dimensions(dimension) - 1;
  const PrimitiveType needed = last < 1 << 8    ? PrimitiveType::kU8
                               : last < 1 << 16 ? PrimitiveType::kU16
                                                : PrimitiveType::kU32;
  if (hlo::IsIntegral(type) ? !FitsIndex(last, type) : last >= int64_t{1} << 32 || !IsLossless(needed, type)) {
    return nullptr;
  }
  std::vector<Instruction*> results(root.operands().begin(), root.operands().end());
  for (Instruction*& result : results) {
    if (!key->order.descending) break;
    result = builder.Add(Opcode::kReverse, result->shape(), {result}, hlo::DimensionsAttributes{{dimension}});
  }
  return TupleOrOne(std::move(results), builder);
}

// Counts from above that only follow others are what is left of counts from below, which are positions.
Instruction* SortOfMirroredCounts(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const Computation& comparator = *root.called_computation();
  std::vector<Instruction*> operands(root.operands().begin(), root.operands().end());
  const auto is_compared = [&](size_t parameter) {
    const Instruction* x = comparator.parameter(static_cast<int64_t>(parameter));
    return !x->users().empty() || x->IsRoot();
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    if (is_compared(2 * i) || is_compared(2 * i + 1) || operands[i]->opcode() != Opcode::kSubtract ||
        !SplatValue(*operands[i]->operand(0))) {
      continue;
    }
    const Instruction& count = *operands[i]->operand(1);
    if (count.opcode() != Opcode::kIota || count.dimensions()[0] != SortOf(root).dimension) continue;
    operands[i] = operands[i]->operands()[1];
  }
  if (absl::c_equal(operands, root.operands())) return nullptr;
  Instruction* sorted =
      builder.Add(Opcode::kSort, root.shape(), operands, root.attributes(), root.called_computations());
  std::vector<Instruction*> results;
  for (size_t i = 0; i < operands.size(); ++i) {
    results.push_back(builder.GetTupleElement(sorted, static_cast<int64_t>(i)));
    if (operands[i] == root.operand(i)) continue;
    results[i] = builder.Binary(Opcode::kSubtract, root.operands()[i]->operands()[0], results[i]);
  }
  return builder.Tuple(std::move(results));
}

// The other way round; equal elements cannot be told apart.
Instruction* ReverseOfSort(const Match& match, Builder& builder) {
  const Instruction& sort = *match['t'];
  const std::optional<analysis::LeadingKey> key = analysis::LeadingKeyOf(sort);
  if (match.root()->dimensions() != DimensionVector{SortOf(sort).dimension} || !key ||
      key->order.keys == analysis::KeyOrder::kZerosEqual || key->order.keys == analysis::KeyOrder::kNumbers) {
    return nullptr;
  }
  Computation* comparator = sort.parent()->parent()->AddClone(*sort.called_computation());
  Instruction *a = comparator->parameter(0), *b = comparator->parameter(1);
  for (Instruction* op : comparator->PostOrder()) {
    std::vector<Instruction*> operands(op->operands().begin(), op->operands().end());
    for (Instruction*& operand : operands) operand = operand == a ? b : operand == b ? a : operand;
    if (!operands.empty()) op->ReplaceAllOperands(std::move(operands));
  }
  return builder.Add(Opcode::kSort, sort.shape(), {match['x']}, sort.attributes(), {comparator});
}

// The first of the largest, where its place does not matter. NaN counts as largest, so that the smallest of floats may
// be another than the minimum.
Instruction* ExtremeOfTop(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &top = *match['t'];
  const auto& attributes = top.Get<hlo::TopKAttributes>();
  const Shape& shape = match['x']->shape();
  if (root.tuple_index() != 0 || attributes.k != 1 || (!attributes.largest && hlo::IsFloating(shape.element_type()))) {
    return nullptr;
  }
  const Opcode opcode = attributes.largest ? Opcode::kMaximum : Opcode::kMinimum;
  const std::optional<Literal> init = analysis::IdentityOf(opcode, shape.element_type());
  if (!init) return nullptr;
  return builder.Reshape(builder.Reduce(match['x'], builder.Constant(*init), {shape.rank() - 1}, opcode),
                         root.shape().dimensions());
}

constexpr Rule kSortRules[] = {
    {"get-tuple-element(t:topk'(x))", "reduce.maximum(x, lowest) or its like, of one number of each row", ExtremeOfTop},
    {"sort(...)", "its operands, where no key changes along rows", SortOfCopies},
    {"sort(...)", "its operands or their reverse, by a count", SortOfCount},
    {"sort(...)", "sort(...), with no operand twice", SortEachOnce},
    {"sort(...)", "sort(...) of counts from below, subtracted", SortOfMirroredCounts},
    {"sort(t:sort(_))", "t", Guard{"in the same order", HasThatOrder}},
    {"r:sort(t:sort(x))", "r(x)", OfBits},
    {"r:sort(t:reverse(x))", "r(x)", OfBits},
    {"reverse(t:sort'(x))", "sort(x), by the opposite of its comparator", ReverseOfSort},
    {"r:sort(s:select'(t:broadcast(_), c, x))", "s(t, c, r(x))", Guard{"t along rows", SelectsRows}},
    {"r:sort(s:select'(t:broadcast(_), x, c))", "s(t, r(x), c)", Guard{"t along rows", SelectsRows}},
};

}  // namespace

absl::Span<const Rule> SortRules() { return kSortRules; }

}  // namespace kiln::passes::simplify
