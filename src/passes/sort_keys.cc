#include "src/passes/sort_keys.h"

#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/analysis/structure.h"
#include "src/passes/array_formula.h"
#include "src/passes/array_value.h"

namespace kiln::passes {
namespace {

using hlo::ComparisonDirection;
using hlo::ComparisonType;
using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;

// Comparators are as small as what they compare; larger ones are not worth the look.
constexpr int64_t kMaxComparatorInstructions = 200;

// The unsigned type as wide as an element; kInvalid for types without an order by bits.
PrimitiveType KeyType(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kPred:
    case PrimitiveType::kS8:
    case PrimitiveType::kU8:
      return PrimitiveType::kU8;
    case PrimitiveType::kS16:
    case PrimitiveType::kU16:
    case PrimitiveType::kF16:
    case PrimitiveType::kBF16:
      return PrimitiveType::kU16;
    case PrimitiveType::kS32:
    case PrimitiveType::kU32:
    case PrimitiveType::kF32:
      return PrimitiveType::kU32;
    case PrimitiveType::kS64:
    case PrimitiveType::kU64:
    case PrimitiveType::kF64:
      return PrimitiveType::kU64;
    default:
      return PrimitiveType::kInvalid;
  }
}

PrimitiveType SignedType(PrimitiveType key) {
  switch (key) {
    case PrimitiveType::kU8:
      return PrimitiveType::kS8;
    case PrimitiveType::kU16:
      return PrimitiveType::kS16;
    case PrimitiveType::kU32:
      return PrimitiveType::kS32;
    default:
      return PrimitiveType::kS64;
  }
}

// One step of a lexicographic order: `value`, a scalar made of one parameter of each pair, ascending or not.
struct OrderTerm {
  const Instruction* value = nullptr;
  int64_t operand = 0;  // of the sort
  bool descending = false;
  bool total_order = true;  // of floats; otherwise both zeros are equal
};

bool IsFloat(PrimitiveType type) { return hlo::IsFloating(type); }

ComparisonType Resolved(const Instruction& compare) {
  const ComparisonType type = compare.comparison().type;
  if (type != ComparisonType::kDefault) return type;
  return IsFloat(compare.operand(0)->shape().element_type()) ? ComparisonType::kFloat : ComparisonType::kTotalOrder;
}

// Whether `a` and `b` are the same formula, of parameter 2k in one and 2k + 1 in the other; sets *first to the parameter
// of `a` and holds it the same throughout. Formulas of no parameter at all are no order.
class Twins {
 public:
  bool Match(const Instruction* a, const Instruction* b) {
    auto [found, is_new] = matched_.try_emplace(a, b);
    if (!is_new) return found->second == b;
    if (a->IsParameter() || b->IsParameter()) {
      if (!a->IsParameter() || !b->IsParameter()) return false;
      if (parameter_ >= 0 && parameter_ != a->parameter_number()) return false;
      parameter_ = a->parameter_number();
      return (parameter_ ^ 1) == b->parameter_number();
    }
    if (!(hlo::IsElementwise(a->opcode()) || a->opcode() == Opcode::kBitcastConvert || a->IsConstant()) ||
        !analysis::SameOperation(*a, *b) || a->operand_count() != b->operand_count()) {
      return false;
    }
    for (int64_t i = 0; i < a->operand_count(); ++i) {
      if (!Match(a->operand(i), b->operand(i))) return false;
    }
    return true;
  }
  int64_t parameter() const { return parameter_; }

