#include "src/passes/simplify/known_bits.h"

#include <algorithm>
#include <bit>

#include "src/analysis/value_range.h"
#include "src/passes/simplify/rule.h"

namespace kiln::passes::simplify {
namespace {

uint64_t MaskOf(PrimitiveType type) {
  const int bits = type == PrimitiveType::kPred ? 1 : hlo::BitWidth(type);
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// The digits of 0 ... most.
uint64_t DigitsUpTo(uint64_t most) { return most == 0 ? 0 : ~uint64_t{0} >> std::countl_zero(most); }

KnownBits OfConstant(const Literal& literal, uint64_t mask) {
  KnownBits bits = {0, mask};
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const uint64_t value = static_cast<uint64_t>(hlo::ElementAsInt64(literal, i)) & mask;
    bits.maybe |= value;
    bits.always &= value;
  }
  return bits;
}

// Sums have no digit below the lowest one of their terms, and carry from where both have one.
KnownBits OfSum(const KnownBits& a, const KnownBits& b, uint64_t mask) {
  if ((a.maybe & b.maybe) == 0) return {a.maybe | b.maybe, a.always | b.always};
  const uint64_t any = a.maybe | b.maybe;
  return {any == 0 ? 0 : ~DigitsUpTo((any & -any) - 1) & mask, 0};
}

KnownBits OfProduct(const KnownBits& a, const KnownBits& b, uint64_t mask) {
  const int zeros = std::countr_zero(a.maybe) + std::countr_zero(b.maybe);
  return {zeros >= 64 ? 0 : (~uint64_t{0} << zeros) & mask, 0};
}

KnownBits OfConvert(const Instruction& x, const KnownBits& a, uint64_t mask) {
  const PrimitiveType from = x.operand(0)->shape().element_type();
  const uint64_t sign = MaskOf(from) ^ (MaskOf(from) >> 1), added = mask & ~MaskOf(from);
  const bool extends = hlo::IsSignedIntegral(from);
  return {(a.maybe & mask) | (extends && (a.maybe & sign) != 0 ? added : 0),
          (a.always & mask) | (extends && (a.always & sign) != 0 ? added : 0)};
}

bool IsOfDigits(PrimitiveType type) { return hlo::IsIntegral(type) || type == PrimitiveType::kPred; }

// By a number of digits that is known.
std::optional<KnownBits> OfShift(const Instruction& x, const KnownBits& a, uint64_t mask) {
  const std::optional<Literal> value = SplatValue(*x.operand(1));
  const uint64_t count = value ? static_cast<uint64_t>(hlo::ElementAsInt64(*value, 0)) : ~uint64_t{0};
  const int width = std::bit_width(mask);
  if (count >= static_cast<uint64_t>(width)) return std::nullopt;
  const int shift = static_cast<int>(count);
  if (x.opcode() == Opcode::kShiftLeft) return KnownBits{(a.maybe << shift) & mask, (a.always << shift) & mask};
  const uint64_t sign = mask ^ (mask >> 1), filled = mask & ~(mask >> shift);
  const bool extends = x.opcode() == Opcode::kShiftRightArithmetic;
  return KnownBits{(a.maybe >> shift) | (extends && (a.maybe & sign) != 0 ? filled : 0),
                   (a.always >> shift) | (extends && (a.always & sign) != 0 ? filled : 0)};
}

KnownBits OfOp(const Instruction& x, uint64_t mask, int steps) {
  const auto of = [&](int64_t operand) { return BitsOf(*x.operand(operand), steps - 1); };
  switch (x.opcode()) {
    case Opcode::kAnd: {
      const KnownBits a = of(0), b = of(1);
      return {a.maybe & b.maybe, a.always & b.always};
    }
    case Opcode::kOr: {
      const KnownBits a = of(0), b = of(1);
      return {a.maybe | b.maybe, a.always | b.always};
    }
    case Opcode::kXor: {
      const KnownBits a = of(0), b = of(1);
      return {(a.maybe | b.maybe) & ~(a.always & b.always), (a.always & ~b.maybe) | (b.always & ~a.maybe)};
    }
    case Opcode::kNot: {
      const KnownBits a = of(0);
      return {mask & ~a.always, mask & ~a.maybe};
    }
    case Opcode::kAdd:
      return x.operand(0) == x.operand(1) ? OfProduct(of(0), {2, 2}, mask) : OfSum(of(0), of(1), mask);
    case Opcode::kSubtract: {
      const KnownBits sum = OfSum(of(0), of(1), mask);
      const uint64_t lowest = sum.maybe & -sum.maybe;
      return {lowest == 0 ? 0 : ~(lowest - 1) & mask, 0};
    }
    case Opcode::kMultiply:
      return OfProduct(of(0), of(1), mask);
    case Opcode::kNegate:
      return OfProduct(of(0), {mask, 0}, mask);
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightLogical:
    case Opcode::kShiftRightArithmetic:
      return OfShift(x, of(0), mask).value_or(KnownBits{mask, 0});
    case Opcode::kConvert:
      if (!IsOfDigits(x.operand(0)->shape().element_type()) || mask == 1) return {mask, 0};
      return OfConvert(x, of(0), mask);
    case Opcode::kSelect: {
      const KnownBits a = of(1), b = of(2);
      return {a.maybe | b.maybe, a.always & b.always};
    }
    default:
      return {mask, 0};
  }
}

}  // namespace

KnownBits BitsOf(const Instruction& moved, int steps) {
  const Instruction& x = analysis::Source(moved);
  if (!x.shape().IsArray() || !IsOfDigits(x.shape().element_type())) return {~uint64_t{0}, 0};
  const uint64_t mask = MaskOf(x.shape().element_type());
  if (x.opcode() == Opcode::kConstant) {
    const int64_t count = x.literal().element_count();
    return count == 0 || count > analysis::kMaxConstantElements ? KnownBits{mask, 0} : OfConstant(x.literal(), mask);
  }
  KnownBits bits = steps == 0 || x.operand_count() == 0 ? KnownBits{mask, 0} : OfOp(x, mask, steps);
  const analysis::ValueRange range = analysis::RangeOf(x, std::min(steps, 1));
  if (range.low >= 0) bits.maybe &= DigitsUpTo(static_cast<uint64_t>(range.high));
  return bits;
}

}  // namespace kiln::passes::simplify
