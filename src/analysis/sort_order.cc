#include "src/analysis/sort_order.h"

#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "src/analysis/structure.h"

namespace kiln::analysis {
namespace {

using hlo::ComparisonDirection;
using hlo::ComparisonType;
using hlo::Computation;
using hlo::Instruction;
using hlo::IsFloating;
using hlo::Opcode;
using hlo::PrimitiveType;

// Comparators are as small as what they compare; larger ones are not worth the look.
constexpr int64_t kMaxComparatorInstructions = 200;

ComparisonType Resolved(const Instruction& compare) {
  const ComparisonType type = compare.comparison().type;
  if (type != ComparisonType::kDefault) return type;
  return IsFloating(compare.operand(0)->shape().element_type()) ? ComparisonType::kFloat : ComparisonType::kTotalOrder;
}

// Whether `a` and `b` are the same formula, of parameter 2k in one and 2k + 1 in the other; sets *first to the
// parameter of `a` and holds it the same throughout. Formulas of no parameter at all are no order.
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

// The two sides of `lower < higher`.
struct Sides {
  const Instruction* lower;
  const Instruction* higher;
};

// Of a comparison, or of booleans `!lower && higher`, which simplification makes of one.
std::optional<Sides> SidesOf(const Instruction& order) {
  if (order.opcode() == Opcode::kCompare) {
    const Instruction *a = order.operand(0), *b = order.operand(1);
    if (order.comparison().direction == ComparisonDirection::kLt) return Sides{a, b};
    if (order.comparison().direction == ComparisonDirection::kGt) return Sides{b, a};
  }
  if (order.opcode() == Opcode::kAnd && order.shape().element_type() == PrimitiveType::kPred) {
    for (int side = 0; side < 2; ++side) {
      const Instruction &negation = *order.operand(side), *higher = order.operand(1 - side);
      if (negation.opcode() == Opcode::kNot && higher->opcode() != Opcode::kNot) {
        return Sides{negation.operand(0), higher};
      }
    }
  }
  return std::nullopt;
}

// The term that `order` decides, when it is an order of one value.
std::optional<OrderTerm> TermOf(const Instruction& order) {
  const std::optional<Sides> sides = SidesOf(order);
  if (!sides) return std::nullopt;
  const PrimitiveType type = sides->lower->shape().element_type();
  Twins twins;
  if (KeyType(type) == PrimitiveType::kInvalid || !twins.Match(sides->lower, sides->higher) || twins.parameter() < 0) {
    return std::nullopt;
  }
  OrderTerm term;
  term.value = sides->lower;
  term.operand = twins.parameter() / 2;
  // a < b ascends; b < a, with the later element first, descends.
  term.descending = twins.parameter() % 2 == 1;
  term.total_order = order.opcode() != Opcode::kCompare || Resolved(order) != ComparisonType::kFloat;
  return term;
}

// Whether `equal` says that the two values that `order` compares are equal.
bool IsEqualityOf(const Instruction& equal, const Instruction& order) {
  const Instruction* same = &equal;
  if (order.opcode() == Opcode::kCompare) {
    if (equal.opcode() != Opcode::kCompare || equal.comparison().direction != ComparisonDirection::kEq ||
        Resolved(equal) != Resolved(order)) {
      return false;
    }
  } else {
    // Of booleans !(a ^ b).
    if (equal.opcode() != Opcode::kNot || equal.operand(0)->opcode() != Opcode::kXor) return false;
    same = equal.operand(0);
  }
  const Sides sides = *SidesOf(order);
  const Instruction *a = same->operand(0), *b = same->operand(1);
  return (a == sides.lower && b == sides.higher) || (a == sides.higher && b == sides.lower);
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

bool IsConstantOf(const Instruction& value, double number) {
  return value.IsConstant() && hlo::IsSplatOf(value.literal(), number);
}

bool IsNan(const Instruction& value) {
  return value.IsConstant() && value.literal() == hlo::LiteralOf(value.shape(), std::nan(""));
}

// What `value` is with zeros made one, and NaNs as well, by selects in either order; null where it is something else.
const Instruction* NumberBehind(const Instruction& value) {
  bool zeros = false, nans = false;
  const Instruction *rest = &value, *tested[2];
  for (int step = 0; step < 2; ++step) {
    if (rest->opcode() != Opcode::kSelect) return nullptr;
    const Instruction &test = *rest->operand(0), &chosen = *rest->operand(1);
    if (test.opcode() != Opcode::kCompare) return nullptr;
    tested[step] = test.operand(0);
    const ComparisonDirection direction = test.comparison().direction;
    zeros |= direction == ComparisonDirection::kEq && IsConstantOf(*test.operand(1), 0) && IsConstantOf(chosen, 0);
    nans |= direction == ComparisonDirection::kNe && test.operand(1) == test.operand(0) && IsNan(chosen);
    rest = rest->operand(2);
  }
  return zeros && nans && tested[0] == rest && tested[1] == rest ? rest : nullptr;
}

// Whether the terms are numbers, of the parts of one complex operand in their order.
bool IsComplexOrder(const std::vector<OrderTerm>& terms) {
  const auto goes_by = [&](size_t i, Opcode part) {
    const Instruction* number = terms[i].total_order ? NumberBehind(*terms[i].value) : nullptr;
    return number != nullptr && number->opcode() == part && number->operand(0)->IsParameter() &&
           number->operand(0)->shape().element_type() == PrimitiveType::kC64;
  };
  return terms.size() == 2 && terms[0].operand == terms[1].operand && terms[0].descending == terms[1].descending &&
         goes_by(0, Opcode::kReal) && goes_by(1, Opcode::kImag);
}

// Whether `value` is a float's bits as the signed integer of the same rank in the total order: negative ones with all
// bits but the sign turned. XLA writes comparisons of total order so.
bool IsTotalRankOf(const Instruction& value) {
  if (value.opcode() != Opcode::kSelect) return false;
  const Instruction &negative = *value.operand(0), &turned = *value.operand(1), &bits = *value.operand(2);
  const PrimitiveType type = value.shape().element_type();
  if (bits.opcode() != Opcode::kBitcastConvert || !bits.operand(0)->IsParameter() || !hlo::IsSignedIntegral(type) ||
      !IsFloating(bits.operand(0)->shape().element_type()) || negative.opcode() != Opcode::kCompare ||
      turned.opcode() != Opcode::kXor) {
    return false;
  }
  const int64_t largest = std::numeric_limits<int64_t>::max() >> (64 - hlo::BitWidth(type));
  const int side = turned.operand(0) == &bits ? 0 : 1;
  const Instruction& mask = *turned.operand(1 - side);
  return negative.comparison().direction == ComparisonDirection::kLt && negative.operand(0) == &bits &&
         IsConstantOf(*negative.operand(1), 0) && turned.operand(side) == &bits && mask.IsConstant() &&
         hlo::ElementAsInt64(mask.literal(), 0) == largest;
}

}  // namespace

PrimitiveType KeyType(PrimitiveType type) {
  if (type == PrimitiveType::kPred) return PrimitiveType::kU8;
  if (!hlo::IsIntegral(type) && !(IsFloating(type) && hlo::BitWidth(type) >= 16)) return PrimitiveType::kInvalid;
  for (PrimitiveType key : {PrimitiveType::kU8, PrimitiveType::kU16, PrimitiveType::kU32, PrimitiveType::kU64}) {
    if (hlo::BitWidth(key) == hlo::BitWidth(type)) return key;
  }
  return PrimitiveType::kInvalid;
}

std::vector<OrderTerm> OrderTerms(const Instruction& sort) {
  if (sort.called_computations().size() != 1) return {};
  const Computation& comparator = *sort.called_computation();
  if (comparator.instruction_count() > kMaxComparatorInstructions) return {};
  return TermsOf(*comparator.root());
}

int64_t KeyBits(const std::vector<OrderTerm>& terms) {
  int64_t bits = 0;
  for (const OrderTerm& term : terms) bits += hlo::BitWidth(KeyType(term.value->shape().element_type()));
  return bits;
}

std::optional<KeyOrder> KeyOrderOf(const OrderTerm& term) {
  const PrimitiveType type = term.value->shape().element_type();
  if (!term.value->IsParameter()) {
    if (IsTotalRankOf(*term.value)) return KeyOrder::kTotal;
    if (!IsFloating(type) || !term.total_order) return std::nullopt;
    const Instruction* number = NumberBehind(*term.value);
    if (number == nullptr || !number->IsParameter()) return std::nullopt;
    return KeyOrder::kNumbers;
  }
  return IsFloating(type) && !term.total_order ? KeyOrder::kZerosEqual : TotalKeyOrder(type);
}

std::optional<KeyOrder> TotalKeyOrder(PrimitiveType type) {
  const PrimitiveType key = KeyType(type);
  if (key == PrimitiveType::kInvalid) return std::nullopt;
  if (IsFloating(type)) return KeyOrder::kTotal;
  return type == key || type == PrimitiveType::kPred ? KeyOrder::kUnsigned : KeyOrder::kSigned;
}

std::optional<LeadingKey> LeadingKeyOf(const Instruction& sort) {
  const std::vector<OrderTerm> terms = OrderTerms(sort);
  const std::optional<KeyOrder> keys = terms.empty() ? std::nullopt : KeyOrderOf(terms[0]);
  if (!keys) return std::nullopt;
  return LeadingKey{terms[0].operand, {*keys, terms[0].descending}};
}

std::optional<SortOrder> DirectOrder(const Instruction& sort) {
  if (sort.opcode() != Opcode::kSort ||
      (sort.operand_count() > 1 && sort.Get<hlo::SortAttributes>().dimension != sort.operand(0)->shape().rank() - 1)) {
    return std::nullopt;
  }
  if (sort.operand_count() == 1 && sort.operand(0)->shape().element_type() == PrimitiveType::kC64) {
    const std::vector<OrderTerm> terms = OrderTerms(sort);
    if (!IsComplexOrder(terms)) return std::nullopt;
    return SortOrder{KeyOrder::kComplex, terms[0].descending};
  }
  const std::optional<LeadingKey> key = LeadingKeyOf(sort);
  if (!key || key->operand != 0 || OrderTerms(sort).size() > 1) return std::nullopt;
  return key->order;
}

}  // namespace kiln::analysis