 private:
  absl::flat_hash_map<const Instruction*, const Instruction*> matched_;
  int64_t parameter_ = -1;
};

// The term that `compare` decides, when it is an order of one value.
std::optional<OrderTerm> TermOf(const Instruction& compare) {
  if (compare.opcode() != Opcode::kCompare) return std::nullopt;
  const ComparisonDirection direction = compare.comparison().direction;
  if (direction != ComparisonDirection::kLt && direction != ComparisonDirection::kGt) return std::nullopt;
  const PrimitiveType type = compare.operand(0)->shape().element_type();
  Twins twins;
  if (KeyType(type) == PrimitiveType::kInvalid || !twins.Match(compare.operand(0), compare.operand(1)) ||
      twins.parameter() < 0) {
    return std::nullopt;
  }
  OrderTerm term;
  term.value = compare.operand(0);
  term.operand = twins.parameter() / 2;
  // a < b ascends; b < a, with the later element first, descends.
  term.descending = (direction == ComparisonDirection::kGt) != (twins.parameter() % 2 == 1);
  term.total_order = Resolved(compare) != ComparisonType::kFloat;
  return term;
}

// Whether `equal` says that the two values that `order` compares are equal.
bool IsEqualityOf(const Instruction& equal, const Instruction& order) {
  if (equal.opcode() != Opcode::kCompare || equal.comparison().direction != ComparisonDirection::kEq) return false;
  const Instruction *a = equal.operand(0), *b = equal.operand(1);
  const Instruction *x = order.operand(0), *y = order.operand(1);
  return Resolved(equal) == Resolved(order) && ((a == x && b == y) || (a == y && b == x));
}

// The terms of `order`: a comparison, or `first || (equal && rest)` in either order of operands. Empty: something else.
std::vector<OrderTerm> TermsOf(const Instruction& order) {
  if (std::optional<OrderTerm> term = TermOf(order)) return {*term};
  if (order.opcode() != Opcode::kOr) return {};
  for (int side = 0; side < 2; ++side) {
    const Instruction &first = *order.operand(side), &both = *order.operand(1 - side);
    const std::optional<OrderTerm> term = TermOf(first);
    if (!term || both.opcode() != Opcode::kAnd) continue;
    for (int equal = 0; equal < 2; ++equal) {
      if (!IsEqualityOf(*both.operand(equal), first)) continue;
      std::vector<OrderTerm> terms = TermsOf(*both.operand(1 - equal));
      if (!terms.empty()) terms.insert(terms.begin(), *term);
      return terms;
    }
  }
  return {};
}

// The terms of a sort whose keys fit into 64 bits together; empty otherwise.
std::vector<OrderTerm> Terms(const Instruction& sort) {
  if (sort.called_computations().size() != 1) return {};
  const hlo::Computation& comparator = *sort.called_computation();
  if (comparator.instruction_count() > kMaxComparatorInstructions) return {};
  std::vector<OrderTerm> terms = TermsOf(*comparator.root());
  int64_t bits = 0;
  for (const OrderTerm& term : terms) bits += hlo::BitWidth(KeyType(term.value->shape().element_type()));
  if (bits > 64) terms.clear();
  return terms;
}

ArrayValue SignBit(const ArrayValue& key) { return key.Number(int64_t{1}) << (hlo::BitWidth(key.type()) - 1); }

// All bits set where the highest is, none elsewhere.
ArrayValue SignSpread(const ArrayValue& key) {
  const ArrayValue number = key.BitcastConvert(SignedType(key.type()));
  const ArrayValue shift = number.Number(int64_t{hlo::BitWidth(key.type()) - 1});
  return number.Binary(Opcode::kShiftRightArithmetic, shift).BitcastConvert(key.type());
}

// Unsigned integers in the total order of `values`.
ArrayValue KeyOf(const ArrayValue& values) {
  const PrimitiveType type = values.type(), key = KeyType(type);
  if (type == key) return values;
  if (type == PrimitiveType::kPred) return values.Convert(key);
  const ArrayValue bits = values.BitcastConvert(key);
  if (!IsFloat(type)) return bits ^ SignBit(bits);
  // Negative numbers count backwards: all of their bits turn, of others only the sign.
  return bits ^ (SignSpread(bits) | SignBit(bits));
}

// The inverse of KeyOf.
ArrayValue ValueOf(const ArrayValue& key, PrimitiveType type) {
  if (type == key.type()) return key;
  if (type == PrimitiveType::kPred) return key.Convert(type);
  if (!IsFloat(type)) return (key ^ SignBit(key)).BitcastConvert(type);
  return (key ^ (SignSpread(key).Unary(Opcode::kNot) | SignBit(key))).BitcastConvert(type);
}

ArrayValue TermKey(hlo::Builder* builder, const OrderTerm& term, Instruction* operand) {
  // Of the two parameters that stand for this operand, the formula holds one.
  std::vector<Instruction*> arguments(2 * term.operand + 2, operand);
  ArrayValue value(builder, ArrayFormula(builder, operand->shape().dimensions(), std::move(arguments)).Of(term.value));
  if (IsFloat(value.type()) && !term.total_order) {
    const ArrayValue zero = value.Number(0.0);
    value = Select(Compare(ComparisonDirection::kEq, value, zero), zero, value);
  }
  const ArrayValue key = KeyOf(value);
  return term.descending ? key.Unary(Opcode::kNot) : key;
}

// All terms in one key, the first in the highest bits.
ArrayValue CombinedKey(hlo::Builder* builder, const std::vector<OrderTerm>& terms,
                       const std::vector<Instruction*>& operands) {
  ArrayValue key = TermKey(builder, terms[0], operands[terms[0].operand]);
  int64_t bits = hlo::BitWidth(key.type());
  for (size_t i = 1; i < terms.size(); ++i) {
    const ArrayValue next = TermKey(builder, terms[i], operands[terms[i].operand]);
    const int64_t more = hlo::BitWidth(next.type());
    bits += more;
    const PrimitiveType wide = bits <= 16 ? PrimitiveType::kU16 : bits <= 32 ? PrimitiveType::kU32 : PrimitiveType::kU64;
    key = (key.Convert(wide) << more) | next.Convert(wide);
  }
  return key;
}

// pred (a0, b0, a1, b1, ...) -> a0 < b0, for arrays of these types.
hlo::Computation* UnsignedOrder(hlo::Module* module, const std::vector<Shape>& shapes) {
  hlo::Computation* order = module->AddComputation("unsigned_order");
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (int64_t side = 0; side < 2; ++side) {
      order->AddParameter(2 * static_cast<int64_t>(i) + side, Shape::Scalar(shapes[i].element_type()));
    }
  }
  hlo::Builder builder(order, nullptr);
  order->set_root(builder.Compare(ComparisonDirection::kLt, order->parameter(0), order->parameter(1)));
  return order;
}

