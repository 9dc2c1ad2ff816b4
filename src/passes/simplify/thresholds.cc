#include "src/passes/simplify/thresholds.h"

#include <algorithm>
#include <cmath>

#include "src/analysis/value_range.h"

namespace kiln::passes::simplify {
namespace {

using Number = __int128;  // holds all integers of 64 bits, their neighbours and sums

std::optional<Number> NumberOf(const Instruction& x) {
  const std::optional<Literal> value = SplatValue(x);
  if (!value) return std::nullopt;
  const int64_t bits = hlo::ElementAsInt64(*value, 0);
  return value->shape().element_type() == PrimitiveType::kU64 ? Number{static_cast<uint64_t>(bits)} : Number{bits};
}

// A function of one integer that never falls.
struct Rising {
  const Instruction* op;
  int64_t argument;              // its operand
  Number first = 0, second = 0;  // constants
  Number low = 0, high = 0;      // what its argument may be

  static std::optional<Rising> Of(const Instruction& op) {
    const bool is_clamp = op.opcode() == Opcode::kClamp;
    if (op.operand_count() != (is_clamp ? 3 : 2)) return std::nullopt;
    // Of maximum and minimum either operand is the argument.
    const int64_t argument = is_clamp || (hlo::IsCommutative(op.opcode()) && SplatValue(*op.operand(0))) ? 1 : 0;
    const std::optional<Number> first = NumberOf(*op.operand(is_clamp ? 0 : 1 - argument));
    const std::optional<Number> second = is_clamp ? NumberOf(*op.operand(2)) : first;
    if (!first || !second) return std::nullopt;
    const PrimitiveType type = op.shape().element_type();
    const analysis::ValueRange range = analysis::RangeOf(*op.operand(argument));
    const Rising rising = {
        &op, argument, *first, *second, static_cast<Number>(range.low), static_cast<Number>(range.high)};
    const bool is_shift = *first >= 0 && *first < hlo::BitWidth(type);
    switch (op.opcode()) {
      case Opcode::kMaximum:
      case Opcode::kMinimum:
        return rising;
      case Opcode::kClamp:
        return *first <= *second ? std::optional(rising) : std::nullopt;
      case Opcode::kDivide:
        return *first > 0 ? std::optional(rising) : std::nullopt;
      case Opcode::kShiftRightLogical:
        return is_shift && range.low >= 0 ? std::optional(rising) : std::nullopt;
      case Opcode::kShiftRightArithmetic:
        return is_shift && hlo::IsSignedIntegral(type) ? std::optional(rising) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  Number operator()(Number x) const {
    switch (op->opcode()) {
      case Opcode::kMaximum:
        return std::max(x, first);
      case Opcode::kMinimum:
        return std::min(x, first);
      case Opcode::kClamp:
        return std::min(std::max(x, first), second);
      case Opcode::kDivide:
        return x / first;
      default:
        return x >> static_cast<int>(first);
    }
  }

  // The first number at which it is `d` or more; one past the last where it never is.
  Number FirstAt(Number d) const {
    Number begin = low, end = high + 1;
    while (begin < end) {
      const Number middle = begin + (end - begin) / 2;
      if ((*this)(middle) >= d) {
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    return begin;
  }
};

}  // namespace

Instruction* CompareBeforeOp(const Match& match, Builder& builder) {
  const Instruction &s = *match['s'], &t = *match['t'];
  const std::optional<Number> d = NumberOf(*match['d']);
  const std::optional<Rising> rising = Rising::Of(t);
  if (!d || !rising) return nullptr;
  Instruction* v = t.operands()[rising->argument];
  const auto compare = [&](ComparisonDirection direction, Number bound) {
    const Literal number = hlo::LiteralOf(Shape::Scalar(v->shape().element_type()), static_cast<int64_t>(bound));
    return builder.Compare(direction, v, builder.Splat(v->shape(), number));
  };
  const auto known = [&](bool value) {
    return builder.Splat(s.shape(), hlo::LiteralOf(Shape::Scalar(PrimitiveType::kPred), int64_t{value}));
  };
  // From where on, if at all.
  const auto from = [&](Number first, bool is_from) {
    if (first == rising->low || first > rising->high) return known((first == rising->low) == is_from);
    return compare(is_from ? ComparisonDirection::kGe : ComparisonDirection::kLt, first);
  };
  const Number at = rising->FirstAt(*d), past = rising->FirstAt(*d + 1);
  switch (s.comparison().direction) {
    case ComparisonDirection::kGe:
      return from(at, true);
    case ComparisonDirection::kLt:
      return from(at, false);
    case ComparisonDirection::kGt:
      return from(past, true);
    case ComparisonDirection::kLe:
      return from(past, false);
    default:
      break;
  }
  const bool is_equal = s.comparison().direction == ComparisonDirection::kEq;
  if (at == past) return known(!is_equal);
  if (past > rising->high) return from(at, is_equal);
  if (at == rising->low) return from(past, !is_equal);
  if (at + 1 == past) return compare(s.comparison().direction, at);
  return nullptr;
}

bool IsOnlyCompared(const Match& match) {
  const Instruction& root = *match.root();
  return !root.IsRoot() && absl::c_all_of(root.users(), [&](const Instruction* user) {
    return user->opcode() == Opcode::kCompare && SplatValue(*user->operand(user->operand(0) == &root ? 1 : 0)) &&
           user->comparison().direction != ComparisonDirection::kEq &&
           user->comparison().direction != ComparisonDirection::kNe;
  });
}

}  // namespace kiln::passes::simplify
