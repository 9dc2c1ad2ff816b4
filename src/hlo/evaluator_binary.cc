// The elementwise functions of two and three operands.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "src/hlo/evaluator_kernel.h"

namespace kiln::hlo::evaluator {
namespace {

template <typename T>
T Maximum(T a, T b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == 0 && b == 0) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

template <typename T>
T Minimum(T a, T b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == 0 && b == 0) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

// f in the wider type for f64 and c128, in double for what is narrower.
template <typename Value, typename Wide, typename F>
ComputeFunction Widened(const KernelSpec& spec, F) {
  if (IsExtended(spec.operand_type)) {
    return Loop2<Value>(
        [](Value a, Value b) { return static_cast<Value>(F{}(static_cast<Wide>(a), static_cast<Wide>(b))); });
  }
  return Loop2<Value>([](Value a, Value b) { return F{}(a, b); });
}

template <typename F>
ComputeFunction Real(const KernelSpec& spec, F f) {
  return Widened<double, long double>(spec, f);
}

template <typename F>
ComputeFunction OfComplex(const KernelSpec& spec, F f) {
  return Widened<Complex, std::complex<long double>>(spec, f);
}

ComputeFunction RealFunction(const KernelSpec& spec) {
  switch (spec.opcode) {
    // Rounded once by the machine for f64, and innocuously twice for narrower types.
    case Opcode::kAdd: return Loop2<double>([](double a, double b) { return a + b; });
    case Opcode::kSubtract: return Loop2<double>([](double a, double b) { return a - b; });
    case Opcode::kMultiply: return Loop2<double>([](double a, double b) { return a * b; });
    case Opcode::kDivide: return Loop2<double>([](double a, double b) { return a / b; });
    case Opcode::kRemainder: return Loop2<double>([](double a, double b) { return std::fmod(a, b); });
    case Opcode::kMaximum: return Loop2<double>([](double a, double b) { return Maximum(a, b); });
    case Opcode::kMinimum: return Loop2<double>([](double a, double b) { return Minimum(a, b); });
    case Opcode::kAtan2: return Real(spec, [](auto a, auto b) { return std::atan2(a, b); });
    case Opcode::kPower: return Real(spec, [](auto a, auto b) { return std::pow(a, b); });
    case Opcode::kComplex: return Loop2<double, Complex>([](double a, double b) { return Complex(a, b); });
    case Opcode::kCompare:
      return Loop2<double, uint64_t>(
          [](const KernelSpec& s, double a, double b) { return Holds(s.comparison.direction, a, b); });
    case Opcode::kClamp:
      return Loop3<double>([](double low, double x, double high) {
        return Minimum(Maximum(x, low), high);
      });
    case Opcode::kFma:
      if (spec.operand_type == PrimitiveType::kF32) {
        return Loop3<double>([](double a, double b, double c) {
          return std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
        });
      }
      return Loop3<double>([](double a, double b, double c) { return std::fma(a, b, c); });
    default: return nullptr;
  }
}

template <typename T>
std::complex<T> Multiply(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <typename T>
std::complex<T> Power(std::complex<T> base, std::complex<T> exponent) {
  if (exponent.real() == 0 && exponent.imag() == 0) return {T{1}, T{0}};
  if (base.real() == 0 && base.imag() == 0) {
    if (exponent.real() > 0) return {T{0}, T{0}};
    if (exponent.real() < 0 && exponent.imag() == 0) return {std::numeric_limits<T>::infinity(), T{0}};
    return {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::quiet_NaN()};
  }
  return std::pow(base, exponent);
}

// -i log((x + iy) / sqrt(x^2 + y^2)), which near 0 keeps few digits of the imaginary part: it only says which half turn
// to add to the arc tangent.
template <typename T>
std::complex<T> Atan2(std::complex<T> y, std::complex<T> x) {
  const std::complex<T> i(0, 1);
  const std::complex<T> rough = -i * std::log((x + i * y) / std::sqrt(x * x + y * y));
  const std::complex<T> fine = std::atan(y / x);
  const T turn = static_cast<T>(M_PIl) * std::round((rough.real() - fine.real()) / static_cast<T>(M_PIl));
  return std::isfinite(turn) && std::isfinite(fine.imag()) ? fine + turn : rough;
}

// A number with a NaN part is the result.
Complex Extreme(const Complex& a, const Complex& b, bool is_max) {
  auto is_nan = [](const Complex& x) { return std::isnan(x.real()) || std::isnan(x.imag()); };
  return is_nan(a) || (!is_nan(b) && (is_max ? Precedes(b, a) : Precedes(a, b))) ? a : b;
}

ComputeFunction ComplexFunction(const KernelSpec& spec) {
  switch (spec.opcode) {
    case Opcode::kAdd: return Loop2<Complex>([](Complex a, Complex b) { return a + b; });
    case Opcode::kSubtract: return Loop2<Complex>([](Complex a, Complex b) { return a - b; });
    case Opcode::kMultiply: return OfComplex(spec, [](auto a, auto b) { return Multiply(a, b); });
    case Opcode::kDivide: return OfComplex(spec, [](auto a, auto b) { return a / b; });
    case Opcode::kPower: return OfComplex(spec, [](auto a, auto b) { return Power(a, b); });
    case Opcode::kAtan2: return OfComplex(spec, [](auto a, auto b) { return Atan2(a, b); });
    case Opcode::kCompare:
      return Loop2<Complex, uint64_t>(
          [](const KernelSpec& s, Complex a, Complex b) { return Holds(s.comparison.direction, a, b); });
    case Opcode::kMaximum: return Loop2<Complex>([](Complex a, Complex b) { return Extreme(a, b, true); });
    case Opcode::kMinimum: return Loop2<Complex>([](Complex a, Complex b) { return Extreme(a, b, false); });
    case Opcode::kClamp:
      return Loop3<Complex>([](Complex low, Complex x, Complex high) {
        return Extreme(Extreme(x, low, true), high, false);
      });
    case Opcode::kFma:
      return Loop3<Complex>(
          [](Complex a, Complex b, Complex c) { return Multiply(a, b) + c; });
    default: return nullptr;
  }
}

// Sign-extends the low bits of x.
int64_t SignExtend(const KernelSpec& spec, uint64_t x) {
  return static_cast<int64_t>(x << (64 - spec.bits)) >> (64 - spec.bits);
}

template <typename T>
T Divide(T a, T b) {
  if (b == 0) return T(-1);
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
  }
  return a / b;
}

template <typename T>
T Remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return a % b;
}

// Negative exponents: the reciprocal truncated toward zero, and 0 for a base of 0.
template <typename T>
T Power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == -1) return (exponent & 1) != 0 ? -1 : 1;
      return 0;
    }
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base), remaining = static_cast<uint64_t>(exponent);
  for (; remaining != 0; remaining >>= 1) {
    if ((remaining & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

// Arithmetic that overflows is done on unsigned numbers.
template <typename T>
uint64_t Bits(T x) {
  return static_cast<uint64_t>(x);
}

// T is uint64_t or int64_t; the store wraps.
template <typename T>
ComputeFunction IntegerFunction(const KernelSpec& spec) {
  // Addition of truth values is or, multiplication and.
  const bool is_pred = spec.operand_type == PrimitiveType::kPred;
  switch (spec.opcode) {
    case Opcode::kAdd:
      if (is_pred) return Loop2<T>([](T a, T b) { return a | b; });
      return Loop2<T>([](T a, T b) { return Bits(a) + Bits(b); });
    case Opcode::kSubtract:
      if (is_pred) return nullptr;
      return Loop2<T>([](T a, T b) { return Bits(a) - Bits(b); });
    case Opcode::kMultiply: return Loop2<T>([](T a, T b) { return Bits(a) * Bits(b); });
    case Opcode::kAnd: return Loop2<T>([](T a, T b) { return a & b; });
    case Opcode::kOr: return Loop2<T>([](T a, T b) { return a | b; });
    case Opcode::kXor: return Loop2<T>([](T a, T b) { return a ^ b; });
    case Opcode::kMaximum: return Loop2<T>([](T a, T b) { return std::max(a, b); });
    case Opcode::kMinimum: return Loop2<T>([](T a, T b) { return std::min(a, b); });
    case Opcode::kCompare:
      return Loop2<T, uint64_t>([](const KernelSpec& s, T a, T b) { return Holds(s.comparison.direction, a, b); });
    case Opcode::kClamp: return Loop3<T>([](T low, T x, T high) { return std::min(std::max(x, low), high); });
    default: break;
  }
  if (is_pred) return nullptr;
  switch (spec.opcode) {
    case Opcode::kDivide: return Loop2<T>([](T a, T b) { return Divide(a, b); });
    case Opcode::kRemainder: return Loop2<T>([](T a, T b) { return Remainder(a, b); });
    case Opcode::kPower: return Loop2<T>([](T a, T b) { return Power(a, b); });
    case Opcode::kMulhi:
      return Loop2<T>([](const KernelSpec& s, T a, T b) {
        using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
        return static_cast<uint64_t>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> s.bits);
      });
    case Opcode::kShiftLeft:
      return Loop2<T>([](const KernelSpec& s, T a, T b) {
        const uint64_t amount = static_cast<uint64_t>(b) & Mask(s);
        return amount >= static_cast<uint64_t>(s.bits) ? 0 : static_cast<uint64_t>(a) << amount;
      });
    case Opcode::kShiftRightLogical:
      return Loop2<T>([](const KernelSpec& s, T a, T b) {
        const uint64_t amount = static_cast<uint64_t>(b) & Mask(s);
        return amount >= static_cast<uint64_t>(s.bits) ? 0 : (static_cast<uint64_t>(a) & Mask(s)) >> amount;
      });
    case Opcode::kShiftRightArithmetic:
      return Loop2<T>([](const KernelSpec& s, T a, T b) {
        const uint64_t amount = std::min<uint64_t>(static_cast<uint64_t>(b) & Mask(s), s.bits - 1);
        return static_cast<uint64_t>(SignExtend(s, static_cast<uint64_t>(a)) >> amount);
      });
    case Opcode::kFma:
      return Loop3<T>([](T a, T b, T c) {
        return static_cast<uint64_t>(a) * static_cast<uint64_t>(b) + static_cast<uint64_t>(c);
      });
    default: return nullptr;
  }
}

}  // namespace

ComputeFunction BinaryFunction(const KernelSpec& spec) {
  switch (ValueClassOf(spec.operand_type)) {
    case ValueClass::kReal: return RealFunction(spec);
    case ValueClass::kComplex: return ComplexFunction(spec);
    case ValueClass::kSigned: return IntegerFunction<int64_t>(spec);
    case ValueClass::kUnsigned: return IntegerFunction<uint64_t>(spec);
  }
  return nullptr;
}

}  // namespace kiln::hlo::evaluator
