#include "src/analysis/combiner.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace kiln::analysis {

using hlo::ComparisonDirection;
using hlo::Instruction;
using hlo::Opcode;

std::optional<Opcode> CombinerOpcode(const hlo::Computation& combiner) {
  if (combiner.parameter_count() != 2) return std::nullopt;
  const Instruction* root = combiner.root();
  switch (root->opcode()) {
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      break;
    default:
      return std::nullopt;
  }
  const Instruction* a = combiner.parameter(0);
  const Instruction* b = combiner.parameter(1);
  const bool both =
      (root->operand(0) == a && root->operand(1) == b) || (root->operand(0) == b && root->operand(1) == a);
  return both ? std::optional<Opcode>(root->opcode()) : std::nullopt;
}

bool IsUnordered(const hlo::Computation& combiner) {
  const Instruction* root = combiner.root();
  const int64_t count = combiner.parameter_count() / 2;
  const bool is_tuple = root->opcode() == Opcode::kTuple;
  if ((is_tuple ? root->operand_count() : 1) != count) return false;
  for (int64_t i = 0; i < count; ++i) {
    const Instruction* result = is_tuple ? root->operand(i) : root;
    const Opcode opcode = result->opcode();
    if (result->operand_count() != 2 || !hlo::IsElementwise(opcode) || !hlo::IsCommutative(opcode)) return false;
    const Instruction* a = result->operand(0);
    const Instruction* b = result->operand(1);
    if (b == combiner.parameter(i)) std::swap(a, b);
    if (a != combiner.parameter(i) || b != combiner.parameter(count + i)) return false;
  }
  return true;
}

std::optional<ComparisonDirection> KeepsBest(const hlo::Computation& combiner) {
  const Instruction* root = combiner.root();
  if (combiner.parameter_count() != 4 || root->opcode() != Opcode::kTuple || root->operand_count() != 2)
    return std::nullopt;
  const Instruction* key = combiner.parameter(0);
  const Instruction* index = combiner.parameter(1);
  const Instruction* other_key = combiner.parameter(2);
  const Instruction* other_index = combiner.parameter(3);
  if (hlo::IsComplex(key->shape().element_type()) || !hlo::IsIntegral(index->shape().element_type())) {
    return std::nullopt;
  }
  auto is_select = [](const Instruction* x, const Instruction* a, const Instruction* b) {
    return x->opcode() == Opcode::kSelect && x->operand(1) == a && x->operand(2) == b;
  };
  auto compares = [](const Instruction* x, const Instruction* a, const Instruction* b,
                     std::initializer_list<ComparisonDirection> directions) {
    if (x->opcode() != Opcode::kCompare || x->operand(0) != a || x->operand(1) != b) return false;
    return std::find(directions.begin(), directions.end(), x->comparison().direction) != directions.end();
  };
  // x is opcode(a, b) where `first` holds of one and `second` of the other.
  auto joins = [](const Instruction* x, Opcode opcode, auto first, auto second) {
    return x->opcode() == opcode &&
           ((first(x->operand(0)) && second(x->operand(1))) || (first(x->operand(1)) && second(x->operand(0))));
  };
  if (!is_select(root->operand(1), index, other_index)) return std::nullopt;
  ComparisonDirection direction = ComparisonDirection::kEq;
  auto is_strict = [&](const Instruction* x) {
    if (!compares(x, key, other_key, {ComparisonDirection::kGt, ComparisonDirection::kLt})) return false;
    direction = x->comparison().direction;
    return true;
  };
  auto is_nan = [&](const Instruction* x) { return compares(x, key, key, {ComparisonDirection::kNe}); };
  const bool may_be_nan = hlo::IsFloating(key->shape().element_type());
  auto is_better = [&](const Instruction* x) {
    return may_be_nan ? joins(x, Opcode::kOr, is_strict, is_nan) : is_strict(x);
  };
  const Instruction* best = root->operand(0);
  // Integers that are chosen so are maxima and minima to the simplifier.
  auto is_key = [&](const Instruction* x) { return x == key; };
  auto is_other_key = [&](const Instruction* x) { return x == other_key; };
  const bool is_largest = !may_be_nan && joins(best, Opcode::kMaximum, is_key, is_other_key);
  const bool is_least = !may_be_nan && joins(best, Opcode::kMinimum, is_key, is_other_key);
  const bool is_chosen = is_select(best, key, other_key) && is_better(best->operand(0));
  if (!is_largest && !is_least && !is_chosen) return std::nullopt;
  const ComparisonDirection of_key = is_largest ? ComparisonDirection::kGt
                                     : is_least ? ComparisonDirection::kLt
                                                : direction;
  auto is_equal = [&](const Instruction* x) {
    return compares(x, key, other_key, {ComparisonDirection::kEq}) ||
           compares(x, other_key, key, {ComparisonDirection::kEq});
  };
  auto is_before = [&](const Instruction* x) {
    return compares(x, index, other_index, {ComparisonDirection::kLt}) ||
           compares(x, other_index, index, {ComparisonDirection::kGt});
  };
  auto is_tie = [&](const Instruction* x) { return joins(x, Opcode::kAnd, is_equal, is_before); };
  if (!joins(root->operand(1)->operand(0), Opcode::kOr, is_better, is_tie)) return std::nullopt;
  return direction == of_key ? std::optional(direction) : std::nullopt;
}

bool AddUpInF32(hlo::PrimitiveType type, int64_t count) {
  constexpr int64_t kMany = 16;
  return count >= kMany && (type == hlo::PrimitiveType::kBF16 || type == hlo::PrimitiveType::kF16);
}

std::optional<hlo::Literal> IdentityOf(Opcode opcode, hlo::PrimitiveType type) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kOr:
    case Opcode::kXor:
      return hlo::ZeroLiteral(type);
    case Opcode::kMultiply:
      return hlo::OneLiteral(type);
    case Opcode::kMaximum:
      if (hlo::IsComplex(type)) return std::nullopt;
      return hlo::MinLiteral(type);
    case Opcode::kMinimum:
      if (hlo::IsComplex(type)) return std::nullopt;
      return hlo::MaxLiteral(type);
    case Opcode::kAnd:
      return hlo::LiteralOf(hlo::Shape::Scalar(type), int64_t{-1});
    default:
      return std::nullopt;
  }
}

bool IsIdentityOf(Opcode opcode, const hlo::Literal& value) {
  if (opcode == Opcode::kAdd) return hlo::IsSplatOf(value, 0);
  return value == IdentityOf(opcode, value.shape().element_type());
}

}  // namespace kiln::analysis
