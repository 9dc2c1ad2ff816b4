#include "src/base/small_float.h"

#include <cmath>
#include <limits>

namespace kiln {
namespace {

uint32_t MaxFiniteMagnitude(const FloatFormat& format) {
  uint32_t all = (1u << (format.exponent_bits + format.mantissa_bits)) - 1;
  switch (format.specials) {
    case FloatSpecials::kIeee:
      return all - (1u << format.mantissa_bits);  // exponent all ones is reserved: the code below infinity
    case FloatSpecials::kFinite:
      return all - 1;
    default:
      return all;
  }
}

}  // namespace

uint32_t EncodeFloat(const FloatFormat& format, double value) {
  const int magnitude_bits = format.exponent_bits + format.mantissa_bits;
  const uint32_t sign = std::signbit(value) ? 1u << magnitude_bits : 0;
  const uint32_t all = (1u << magnitude_bits) - 1;
  if (std::isnan(value)) {
    switch (format.specials) {
      case FloatSpecials::kIeee:
        return sign | (all - ((1u << (format.mantissa_bits - 1)) - 1));  // the quiet bit alone
      case FloatSpecials::kFinite:
        return sign | all;
      default:
        return 1u << magnitude_bits;
    }
  }
  const uint32_t largest = MaxFiniteMagnitude(format);
  uint32_t overflow = largest;
  if (format.specials == FloatSpecials::kIeee) overflow = sign | (largest + 1);
  if (format.specials == FloatSpecials::kFinite) overflow = sign | all;
  if (format.specials == FloatSpecials::kUnsigned0) overflow = 1u << magnitude_bits;
  if (format.specials == FloatSpecials::kNone) overflow = sign | largest;
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return overflow;
  uint32_t code = 0;
  if (magnitude > 0) {
    int exponent = std::ilogb(magnitude);
    if (exponent < 1 - format.bias) exponent = 1 - format.bias;  // subnormal: the scale of the smallest normal
    // Units in the last place at this exponent; nearbyint rounds to nearest even and the scaling is exact. Below the
    // format's range the quotient may become a subnormal double, which still rounds to 0 as it should.
    const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
    if (units >= std::ldexp(1.0, magnitude_bits)) return overflow;
    int64_t scaled = static_cast<int64_t>(units);
    int64_t biased = exponent + format.bias;  // >= 1
    // A mantissa with its hidden bit adds to the exponent field below it: carries out of rounding land by themselves.
    int64_t combined = ((biased - 1) << format.mantissa_bits) + scaled;
    if (combined > largest) return overflow;
    code = static_cast<uint32_t>(combined);
  }
  if (code == 0 && format.specials == FloatSpecials::kUnsigned0) return 0;
  return sign | code;
}

double DecodeFloat(const FloatFormat& format, uint32_t bits) {
  const int magnitude_bits = format.exponent_bits + format.mantissa_bits;
  const bool negative = (bits >> magnitude_bits) & 1;
  const uint32_t all = (1u << magnitude_bits) - 1;
  const uint32_t code = bits & all;
  if (format.specials == FloatSpecials::kUnsigned0 && negative && code == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (format.specials == FloatSpecials::kFinite && code == all) {
    return std::copysign(std::numeric_limits<double>::quiet_NaN(), negative ? -1.0 : 1.0);
  }
  const uint32_t mantissa = code & ((1u << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(code >> format.mantissa_bits);
  if (format.specials == FloatSpecials::kIeee && exponent == (1 << format.exponent_bits) - 1) {
    double special = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return std::copysign(special, negative ? -1.0 : 1.0);
  }
  double magnitude =
      exponent == 0
          ? std::ldexp(static_cast<double>(mantissa), 1 - format.bias - format.mantissa_bits)
          : std::ldexp(static_cast<double>(mantissa + (1u << format.mantissa_bits)),
                       exponent - format.bias - format.mantissa_bits);
  return negative ? -magnitude : magnitude;
}

uint8_t EncodeF8E8M0FNU(double value) {
  // Zero, negative and non-finite values have no code, nor what f32 rounds to zero.
  if (!(static_cast<float>(value) > 0) || std::isinf(value)) return 0xFF;
  int exponent;
  double fraction = std::frexp(value, &exponent);  // value = fraction * 2^exponent, fraction in [0.5, 1)
  int power = exponent - 1;
  // Nearest power of two by value; the tie 1.5 * 2^p goes up: the last bit kept is the hidden one, which is odd.
  if (fraction >= 0.75) ++power;
  if (power > 127) return 0xFF;
  // Among f32's subnormals ml_dtypes and XLA round what is above the lowest power up.
  if (power <= -127) return value > 0x1p-127 ? 1 : 0;
  return static_cast<uint8_t>(power + 127);
}

double DecodeF8E8M0FNU(uint8_t bits) {
  if (bits == 0xFF) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(1.0, static_cast<int>(bits) - 127);
}

}  // namespace kiln
