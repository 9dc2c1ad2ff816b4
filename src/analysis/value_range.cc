#include "src/analysis/value_range.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "src/analysis/combiner.h"
#include "src/analysis/shifted_rows.h"
#include "src/hlo/elements.h"
#include "src/hlo/float_range.h"

namespace kiln::analysis {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

constexpr long double kInfinity = ValueRange::kInfinity;
constexpr int64_t kMaxOperands = 8;

ValueRange RangeOfType(PrimitiveType type) {
  if (type == PrimitiveType::kPred) return {0, 1, false, false};
  if (!hlo::IsIntegral(type)) return {-kInfinity, kInfinity, true, true};
  const int bits = hlo::BitWidth(type);
  if (hlo::IsUnsignedIntegral(type)) return {0, std::ldexp(1.0L, bits) - 1, false, false};
  return {-std::ldexp(1.0L, bits - 1), std::ldexp(1.0L, bits - 1) - 1, false, false};
}

// Integers that would wrap around may be any.
ValueRange Unwrapped(long double low, long double high, const ValueRange& all) {
  return low >= all.low && high <= all.high ? ValueRange{low, high, false, false} : all;
}

ValueRange Union(const ValueRange& a, const ValueRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.has_minus_zero || b.has_minus_zero,
          a.has_nan || b.has_nan};
}

ValueRange Maximum(const ValueRange& a, const ValueRange& b) {
  // max(-0, 0) is 0.
  const bool minus_zero = (a.has_minus_zero && (b.low < 0 || b.has_minus_zero)) || (b.has_minus_zero && a.low < 0);
  return {std::max(a.low, b.low), std::max(a.high, b.high), minus_zero, a.has_nan || b.has_nan};
}

ValueRange Minimum(const ValueRange& a, const ValueRange& b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high), a.has_minus_zero || b.has_minus_zero,
          a.has_nan || b.has_nan};
}

// Of what has these signs and may be rounded.
ValueRange SignsOf(const ValueRange& a, bool has_nan) {
  return {a.low >= 0 ? 0 : -kInfinity, a.high <= 0 ? 0 : kInfinity, a.has_minus_zero || a.low < 0, has_nan};
}

ValueRange OfConstant(const hlo::Literal& literal, const ValueRange& all) {
  if (literal.element_count() == 0 || literal.element_count() > kMaxConstantElements) return all;
  const PrimitiveType type = literal.shape().element_type();
  ValueRange range = {kInfinity, -kInfinity, false, false};
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const int64_t bits = hlo::IsFloating(type) ? 0 : hlo::ElementAsInt64(literal, i);
    const long double value = hlo::IsFloating(type)         ? hlo::ElementAsDouble(literal, i)
                              : type == PrimitiveType::kU64 ? static_cast<long double>(static_cast<uint64_t>(bits))
                                                            : static_cast<long double>(bits);
    range.has_minus_zero |= value == 0 && std::signbit(value);
    range.has_nan |= std::isnan(value);
    range.low = std::min(range.low, std::isnan(value) ? range.low : value);
    range.high = std::max(range.high, std::isnan(value) ? range.high : value);
  }
  return range;
}

ValueRange OfConvert(const Instruction& x, const ValueRange& a, const ValueRange& all) {
  const PrimitiveType from = x.operand(0)->shape().element_type(), to = x.shape().element_type();
  if (hlo::IsComplex(from) || to == PrimitiveType::kPred) return all;
  if (hlo::IsIntegral(to)) return a.has_nan ? all : Unwrapped(std::trunc(a.low), std::trunc(a.high), all);
  if (hlo::IsLossless(from, to)) return a;
  ValueRange signs = SignsOf(a, a.has_nan);
  if (hlo::IsFloating(from)) return signs;
  signs.has_minus_zero = false;
  const long double largest = std::max(std::abs(a.low), std::abs(a.high));
  const int exponent = hlo::BitWidth(to) < 16 ? 0 : to == PrimitiveType::kF16 ? 15 : 65;
  const long double limit = std::ldexp(1.0L, exponent);  // a number of the type
  return largest <= limit ? ValueRange{std::max(signs.low, -limit), std::min(signs.high, limit), false, false} : signs;
}

