// Floating-point formats narrower than f32, converted from and to double by the bits.
#ifndef KILN_BASE_SMALL_FLOAT_H_
#define KILN_BASE_SMALL_FLOAT_H_

#include <cstdint>

namespace kiln {

// How a format spends its top codes.
enum class FloatSpecials : uint8_t {
  kIeee,     // exponent all ones: infinity and NaNs
  kFinite,   // "fn": no infinity; NaN is the all-ones code of either sign
  kUnsigned0,  // "fnuz": no infinity, no negative zero; its code is the only NaN
  kNone,     // f4e2m1fn: neither; overflow saturates, NaN becomes negative zero as ml_dtypes does
};

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  FloatSpecials specials;
};

inline constexpr FloatFormat kHalfFormat{5, 10, 15, FloatSpecials::kIeee};
inline constexpr FloatFormat kBFloat16Format{8, 7, 127, FloatSpecials::kIeee};
inline constexpr FloatFormat kF8E5M2Format{5, 2, 15, FloatSpecials::kIeee};
inline constexpr FloatFormat kF8E4M3Format{4, 3, 7, FloatSpecials::kIeee};
inline constexpr FloatFormat kF8E3M4Format{3, 4, 3, FloatSpecials::kIeee};
inline constexpr FloatFormat kF8E4M3FNFormat{4, 3, 7, FloatSpecials::kFinite};
inline constexpr FloatFormat kF8E4M3B11FNUZFormat{4, 3, 11, FloatSpecials::kUnsigned0};
inline constexpr FloatFormat kF8E5M2FNUZFormat{5, 2, 16, FloatSpecials::kUnsigned0};
inline constexpr FloatFormat kF8E4M3FNUZFormat{4, 3, 8, FloatSpecials::kUnsigned0};
inline constexpr FloatFormat kF4E2M1FNFormat{2, 1, 1, FloatSpecials::kNone};

// Nearest even; overflow gives infinity (kIeee), NaN (kFinite, kUnsigned0) or the largest value (kNone).
uint32_t EncodeFloat(const FloatFormat& format, double value);
// Exact.
double DecodeFloat(const FloatFormat& format, uint32_t bits);

// f8e8m0fnu: a power of two, no sign, no zero; 0xFF is NaN.
uint8_t EncodeF8E8M0FNU(double value);
double DecodeF8E8M0FNU(uint8_t bits);

}  // namespace kiln

#endif  // KILN_BASE_SMALL_FLOAT_H_