// Swaps dimension `dimension` with the last.
std::vector<int64_t> SwapWithLast(int64_t rank, int64_t dimension) {
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[dimension], permutation[rank - 1]);
  return permutation;
}

// Which results of a sort anything reads.
std::vector<bool> UsedResults(const Instruction& sort) {
  const bool whole = sort.IsRoot() || !sort.shape().IsTuple();
  std::vector<bool> used(sort.operand_count(), whole);
  for (const Instruction* user : sort.users()) {
    if (user->opcode() != Opcode::kGetTupleElement) return std::vector<bool>(sort.operand_count(), true);
    used[user->tuple_index()] = true;
  }
  return used;
}

Instruction* ExpandSort(Instruction* sort) {
  const std::vector<OrderTerm> terms = Terms(*sort);
  const int64_t dimension = sort->Get<hlo::SortAttributes>().dimension;
  const int64_t rank = sort->operand(0)->shape().rank();
  const std::vector<int64_t> swap = SwapWithLast(rank, dimension);
  const std::vector<bool> used = UsedResults(*sort);
  hlo::Builder builder(sort->parent(), sort);
  std::vector<Instruction*> rows;
  for (Instruction* operand : sort->operands()) rows.push_back(builder.Transpose(operand, swap));

  const ArrayValue key = CombinedKey(&builder, terms, rows);
  // A key that is its operand, up to a change of all keys that keeps their order, gives it back.
  const bool lossless = terms.size() == 1 && terms[0].value->IsParameter() &&
                        (terms[0].total_order || !IsFloat(terms[0].value->shape().element_type()));
  std::vector<Instruction*> operands = {key.instruction()};
  std::vector<Shape> shapes = {key.shape()};
  std::vector<int64_t> places(rows.size(), -1);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!used[i] || (lossless && terms[0].operand == static_cast<int64_t>(i))) continue;
    places[i] = static_cast<int64_t>(operands.size());
    operands.push_back(rows[i]);
    shapes.push_back(rows[i]->shape());
  }
  hlo::Computation* order = UnsignedOrder(sort->parent()->parent(), shapes);
  Shape shape = shapes.size() == 1 ? shapes[0] : Shape::Tuple(shapes);
  Instruction* sorted = builder.Add(Opcode::kSort, std::move(shape), operands,
                                    hlo::SortAttributes{.dimension = rank - 1, .is_stable = true}, {order});
  auto part = [&](int64_t index) { return operands.size() == 1 ? sorted : builder.GetTupleElement(sorted, index); };

  std::vector<Instruction*> results;
  for (size_t i = 0; i < rows.size(); ++i) {
    Instruction* result = sort->operand(i);  // what nothing reads may be anything
    if (places[i] >= 0) {
      result = builder.Transpose(part(places[i]), swap);
    } else if (used[i]) {
      ArrayValue keys(&builder, part(0));
      if (terms[0].descending) keys = keys.Unary(Opcode::kNot);
      result = builder.Transpose(ValueOf(keys, rows[i]->shape().element_type()).instruction(), swap);
    }
    results.push_back(result);
  }
  return sort->shape().IsTuple() ? builder.Tuple(std::move(results)) : results[0];
}