// Of integers and pred; of floats, signs.
ValueRange OfArithmetic(const Instruction& x, const ValueRange& a, const ValueRange& b, const ValueRange& all) {
  const bool is_float = hlo::IsFloating(x.shape().element_type());
  const bool non_negative = a.low >= 0 && b.low >= 0;
  switch (x.opcode()) {
    case Opcode::kAdd:
      if (!is_float) return Unwrapped(a.low + b.low, a.high + b.high, all);
      return non_negative ? ValueRange{0, kInfinity, a.has_minus_zero && b.has_minus_zero, a.has_nan || b.has_nan}
                          : all;
    case Opcode::kSubtract:
      if (!is_float) return Unwrapped(a.low - b.high, a.high - b.low, all);
      return RowShiftOf(x) == RowShift::kMaximum ? ValueRange{-kInfinity, 0, true, true} : all;
    case Opcode::kMultiply: {
      if (is_float && x.operand(0) == x.operand(1)) return {0, kInfinity, false, a.has_nan};
      if (is_float && non_negative) return SignsOf(Minimum(a, b), /*has_nan=*/true);
      if (is_float) {
        const bool opposite = (a.high <= 0 && b.low >= 0) || (a.low >= 0 && b.high <= 0);
        return opposite ? ValueRange{-kInfinity, 0, true, true} : all;
      }
      const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
      return Unwrapped(low, high, all);
    }
    case Opcode::kDivide:
      if (is_float && a.high <= 0 && b.IsNonNegative()) return {-kInfinity, 0, true, true};
      if (is_float) return a.IsNonNegative() && b.IsNonNegative() ? ValueRange{0, kInfinity, false, true} : all;
      // By zero it is -1.
      return b.low > 0 ? ValueRange{std::min(0.0L, std::trunc(a.low / b.low)),
                                    std::max(0.0L, std::trunc(a.high / b.low)), false, false}
                       : all;
    case Opcode::kRemainder: {
      if (is_float) return all;
      // By zero it is x.
      const long double most = b.low > 0 ? b.high - 1 : b.high < 0 ? -b.low - 1 : kInfinity;
      return {std::max(-most, std::min(0.0L, a.low)), std::min(most, std::max(0.0L, a.high)), false, false};
    }
    case Opcode::kAnd:
      if (a.low < 0 && b.low < 0) return all;
      return {0, std::min(a.low < 0 ? b.high : a.high, b.low < 0 ? a.high : b.high), false, false};
    case Opcode::kOr:
    case Opcode::kXor:
      if (!non_negative) return all;
      return {0, std::ldexp(1.0L, std::ilogb(std::max({a.high, b.high, 0.5L})) + 1) - 1, false, false};
    case Opcode::kShiftRightLogical:
    case Opcode::kShiftRightArithmetic: {
      if (b.low != b.high || b.low < 0 || b.low >= hlo::BitWidth(x.shape().element_type())) {
        // By any number of digits: towards 0, or -1.
        const bool extends = x.opcode() == Opcode::kShiftRightArithmetic && all.low < 0;
        if (a.low >= 0 && (all.low < 0 || !extends)) return {0, a.high, false, false};
        return extends ? ValueRange{a.low, std::max(a.high, -1.0L), false, false} : all;
      }
      // Unsigned numbers are shifted as if they were signed.
      if (x.opcode() == Opcode::kShiftRightArithmetic && all.low == 0 && a.high > all.high / 2) return all;
      const int shift = static_cast<int>(b.low);
      if (a.low < 0 && x.opcode() == Opcode::kShiftRightLogical) {
        return shift == 0 ? a : ValueRange{0, std::ldexp(all.high - all.low + 1, -shift) - 1, false, false};
      }
      return {std::floor(std::ldexp(a.low, -shift)), std::floor(std::ldexp(a.high, -shift)), false, false};
    }
    default:
      return all;
  }
}

ValueRange OfFunction(const Instruction& x, const ValueRange& a, const ValueRange& all) {
  const PrimitiveType type = x.shape().element_type();
  const bool is_float = hlo::IsFloating(type);
  switch (x.opcode()) {
    case Opcode::kAbs: {
      const long double low = a.low >= 0 ? a.low : a.high <= 0 ? -a.high : 0, high = std::max(-a.low, a.high);
      return is_float ? ValueRange{low, high, false, a.has_nan} : Unwrapped(low, high, all);
    }
    case Opcode::kNegate:
      return is_float ? ValueRange{-a.high, -a.low, true, a.has_nan} : Unwrapped(-a.high, -a.low, all);
    case Opcode::kSign:
      return {a.low >= 0 ? 0.0L : -1, a.high <= 0 ? 0.0L : 1, a.has_minus_zero, a.has_nan};
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
      return {std::floor(a.low), std::ceil(a.high), a.has_minus_zero || a.low < 0, a.has_nan};
    case Opcode::kExp:
    case Opcode::kExp2:
      return {a.low >= 0 ? 1.0L : 0, a.high <= 0 ? 1.0L : kInfinity, false, a.has_nan};
    case Opcode::kLogistic:
      return {0, 1, false, a.has_nan};
    case Opcode::kTanh:
    case Opcode::kErf:
      return {a.low >= 0 ? 0.0L : -1, a.high <= 0 ? 0.0L : 1, true, a.has_nan};
    case Opcode::kSin:
    case Opcode::kCos:
      return {-1, 1, true, !a.IsFinite()};
    case Opcode::kSqrt:
      return {0, kInfinity, a.has_minus_zero, a.has_nan || a.low < 0};
    case Opcode::kPopcnt:
    case Opcode::kCountLeadingZeros:
      return {0, static_cast<long double>(hlo::BitWidth(type)), false, false};
    default:
      return all;
  }
}

}  // namespace

