// How the elements of arrays are read and written: every type is widened to one of four value classes, computed there,
// and rounded or wrapped once when it is stored.
#ifndef KILN_HLO_ELEMENTS_H_
#define KILN_HLO_ELEMENTS_H_

#include <complex>
#include <cstddef>
#include <cstdint>

#include "src/base/small_float.h"
#include "src/hlo/primitive_type.h"

namespace kiln::hlo {

// double holds every float exactly, and twice the precision of f32 plus two bits: +, -, *, / and square root computed
// in it and rounded to f32 or narrower equal those rounded once.
enum class ValueClass : uint8_t { kSigned, kUnsigned, kReal, kComplex };

inline ValueClass ValueClassOf(PrimitiveType type) {
  switch (ClassOf(type)) {
    case TypeClass::kSigned:
      return ValueClass::kSigned;
    case TypeClass::kFloat:
      return ValueClass::kReal;
    case TypeClass::kComplex:
      return ValueClass::kComplex;
    default:
      return ValueClass::kUnsigned;  // pred among them: 0 or 1
  }
}

using Complex = std::complex<double>;

// function(T{}), T being the type of the class: int64_t, uint64_t, double or Complex.
template <typename Function>
auto WithValueClass(PrimitiveType type, const Function& function) {
  switch (ValueClassOf(type)) {
    case ValueClass::kSigned:
      return function(int64_t{});
    case ValueClass::kUnsigned:
      return function(uint64_t{});
    case ValueClass::kReal:
      return function(double{});
    case ValueClass::kComplex:
      break;
  }
  return function(Complex{});
}

// Reads n elements of `type`; with `splat`, the first one n times. T is int64_t, uint64_t, double or Complex and fits
// the type's class, save that a real type reads into Complex, and that every float reads into uint64_t as its bits.
template <typename T>
void LoadElements(PrimitiveType type, const std::byte* source, bool splat, int64_t n, T* out);

// Writes n values: wraps integers, rounds floats to nearest even, makes pred of anything but 0.
template <typename T>
void StoreElements(PrimitiveType type, const T* values, int64_t n, std::byte* destination);

// The nearest of `type`'s values (saturated for integers; NaN gives 0) for a real one in a wider format.
void StoreReal(PrimitiveType type, long double value, std::byte* destination);

// One element, as a value of the class.
template <typename T>
T LoadElement(PrimitiveType type, const std::byte* source) {
  T value;
  LoadElements(type, source, false, 1, &value);
  return value;
}

// Float formats below f32, by type; null for others and for f8e8m0fnu.
const FloatFormat* NarrowFormat(PrimitiveType type);

// Wraps to the width of an integer type, sign- or zero-extended.
uint64_t WrapInteger(PrimitiveType type, uint64_t value);

}  // namespace kiln::hlo

#endif  // KILN_HLO_ELEMENTS_H_