// Past this share of a row, sorting all of it is cheaper than keeping candidates.
constexpr int64_t kLargestSelection = 1024;
bool SortsWhole(int64_t k, int64_t size) { return k > kLargestSelection && k > size / 16; }

Instruction* FirstOfSorted(hlo::Builder* builder, const Instruction& top_k, ArrayValue key) {
  const Shape& positions = top_k.shape().tuple_shapes(1);
  const int64_t last = key.shape().rank() - 1;
  const ArrayValue iota = Iota(builder, positions.element_type(), key.shape().dimensions(), last);
  // Ascending and stable: of equal ones the earlier.
  const std::vector<Shape> shapes = {key.shape(), iota.shape()};
  Instruction* sorted = builder->Add(
      Opcode::kSort, Shape::Tuple(shapes), {key.Unary(Opcode::kNot).instruction(), iota.instruction()},
      hlo::SortAttributes{.dimension = last, .is_stable = true}, {UnsignedOrder(top_k.parent()->parent(), shapes)});
  auto first = [&](int64_t index) {
    return ArrayValue(builder, builder->GetTupleElement(sorted, index)).Slice(last, 0, positions.dimensions(last));
  };
  return builder->Tuple({first(0).Unary(Opcode::kNot).instruction(), first(1).instruction()});
}

// The largest become the largest keys, the smallest as well after turning all bits.
Instruction* ExpandTopK(Instruction* top_k) {
  const auto& attributes = top_k->Get<hlo::TopKAttributes>();
  hlo::Builder builder(top_k->parent(), top_k);
  const ArrayValue operand(&builder, top_k->operand(0));
  ArrayValue key = KeyOf(operand);
  if (!attributes.largest) key = key.Unary(Opcode::kNot);
  const Shape& values = top_k->shape().tuple_shapes(0);
  Instruction* selected =
      SortsWhole(attributes.k, operand.shape().dimensions(operand.shape().rank() - 1))
          ? FirstOfSorted(&builder, *top_k, key)
          : builder.Add(Opcode::kTopK,
                        Shape::Tuple({Shape(key.type(), values.dimensions()), top_k->shape().tuple_shapes(1)}),
                        {key.instruction()}, hlo::TopKAttributes{.k = attributes.k, .largest = true});
  ArrayValue keys(&builder, builder.GetTupleElement(selected, 0));
  if (!attributes.largest) keys = keys.Unary(Opcode::kNot);
  return builder.Tuple({ValueOf(keys, operand.type()).instruction(), builder.GetTupleElement(selected, 1)});
}

}  // namespace

bool SortsByUnsignedKey(const Instruction& sort) {
  if (sort.opcode() != Opcode::kSort) return false;
  const Shape& shape = sort.operand(0)->shape();
  const Instruction& root = *sort.called_computation()->root();
  return sort.Get<hlo::SortAttributes>().dimension == shape.rank() - 1 &&
         KeyType(shape.element_type()) == shape.element_type() && root.opcode() == Opcode::kCompare &&
         root.comparison().direction == ComparisonDirection::kLt && root.operand(0)->IsParameter() &&
         root.operand(0)->parameter_number() == 0 && root.operand(1)->IsParameter() &&
         root.operand(1)->parameter_number() == 1;
}

bool SortKeys::Expands(const Instruction& instruction) const {
  if (instruction.opcode() == Opcode::kTopK) {
    const PrimitiveType type = instruction.operand(0)->shape().element_type();
    const auto& attributes = instruction.Get<hlo::TopKAttributes>();
    const Shape& shape = instruction.operand(0)->shape();
    return KeyType(type) != PrimitiveType::kInvalid &&
           (KeyType(type) != type || !attributes.largest ||
            SortsWhole(attributes.k, shape.dimensions(shape.rank() - 1)));
  }
  if (instruction.opcode() != Opcode::kSort) return false;
  if (SortsByUnsignedKey(instruction)) {
    // Again only for results that nothing reads.
    const std::vector<bool> used = UsedResults(instruction);
    for (size_t i = 1; i < used.size(); ++i) {
      if (!used[i]) return true;
    }
    return false;
  }
  return !Terms(instruction).empty();
}

absl::StatusOr<Instruction*> SortKeys::Expand(Instruction* instruction) {
  return instruction->opcode() == Opcode::kTopK ? ExpandTopK(instruction) : ExpandSort(instruction);
}

}  // namespace kiln::passes
