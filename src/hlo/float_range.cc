#include "src/hlo/float_range.h"

namespace kiln::hlo {

std::optional<FloatRange> FloatRangeOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF16:
      return FloatRange{10, -24, 15};
    case PrimitiveType::kBF16:
      return FloatRange{7, -133, 127};
    case PrimitiveType::kF32:
      return FloatRange{23, -149, 127};
    case PrimitiveType::kF64:
      return FloatRange{52, -1074, 1023};
    case PrimitiveType::kF8E5M2:
      return FloatRange{2, -16, 15};
    case PrimitiveType::kF8E4M3FN:
      return FloatRange{3, -9, 8};
    case PrimitiveType::kF8E4M3:
      return FloatRange{3, -9, 7};
    default:
      return std::nullopt;
  }
}

bool IsLossless(PrimitiveType from, PrimitiveType to) {
  if (from == to) return true;
  if (IsComplex(to) || IsComplex(from)) return false;
  if (from == PrimitiveType::kPred) return to != PrimitiveType::kF8E8M0FNU && BitWidth(to) >= 4;
  if (to == PrimitiveType::kPred) return false;
  const std::optional<FloatRange> from_range = FloatRangeOf(from), to_range = FloatRangeOf(to);
  if (from_range && to_range) {
    return from_range->mantissa_bits <= to_range->mantissa_bits && from_range->min_exponent >= to_range->min_exponent &&
           from_range->max_exponent <= to_range->max_exponent;
  }
  const int value_bits = BitWidth(from) - (IsSignedIntegral(from) ? 1 : 0);
  if (IsIntegral(from) && to_range) {
    return value_bits <= to_range->mantissa_bits + 1 && value_bits <= to_range->max_exponent;
  }
  if (!IsIntegral(from) || !IsIntegral(to)) return false;
  if (IsSignedIntegral(from) && IsUnsignedIntegral(to)) return false;
  return value_bits <= BitWidth(to) - (IsSignedIntegral(to) ? 1 : 0);
}

}  // namespace kiln::hlo
