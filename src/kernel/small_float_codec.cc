#include "src/kernel/small_float_codec.h"

#include <cmath>

#include "src/hlo/elements.h"

namespace kiln::kernel {

using hlo::PrimitiveType;

namespace {

constexpr int64_t kF32Infinity = 0x7f800000;
constexpr int64_t kF32Nan = 0x7fc00000;

Real DecodeExponentOnly(Integer bits) {
  Integer wide = bits.ZeroExtend(32);
  // The code is f32's exponent field; code 0 is 2^-127, a subnormal.
  Integer value = Select(wide == 0, 0x00400000, wide.Shl(23));
  return Select(wide == 0xFF, kF32Nan, value).AsReal();
}

Integer EncodeExponentOnly(Real f32) {
  Integer u = f32.AsInteger();
  Integer exponent = u.Shr(23);
  Integer mantissa = u & 0x7fffff;
  // From halfway on up to the next power. The lowest one, 2^-127, is a subnormal f32, and what is above it goes up.
  Integer below_half = Select(exponent == 0, mantissa.Constant(0x400000), mantissa.Constant(0x3fffff));
  Integer code = exponent + Select(mantissa > below_half, mantissa.Constant(1), mantissa.Constant(0));
  Mask valid = f32 > 0.0;
  // Above 254 the power of two is past the format (infinity and NaN included).
  return Select(valid & (code < 255), code, 0xFF).ZeroExtend(8);
}

}  // namespace

Real DecodeSmallFloat(PrimitiveType type, Integer bits) {
  if (type == PrimitiveType::kBF16) return bits.ZeroExtend(32).Shl(16).AsReal();
  if (type == PrimitiveType::kF8E8M0FNU) return DecodeExponentOnly(bits);
  const FloatFormat format = *hlo::NarrowFormat(type);
  const int m = format.mantissa_bits;
  const int magnitude_bits = format.exponent_bits + m;
  const int64_t all = (1 << magnitude_bits) - 1;
  Integer wide = bits.ZeroExtend(32);
  Integer code = wide & all;
  Integer normal = code.Shl(23 - m) + (static_cast<int64_t>(127 - format.bias) << 23);
  // Subnormals count units of 2^(1 - bias - m): put below a power of two whose unit that is, then subtract it.
  const double unit_base = std::ldexp(1.0, 23 + 1 - format.bias - m);
  const int64_t unit_base_bits = static_cast<int64_t>(23 + 1 - format.bias - m + 127) << 23;
  Integer subnormal = ((code | unit_base_bits).AsReal() - unit_base).AsInteger();
  Integer value = Select(code < (1 << m), subnormal, normal);
  Integer sign = wide.Shr(magnitude_bits).Shl(31);
  switch (format.specials) {
    case FloatSpecials::kIeee: {
      const int64_t infinity = all - ((1 << m) - 1);
      value = Select(code < infinity, value, code.Shl(23 - m) | kF32Infinity);
      break;
    }
    case FloatSpecials::kFinite:
      value = Select(code == all, kF32Nan, value);
      break;
    case FloatSpecials::kUnsigned0:
      value = Select(wide == (1 << magnitude_bits), kF32Nan, value);
      break;
    case FloatSpecials::kNone:
      break;
  }
  return (value | sign).AsReal();
}

Integer EncodeSmallFloat(PrimitiveType type, Real f32) {
  if (type == PrimitiveType::kF8E8M0FNU) return EncodeExponentOnly(f32);
  Integer u = f32.AsInteger();
  if (type == PrimitiveType::kBF16) {
    Integer rounded = u + ((u.Shr(16) & 1) + 0x7fff);
    return Select(f32.IsNan(), kF32Nan, rounded).Shr(16).ZeroExtend(16);
  }
  const FloatFormat format = *hlo::NarrowFormat(type);
  const int m = format.mantissa_bits;
  const int magnitude_bits = format.exponent_bits + m;
  const int64_t all = (1 << magnitude_bits) - 1;
  const int64_t sign_bit = 1 << magnitude_bits;
  Integer magnitude = u & 0x7fffffff;
  Integer sign = u.Shr(31).Shl(magnitude_bits);
  // Normal: add just under half a unit plus the lowest kept bit, then rebias.
  Integer rounded = magnitude + (magnitude.Shr(23 - m) & 1) + ((1 << (22 - m)) - 1);
  Integer normal = rounded.Shr(23 - m) - (static_cast<int64_t>(127 - format.bias) << m);
  // Subnormal: adding a power of two whose unit is the format's smallest value lets the FPU round.
  const int base_exponent = 23 + 1 - format.bias - m;
  Integer subnormal = (magnitude.AsReal() + std::ldexp(1.0, base_exponent)).AsInteger() -
                      (static_cast<int64_t>(base_exponent + 127) << 23);
  Integer code = Select(magnitude < (static_cast<int64_t>(128 - format.bias) << 23), subnormal, normal);
  Mask nan = f32.IsNan();
  switch (format.specials) {
    case FloatSpecials::kIeee: {
      const int64_t infinity = all - ((1 << m) - 1);
      code = Select(code < infinity, code, infinity);
      code = Select(nan, infinity | (1 << (m - 1)), code) | sign;
      break;
    }
    case FloatSpecials::kFinite:
      code = Select(nan | !(code < all), all, code) | sign;
      break;
    case FloatSpecials::kUnsigned0: {
      Mask special = nan | (code > all);
      code = Select(code == 0, code, code | sign);
      code = Select(special, sign_bit, code);
      break;
    }
    case FloatSpecials::kNone:
      code = Select(code < all, code, all) | sign;
      code = Select(nan, sign_bit, code);
      break;
  }
  return code.ZeroExtend(8);
}

Real RoundToOddF32(Real f64) {
  Real nearest = f64.To(32);
  Real back = nearest.To(64);
  Integer bits = nearest.AsInteger();
  // Towards zero first: the magnitude's code is one less where rounding went up.
  Mask up = back.Abs() > f64.Abs();
  Integer truncated = Select(up, bits - 1, bits);
  Mask inexact = back.Compare(llvm::CmpInst::FCMP_ONE, f64);
  return Select(inexact, truncated | 1, truncated).AsReal();
}

}  // namespace kiln::kernel