const Instruction& Source(const Instruction& moved) {
  const Instruction* x = &moved;
  for (int steps = 0; steps < 4; ++steps) {
    const Opcode opcode = x->opcode();
    if (opcode != Opcode::kBroadcast && opcode != Opcode::kReshape && opcode != Opcode::kTranspose &&
        opcode != Opcode::kSlice && opcode != Opcode::kReverse && opcode != Opcode::kDynamicSlice &&
        opcode != Opcode::kGather) {
      break;
    }
    x = x->operand(0);
  }
  return *x;
}

ValueRange RangeOf(const Instruction& moved, int steps) {
  const Instruction& x = Source(moved);
  const PrimitiveType type = x.shape().element_type();
  const ValueRange all = RangeOfType(type);
  if (!x.shape().IsArray() || hlo::IsComplex(type)) return all;
  if (x.opcode() == Opcode::kConstant) return OfConstant(x.literal(), all);
  if (x.opcode() == Opcode::kIota) {
    const long double last =
        static_cast<long double>(std::max<int64_t>(x.shape().dimensions(x.dimensions()[0]), 1) - 1);
    if (hlo::IsIntegral(type)) return Unwrapped(0, last, all);
    return {0, last < 1 << 15 ? 1 << 15 : kInfinity, false, hlo::BitWidth(type) < 16};
  }
  if (steps == 0 || x.operand_count() == 0 || x.operand_count() > kMaxOperands) return all;
  const auto of = [&](int64_t operand) { return RangeOf(*x.operand(operand), steps - 1); };
  // Narrow floats may have NaN in place of infinity.
  const auto rounded = [&](ValueRange range) {
    range.has_nan |= hlo::IsFloating(type) && hlo::BitWidth(type) < 16;
    return range;
  };
  switch (x.opcode()) {
    case Opcode::kMaximum:
      return Maximum(of(0), of(1));
    case Opcode::kMinimum:
      return Minimum(of(0), of(1));
    case Opcode::kClamp:
      return Minimum(Maximum(of(1), of(0)), of(2));
    case Opcode::kSelect:
      return Union(of(1), of(2));
    case Opcode::kPad:
    case Opcode::kDynamicUpdateSlice:
      return Union(of(0), of(1));
    case Opcode::kConcatenate: {
      ValueRange range = of(0);
      for (int64_t i = 1; i < x.operand_count(); ++i) range = Union(range, of(i));
      return range;
    }
    case Opcode::kReduce: {
      const std::optional<Opcode> combiner =
          x.operand_count() == 2 ? CombinerOpcode(*x.called_computation()) : std::nullopt;
      if (combiner == Opcode::kMaximum || combiner == Opcode::kMinimum) return Union(of(0), of(1));
      if (combiner != Opcode::kAdd || !hlo::IsFloating(type)) return all;
      const ValueRange terms = Union(of(0), of(1));
      return terms.IsNonNegative() ? rounded({0, kInfinity, false, terms.has_nan}) : all;
    }
    case Opcode::kConvert:
      return rounded(OfConvert(x, of(0), all));
    default:
      break;
  }
  if (!hlo::IsElementwise(x.opcode()) || x.operand(0)->shape().element_type() != type) return all;
  return rounded(x.operand_count() == 2 ? OfArithmetic(x, of(0), of(1), all) : OfFunction(x, of(0), all));
}

bool IsNeverBelow(const ValueRange& x, const ValueRange& y) {
  return !y.has_nan && (x.low > y.high || (x.low == y.high && (x.low != 0 || !x.has_minus_zero)));
}

bool IsNeverAbove(const ValueRange& x, const ValueRange& y) {
  return !y.has_nan && (x.high < y.low || (x.high == y.low && (x.high != 0 || !y.has_minus_zero)));
}

}  // namespace kiln::analysis
