#include "src/passes/simplify/guards.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "src/hlo/literal.h"

namespace kiln::passes::simplify {

namespace {

// The value of constant `letter`, which the pattern holds to be one.
Literal ValueOf(const Match& match, char letter) { return *SplatValue(*match[letter]); }

// As an unsigned number of the type's width, so that negative shifts are large.
uint64_t UnsignedValue(const Match& match, char letter) {
  const Literal value = ValueOf(match, letter);
  const int bits = hlo::BitWidth(value.shape().element_type());
  const uint64_t number = static_cast<uint64_t>(hlo::ElementAsInt64(value, 0));
  return bits >= 64 ? number : number & ((uint64_t{1} << bits) - 1);
}

// Whether `x` is a constant whose elements, as `kValueOf` gives them, all are as wanted.
template <auto kValueOf = hlo::ElementAsDouble, typename Holds>
bool IsConstantOf(const Instruction& x, Holds holds) {
  if (!x.IsConstant() || !x.shape().IsArray() || hlo::IsComplex(x.shape().element_type()) ||
      x.shape().element_count() > analysis::kMaxConstantElements) {
    return false;
  }
  for (int64_t i = 0; i < x.literal().element_count(); ++i) {
    if (!holds(kValueOf(x.literal(), i))) return false;
  }
  return true;
}

// One over it is no more and no less than it is: of the smallest f64 powers it is infinite, of the largest subnormal.
bool IsPower(double value, PrimitiveType type) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  const int limit = type == PrimitiveType::kF64 ? 1000 : type == PrimitiveType::kF16 ? 12 : 120;
  return std::abs(mantissa) == 0.5 && std::abs(exponent) <= limit && hlo::BitWidth(type) >= 16;
}

}  // namespace

PrimitiveType TypeOf(const Match& match) {
  const Instruction& root = *match.root();
  return (root.opcode() == Opcode::kCompare ? root.operand(0) : &root)->shape().element_type();
}

bool IsPred(PrimitiveType type) { return type == PrimitiveType::kPred; }
bool IsIntegralOrPred(PrimitiveType type) { return hlo::IsIntegral(type) || IsPred(type); }
bool IsWideFloat(PrimitiveType type) { return hlo::IsFloating(type) && hlo::BitWidth(type) >= 16; }
bool IsFloatOfWideRange(PrimitiveType type) {
  return type == PrimitiveType::kBF16 || type == PrimitiveType::kF32 || type == PrimitiveType::kF64;
}
bool IsPreciseFloat(PrimitiveType type) { return type == PrimitiveType::kF32 || type == PrimitiveType::kF64; }
bool IsNotComplex(PrimitiveType type) { return !hlo::IsComplex(type); }

bool IsWhole(const Instruction& x) {
  switch (x.opcode()) {
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
      return true;
    case Opcode::kConvert:
      return IsIntegralOrPred(x.operand(0)->shape().element_type());
    default:
      return false;
  }
}

bool IsPowerOfTwo(const Match& match) {
  const uint64_t value = UnsignedValue(match, 'c');
  const bool negative = hlo::IsSignedIntegral(TypeOf(match)) && hlo::ElementAsInt64(ValueOf(match, 'c'), 0) < 0;
  return hlo::IsIntegral(TypeOf(match)) && !negative && value != 0 && (value & (value - 1)) == 0;
}

bool HasExactReciprocal(const Match& match) {
  return IsPower(hlo::ElementAsDouble(ValueOf(match, 'c'), 0), TypeOf(match));
}

bool HaveExactReciprocals(const Match& match) {
  return HasExactReciprocal(match) && IsPower(hlo::ElementAsDouble(ValueOf(match, 'd'), 0), TypeOf(match));
}

bool ArePowers(const Instruction& constant) {
  const Instruction& k = analysis::Source(constant);
  const PrimitiveType type = k.shape().element_type();
  if (!hlo::IsIntegral(type)) return IsConstantOf(k, [&](double value) { return IsPower(value, type); });
  return IsConstantOf<hlo::ElementAsInt64>(k, [&](int64_t value) {
    return std::has_single_bit(static_cast<uint64_t>(value)) && (value > 0 || hlo::IsUnsignedIntegral(type));
  });
}

bool IsScaledExactly(const Match& match) {
  const PrimitiveType type = TypeOf(match);
  if (!hlo::IsFloating(type)) return false;
  const double c = hlo::ElementAsDouble(ValueOf(match, 'c'), 0), d = hlo::ElementAsDouble(ValueOf(match, 'd'), 0);
  int exponent = 0;
  if (!std::isfinite(c * d)) return false;
  std::frexp(c * d, &exponent);
  return c * d != 0 && (IsPower(c, type) || IsPower(d, type)) && IsPower(std::ldexp(1.0, exponent), type);
}

