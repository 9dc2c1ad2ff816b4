// The elementwise functions of one operand.
#include <bit>
#include <cmath>
#include <limits>

#include "src/hlo/evaluator_kernel.h"

namespace kiln::hlo::evaluator {
namespace {

// f in the wider type for f64 and c128, in double for what is narrower.
template <typename Value, typename Wide, typename F>
ComputeFunction UnaryWidened(const KernelSpec& spec, F) {
  if (IsExtended(spec.operand_type)) {
    return Loop1<Value>([](Value x) { return static_cast<Value>(F{}(static_cast<Wide>(x))); });
  }
  return Loop1<Value>([](Value x) { return F{}(x); });
}

// Those that are one for real and complex numbers.
template <typename Value, typename Wide>
ComputeFunction CommonFunction(const KernelSpec& spec) {
  auto of = [&](auto f) { return UnaryWidened<Value, Wide>(spec, f); };
  switch (spec.opcode) {
    case Opcode::kAcos: return of([](auto x) { return std::acos(x); });
    case Opcode::kAcosh: return of([](auto x) { return std::acosh(x); });
    case Opcode::kAsin: return of([](auto x) { return std::asin(x); });
    case Opcode::kAsinh: return of([](auto x) { return std::asinh(x); });
    case Opcode::kAtanh: return of([](auto x) { return std::atanh(x); });
    case Opcode::kCos: return of([](auto x) { return std::cos(x); });
    case Opcode::kCosh: return of([](auto x) { return std::cosh(x); });
    case Opcode::kExp: return of([](auto x) { return std::exp(x); });
    case Opcode::kLog: return of([](auto x) { return std::log(x); });
    case Opcode::kNegate: return of([](auto x) { return -x; });
    case Opcode::kSin: return of([](auto x) { return std::sin(x); });
    case Opcode::kSinh: return of([](auto x) { return std::sinh(x); });
    case Opcode::kTan: return of([](auto x) { return std::tan(x); });
    case Opcode::kTanh: return of([](auto x) { return std::tanh(x); });
    default: return nullptr;
  }
}

template <typename F>
ComputeFunction UnaryReal(const KernelSpec& spec, F f) {
  return UnaryWidened<double, long double>(spec, f);
}

template <typename F>
ComputeFunction UnaryOfComplex(const KernelSpec& spec, F f) {
  return UnaryWidened<Complex, std::complex<long double>>(spec, f);
}

ComputeFunction UnaryRealFunction(const KernelSpec& spec) {
  switch (spec.opcode) {
    case Opcode::kAbs:
      return UnaryReal(spec, [](auto x) { return std::fabs(x); });
    case Opcode::kCbrt:
      return UnaryReal(spec, [](auto x) { return std::cbrt(x); });
    case Opcode::kCeil:
      return UnaryReal(spec, [](auto x) { return std::ceil(x); });
    case Opcode::kErf:
      return UnaryReal(spec, [](auto x) { return std::erf(x); });
    case Opcode::kErfc:
      return UnaryReal(spec, [](auto x) { return std::erfc(x); });
    case Opcode::kExp2:
      return UnaryReal(spec, [](auto x) { return std::exp2(x); });
    case Opcode::kExpMinusOne:
      return UnaryReal(spec, [](auto x) { return std::expm1(x); });
    case Opcode::kFloor:
      return UnaryReal(spec, [](auto x) { return std::floor(x); });
    case Opcode::kLog2:
      return UnaryReal(spec, [](auto x) { return std::log2(x); });
    case Opcode::kLogPlusOne:
      return UnaryReal(spec, [](auto x) { return std::log1p(x); });
    case Opcode::kLogistic:
      return UnaryReal(spec, [](auto x) { return 1 / (1 + std::exp(-x)); });
    case Opcode::kReal:
      return UnaryReal(spec, [](auto x) { return x; });
    case Opcode::kImag:
      return UnaryReal(spec, [](auto x) { return decltype(x){0}; });
    case Opcode::kRoundNearestAfz:
      return UnaryReal(spec, [](auto x) { return std::round(x); });
    case Opcode::kRoundNearestEven:
      return UnaryReal(spec, [](auto x) { return std::nearbyint(x); });
    case Opcode::kRsqrt:
      return UnaryReal(spec, [](auto x) { return 1 / std::sqrt(x); });
    case Opcode::kSign:
      return UnaryReal(spec, [](auto x) { return x > 0 ? decltype(x){1} : x < 0 ? decltype(x){-1} : x; });
    // The square root of a double is rounded correctly as it is; through long double it would be rounded twice.
    case Opcode::kSqrt: return Loop1<double>([](double x) { return std::sqrt(x); });
    case Opcode::kIsFinite: return Loop1<double, uint64_t>([](double x) { return std::isfinite(x) ? 1 : 0; });
    default: return CommonFunction<double, long double>(spec);
  }
}

// Without the cancellation of exp(z) - 1 near 0: exp(x)cos(y) - 1 = expm1(x)cos(y) - 2 sin(y/2)^2.
template <typename T>
std::complex<T> ExpMinusOne(std::complex<T> z) {
  const T x = z.real(), y = z.imag();
  if (y == 0) return {std::expm1(x), y};
  if (std::isinf(x) && x < 0) return {T{-1}, std::isfinite(y) ? std::copysign(T{0}, std::sin(y)) : T{0}};
  const T half_sine = std::sin(y / 2);
  const T real = std::expm1(x) * std::cos(y) - 2 * half_sine * half_sine;
  return {real, std::exp(x) * std::sin(y)};
}

// Without the cancellation of log|1 + z| near |1 + z| = 1.
template <typename T>
std::complex<T> LogPlusOne(std::complex<T> z) {
  const T x = z.real(), y = z.imag();
  const T imaginary = std::atan2(y, 1 + x);
  if (std::fabs(x) < 4 && std::fabs(y) < 4) {
    // |1 + z|^2 - 1, its cancelling terms gathered exactly by the fused product.
    const T square = std::fma(y, y, std::fma(x, x, 2 * x));
    if (square > T{-0.5}) return {std::log1p(square) / 2, imaginary};
  }
  return {std::log(std::hypot(1 + x, y)), imaginary};
}

template <typename T>
std::complex<T> Logistic(std::complex<T> z) {
  const std::complex<T> e = std::exp(-z);
  // Nothing is left beside 1, whatever the angle is.
  if (std::exp(-z.real()) == 0) return {T{1}, std::copysign(T{0}, z.imag())};
  if (std::isinf(e.real()) || std::isinf(e.imag())) return {T{0}, T{0}};
  return std::complex<T>(1) / (std::complex<T>(1) + e);
}

template <typename T>
std::complex<T> Sign(std::complex<T> z) {
  const T magnitude = std::hypot(z.real(), z.imag());
  if (magnitude == 0) return z;
  return {z.real() / magnitude, z.imag() / magnitude};
}

template <typename T>
std::complex<T> Rsqrt(std::complex<T> z) {
  if (z.real() == 0 && z.imag() == 0) {
    return {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()};
  }
  if (std::isinf(z.real()) || std::isinf(z.imag())) return {T{0}, std::copysign(T{0}, -z.imag())};
  return std::complex<T>(1) / std::sqrt(z);
}

ComputeFunction UnaryComplexFunction(const KernelSpec& spec) {
  switch (spec.opcode) {
    case Opcode::kAbs:
      return Loop1<Complex, double>([](Complex z) {
        return std::hypot(static_cast<long double>(z.real()), static_cast<long double>(z.imag()));
      });
    case Opcode::kExp2:
      return UnaryOfComplex(spec, [](auto z) { return std::exp(z * static_cast<decltype(z.real())>(M_LN2l)); });
    case Opcode::kExpMinusOne:
      return UnaryOfComplex(spec, [](auto z) { return ExpMinusOne(z); });
    case Opcode::kLog2:
      return UnaryOfComplex(spec, [](auto z) { return std::log(z) / static_cast<decltype(z.real())>(M_LN2l); });
    case Opcode::kLogPlusOne:
      return UnaryOfComplex(spec, [](auto z) { return LogPlusOne(z); });
    case Opcode::kLogistic:
      return UnaryOfComplex(spec, [](auto z) { return Logistic(z); });
    case Opcode::kCbrt:
      return UnaryOfComplex(spec, [](auto z) {
        using Part = decltype(z.real());
        return z == decltype(z)(0) ? z : std::pow(z, Part{1} / Part{3});
      });
    case Opcode::kReal: return Loop1<Complex, double>([](Complex z) { return z.real(); });
    case Opcode::kImag: return Loop1<Complex, double>([](Complex z) { return z.imag(); });
    case Opcode::kRsqrt:
      return UnaryOfComplex(spec, [](auto z) { return Rsqrt(z); });
    case Opcode::kSign:
      return UnaryOfComplex(spec, [](auto z) { return Sign(z); });
    case Opcode::kSqrt:
      return UnaryOfComplex(spec, [](auto z) { return std::sqrt(z); });
    case Opcode::kIsFinite:
      return Loop1<Complex, uint64_t>([](Complex z) {
        return std::isfinite(z.real()) && std::isfinite(z.imag()) ? 1 : 0;
      });
    default: return CommonFunction<Complex, std::complex<long double>>(spec);
  }
}

// T is uint64_t or int64_t; the store wraps.
template <typename T>
ComputeFunction UnaryIntegerFunction(const KernelSpec& spec) {
  switch (spec.opcode) {
    case Opcode::kAbs: return Loop1<T>([](T x) { return x < 0 ? T(uint64_t{0} - static_cast<uint64_t>(x)) : x; });
    case Opcode::kCountLeadingZeros:
      return Loop1<T>([](const KernelSpec& s, T x) {
        return std::countl_zero(static_cast<uint64_t>(x) & Mask(s)) - (64 - s.bits);
      });
    case Opcode::kNegate: return Loop1<T>([](T x) { return uint64_t{0} - static_cast<uint64_t>(x); });
    case Opcode::kNot: return Loop1<T>([](const KernelSpec& s, T x) { return ~static_cast<uint64_t>(x) & Mask(s); });
    case Opcode::kPopcnt:
      return Loop1<T>([](const KernelSpec& s, T x) { return std::popcount(static_cast<uint64_t>(x) & Mask(s)); });
    case Opcode::kSign: return Loop1<T>([](T x) { return x > 0 ? T{1} : x < 0 ? T(-1) : T{0}; });
    case Opcode::kIsFinite: return Loop1<T, uint64_t>([](T) { return 1; });
    default:
      return nullptr;
  }
}

}  // namespace

ComputeFunction UnaryFunction(const KernelSpec& spec) {
  switch (ValueClassOf(spec.operand_type)) {
    case ValueClass::kReal:
      return UnaryRealFunction(spec);
    case ValueClass::kComplex:
      return UnaryComplexFunction(spec);
    case ValueClass::kSigned:
      return UnaryIntegerFunction<int64_t>(spec);
    case ValueClass::kUnsigned:
      return UnaryIntegerFunction<uint64_t>(spec);
  }
  return nullptr;
}

}  // namespace kiln::hlo::evaluator
