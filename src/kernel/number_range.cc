#include "src/kernel/number_range.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/hlo/elements.h"

namespace kiln::kernel {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;

constexpr int kMaxDividendDepth = 8;  // of the ops that make a dividend
constexpr int64_t kMaxElements = 64;  // of a table, which is looked through each time

int MantissaBits(PrimitiveType type) { return type == PrimitiveType::kF32 ? 23 : 52; }
// Magnitudes whose products with others of the kind neither overflow nor lose bits.
int MostExponent(PrimitiveType type) { return type == PrimitiveType::kF32 ? 79 : 799; }

struct NumberRange {
  int exponent = 0;  // the value is zero or of a magnitude from 2^-exponent to 2^exponent
  bool may_be_negative = false;
  bool may_be_negative_zero = false;
};

class Ranges {
 public:
  explicit Ranges(const Kernel& kernel) : kernel_(kernel) {}

  std::optional<NumberRange> Of(ValueId id, int depth) const {
    const Op& op = kernel_.ops[id];
    if ((op.type != PrimitiveType::kF32 && op.type != PrimitiveType::kF64) || depth == 0) return std::nullopt;
    std::optional<NumberRange> range;
    if (const hlo::Literal* literal = LiteralOf(op)) {
      range = OfLiteral(op, *literal);
    } else if (op.kind == OpKind::kElementwise) {
      range = OfElementwise(op, depth - 1);
    }
    return range.has_value() && range->exponent <= MostExponent(op.type) ? range : std::nullopt;
  }

 private:
  // What a constant is an element of, or a load, if that is known.
  const hlo::Literal* LiteralOf(const Op& op) const {
    if (op.kind == OpKind::kConstant) return &op.literal;
    if (op.kind != OpKind::kLoad || !kernel_.parameters[op.parameter].constant.has_value()) return nullptr;
    const hlo::Literal& table = *kernel_.parameters[op.parameter].constant;
    return table.element_count() <= kMaxElements ? &table : nullptr;
  }

  // function(element) of those that it may be.
  template <typename Function>
  static void ForEachElement(const Op& op, const hlo::Literal& literal, Function function) {
    const bool is_one = op.kind == OpKind::kConstant;
    const int64_t begin = is_one ? op.literal_index : 0, end = is_one ? begin + 1 : literal.element_count();
    for (int64_t i = begin; i < end; ++i) function(hlo::ElementAsDouble(literal, i));
  }

  static std::optional<NumberRange> OfLiteral(const Op& op, const hlo::Literal& literal) {
    NumberRange range;
    bool is_finite = true;
    ForEachElement(op, literal, [&](double value) {
      int exponent = 0;
      std::frexp(value, &exponent);  // from 2^(exponent - 1) on
      if (value != 0) range.exponent = std::max({range.exponent, exponent, 1 - exponent});
      range.may_be_negative |= value < 0;
      range.may_be_negative_zero |= value == 0 && std::signbit(value);
      is_finite &= std::isfinite(value);
    });
    return is_finite ? std::optional(range) : std::nullopt;
  }

  bool MayBeZero(const Op& op) const {
    const hlo::Literal* literal = LiteralOf(op);
    bool may_be = literal == nullptr || op.predicate != kNoValue;
    if (literal != nullptr) ForEachElement(op, *literal, [&](double value) { may_be |= value == 0; });
    return may_be;
  }

  std::optional<NumberRange> OfElementwise(const Op& op, int depth) const {
    const auto operand = [&](size_t i) { return Of(op.operands[i], depth); };
    // Of one or the other, with what `change` makes of it.
    const auto of_both = [&](size_t first, size_t last, auto change) -> std::optional<NumberRange> {
      const std::optional<NumberRange> a = operand(first), b = operand(last);
      if (!a.has_value() || !b.has_value()) return std::nullopt;
      NumberRange both = {std::max(a->exponent, b->exponent), a->may_be_negative || b->may_be_negative,
                          a->may_be_negative_zero || b->may_be_negative_zero};
      change(*a, *b, both);
      return both;
    };
    switch (op.opcode) {
      case Opcode::kConvert: {
        const PrimitiveType from = kernel_.ops[op.operands[0]].type;
        if (!hlo::IsIntegral(from) && from != PrimitiveType::kPred) return operand(0);
        return NumberRange{hlo::BitWidth(from), hlo::IsSignedIntegral(from), false};
      }
      case Opcode::kAdd:
      case Opcode::kSubtract:
        return of_both(0, 1, [&](const NumberRange& a, const NumberRange& b, NumberRange& both) {
          const bool adds = op.opcode == Opcode::kAdd;
          // Both are multiples of a unit in the last place of the least magnitude, and so is what they give.
          both.exponent += MantissaBits(op.type) + 1;
          both.may_be_negative |= !adds;
          both.may_be_negative_zero = a.may_be_negative_zero && (!adds || b.may_be_negative_zero);
        });
      case Opcode::kMultiply:
      case Opcode::kDivide:
        if (op.opcode == Opcode::kDivide && MayBeZero(kernel_.ops[op.operands[1]])) return std::nullopt;
        return of_both(0, 1, [](const NumberRange& a, const NumberRange& b, NumberRange& both) {
          both.exponent = a.exponent + b.exponent + 1;
          both.may_be_negative_zero |= both.may_be_negative;
        });
      case Opcode::kMaximum:
      case Opcode::kMinimum:
        return of_both(0, 1, [](const NumberRange&, const NumberRange&, NumberRange&) {});
      case Opcode::kSelect:
        return of_both(1, 2, [](const NumberRange&, const NumberRange&, NumberRange&) {});
      default:
        return std::nullopt;
    }
  }

  const Kernel& kernel_;
};

}  // namespace

bool MayCorrectQuotient(const Kernel& kernel, const Op& divide) {
  // With the reciprocals of a table, or of a constant.
  if (divide.operands.size() < 3 && kernel.ops[divide.operands[1]].kind != OpKind::kConstant) return false;
  const std::optional<NumberRange> range = Ranges(kernel).Of(divide.operands[0], kMaxDividendDepth);
  return range.has_value() && !range->may_be_negative_zero;
}

}  // namespace kiln::kernel