namespace {

bool IsNormal(double value, PrimitiveType type) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return value != 0 && std::isfinite(value) && IsPower(std::ldexp(1.0, exponent), type);
}

double NumberOf(const Match& match, char letter) { return hlo::ElementAsDouble(ValueOf(match, letter), 0); }

}  // namespace

bool IsProductNormal(const Match& match) {
  return IsNormal(NumberOf(match, 'c') * NumberOf(match, 'd'), TypeOf(match));
}
bool IsQuotientNormal(const Match& match) {
  return IsNormal(NumberOf(match, 'c') / NumberOf(match, 'd'), TypeOf(match));
}
bool HaveOneSign(const Match& match) {
  const double c = NumberOf(match, 'c'), d = NumberOf(match, 'd');
  return (c > 0 && d > 0) || (c < 0 && d < 0);
}
bool IsWholeAndEven(const Match& match) {
  const double c = NumberOf(match, 'c');
  return c != 0 && std::isfinite(c) && std::fmod(c, 2) == 0;
}
bool IsWholeAndOdd(const Match& match) { return std::fmod(NumberOf(match, 'c'), 2) == 1; }

bool IsMinusZero(const Match& match) { return RangeOf(*match['c']).has_minus_zero; }
bool IsNotZero(const Match& match) { return !IsZero(match); }
bool IsZero(const Match& match) { return hlo::IsSplatOf(ValueOf(match, 'c'), 0); }

namespace {

bool IsOrderedPair(const Match& match, char low, char high) {
  const Literal a = ValueOf(match, low), b = ValueOf(match, high);
  if (!hlo::IsIntegral(a.shape().element_type())) return hlo::ElementAsDouble(a, 0) <= hlo::ElementAsDouble(b, 0);
  if (hlo::IsUnsignedIntegral(a.shape().element_type())) return UnsignedValue(match, low) <= UnsignedValue(match, high);
  return hlo::ElementAsInt64(a, 0) <= hlo::ElementAsInt64(b, 0);
}

}  // namespace

bool AreOrdered(const Match& match) { return IsNotComplex(TypeOf(match)) && IsOrderedPair(match, 'c', 'd'); }
bool AreRanges(const Match& match) {
  return IsNotComplex(TypeOf(match)) && IsOrderedPair(match, 'c', 'f') && IsOrderedPair(match, 'd', 'e');
}

bool ProductFits(const Match& match) {
  const int bits = hlo::BitWidth(TypeOf(match));
  if (hlo::IsUnsignedIntegral(TypeOf(match))) {
    uint64_t product = 0;
    if (__builtin_mul_overflow(UnsignedValue(match, 'c'), UnsignedValue(match, 'd'), &product)) return false;
    return product != 0 && (bits >= 64 || product >> bits == 0);
  }
  int64_t product = 0;
  const int64_t c = hlo::ElementAsInt64(ValueOf(match, 'c'), 0), d = hlo::ElementAsInt64(ValueOf(match, 'd'), 0);
  if (__builtin_mul_overflow(c, d, &product)) return false;
  const int64_t limit = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return product != 0 && product <= limit && product >= -limit && c != -1 && d != -1;
}

bool AreShifts(const Match& match) {
  const uint64_t width = static_cast<uint64_t>(hlo::BitWidth(TypeOf(match)));
  return UnsignedValue(match, 'c') < width && UnsignedValue(match, 'd') < width;
}

bool IsShiftedDWithin(const Match& match) {
  const uint64_t c = UnsignedValue(match, 'c'), d = UnsignedValue(match, 'd');
  return d != 0 && static_cast<uint64_t>(std::bit_width(d)) + c <= static_cast<uint64_t>(hlo::BitWidth(TypeOf(match)));
}

bool IsPastWidth(const Match& match) {
  return UnsignedValue(match, 'c') >= static_cast<uint64_t>(hlo::BitWidth(TypeOf(match)));
}

bool IsLn2(const Match& match) { return ValueOf(match, 'c') == hlo::LiteralOf(Shape::Scalar(TypeOf(match)), M_LN2); }

bool HavePredicateShape(const Match& match) {
  for (const char letter : {'p', 'q'}) {
    if (match[letter] != nullptr && !Shape::SameDimensions(match[letter]->shape(), match.root()->shape())) {
      return false;
    }
  }
  return true;
}

}  // namespace kiln::passes::simplify
