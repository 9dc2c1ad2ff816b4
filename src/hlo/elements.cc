#include "src/hlo/elements.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace kiln::hlo {
namespace {

template <typename Stored>
Stored ReadAs(const std::byte* source) {
  Stored value;
  std::memcpy(&value, source, sizeof(Stored));
  return value;
}

template <typename Stored, typename T>
void LoadNative(const std::byte* source, bool splat, int64_t n, T* out) {
  const int64_t step = splat ? 0 : static_cast<int64_t>(sizeof(Stored));
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(ReadAs<Stored>(source + i * step));
}

template <typename Stored, typename T>
void LoadComplex(const std::byte* source, bool splat, int64_t n, T* out) {
  const int64_t step = splat ? 0 : static_cast<int64_t>(2 * sizeof(Stored));
  for (int64_t i = 0; i < n; ++i) {
    const std::byte* element = source + i * step;
    out[i] = T(ReadAs<Stored>(element), ReadAs<Stored>(element + sizeof(Stored)));
  }
}

template <typename Stored, typename T>
void StoreNative(const T* values, int64_t n, std::byte* destination) {
  for (int64_t i = 0; i < n; ++i) {
    const Stored stored = static_cast<Stored>(values[i]);
    std::memcpy(destination + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

template <typename Stored>
void StoreComplex(const Complex* values, int64_t n, std::byte* destination) {
  for (int64_t i = 0; i < n; ++i) {
    const Stored parts[2] = {static_cast<Stored>(values[i].real()), static_cast<Stored>(values[i].imag())};
    std::memcpy(destination + i * sizeof(parts), parts, sizeof(parts));
  }
}

double DecodeNarrow(PrimitiveType type, const std::byte* source) {
  if (type == PrimitiveType::kF8E8M0FNU) return DecodeF8E8M0FNU(ReadAs<uint8_t>(source));
  const uint32_t bits = ByteWidth(type) == 2 ? ReadAs<uint16_t>(source) : ReadAs<uint8_t>(source);
  return DecodeFloat(*NarrowFormat(type), bits);
}

void EncodeNarrow(PrimitiveType type, double value, std::byte* destination) {
  if (type == PrimitiveType::kF8E8M0FNU) {
    *destination = std::byte{EncodeF8E8M0FNU(value)};
    return;
  }
  const uint32_t bits = EncodeFloat(*NarrowFormat(type), value);
  std::memcpy(destination, &bits, ByteWidth(type));
}

// Loads of raw bits or integers: by width and signedness.
template <typename T>
void LoadIntegers(PrimitiveType type, const std::byte* source, bool splat, int64_t n, T* out) {
  const bool is_signed = IsSignedIntegral(type);
  switch (ByteWidth(type)) {
    case 1:
      return is_signed ? LoadNative<int8_t>(source, splat, n, out) : LoadNative<uint8_t>(source, splat, n, out);
    case 2:
      return is_signed ? LoadNative<int16_t>(source, splat, n, out) : LoadNative<uint16_t>(source, splat, n, out);
    case 4:
      return is_signed ? LoadNative<int32_t>(source, splat, n, out) : LoadNative<uint32_t>(source, splat, n, out);
    default:
      return LoadNative<uint64_t>(source, splat, n, out);
  }
}

template <typename T>
void StoreIntegers(PrimitiveType type, const T* values, int64_t n, std::byte* destination) {
  if (BitWidth(type) < 8) {
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t value = static_cast<uint64_t>(values[i]);
      destination[i] = type == PrimitiveType::kPred ? std::byte{value != 0}
                                                    : std::byte{static_cast<uint8_t>(WrapInteger(type, value))};
    }
    return;
  }
  switch (ByteWidth(type)) {
    case 1:
      return StoreNative<uint8_t>(values, n, destination);
    case 2:
      return StoreNative<uint16_t>(values, n, destination);
    case 4:
      return StoreNative<uint32_t>(values, n, destination);
    default:
      return StoreNative<uint64_t>(values, n, destination);
  }
}

}  // namespace

const FloatFormat* NarrowFormat(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF16: return &kHalfFormat;
    case PrimitiveType::kBF16: return &kBFloat16Format;
    case PrimitiveType::kF8E5M2: return &kF8E5M2Format;
    case PrimitiveType::kF8E4M3: return &kF8E4M3Format;
    case PrimitiveType::kF8E3M4: return &kF8E3M4Format;
    case PrimitiveType::kF8E4M3FN: return &kF8E4M3FNFormat;
    case PrimitiveType::kF8E4M3B11FNUZ: return &kF8E4M3B11FNUZFormat;
    case PrimitiveType::kF8E5M2FNUZ: return &kF8E5M2FNUZFormat;
    case PrimitiveType::kF8E4M3FNUZ: return &kF8E4M3FNUZFormat;
    case PrimitiveType::kF4E2M1FN: return &kF4E2M1FNFormat;
    default: return nullptr;
  }
}

uint64_t WrapInteger(PrimitiveType type, uint64_t value) {
  const int bits = BitWidth(type);
  if (bits >= 64) return value;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  value &= mask;
  if (IsSignedIntegral(type) && (value >> (bits - 1)) != 0) value |= ~mask;
  return value;
}

template <>
void LoadElements(PrimitiveType type, const std::byte* source, bool splat, int64_t n, int64_t* out) {
  LoadIntegers(type, source, splat, n, out);
}

template <>
void LoadElements(PrimitiveType type, const std::byte* source, bool splat, int64_t n, uint64_t* out) {
  LoadIntegers(type, source, splat, n, out);
}

template <>
void LoadElements(PrimitiveType type, const std::byte* source, bool splat, int64_t n, double* out) {
  if (type == PrimitiveType::kF32) return LoadNative<float>(source, splat, n, out);
  if (type == PrimitiveType::kF64) return LoadNative<double>(source, splat, n, out);
  const int64_t step = splat ? 0 : ByteWidth(type);
  for (int64_t i = 0; i < n; ++i) out[i] = DecodeNarrow(type, source + i * step);
}

template <>
void LoadElements(PrimitiveType type, const std::byte* source, bool splat, int64_t n, Complex* out) {
  if (type == PrimitiveType::kC64) return LoadComplex<float>(source, splat, n, out);
  if (type == PrimitiveType::kC128) return LoadComplex<double>(source, splat, n, out);
  const int64_t step = splat ? 0 : ByteWidth(type);
  for (int64_t i = 0; i < n; ++i) out[i] = Complex(LoadElement<double>(type, source + i * step), 0);
}

template <>
void StoreElements(PrimitiveType type, const int64_t* values, int64_t n, std::byte* destination) {
  StoreIntegers(type, values, n, destination);
}

template <>
void StoreElements(PrimitiveType type, const uint64_t* values, int64_t n, std::byte* destination) {
  StoreIntegers(type, values, n, destination);
}

template <>
void StoreElements(PrimitiveType type, const double* values, int64_t n, std::byte* destination) {
  if (type == PrimitiveType::kF32) return StoreNative<float>(values, n, destination);
  if (type == PrimitiveType::kF64) return StoreNative<double>(values, n, destination);
  const int width = ByteWidth(type);
  for (int64_t i = 0; i < n; ++i) EncodeNarrow(type, values[i], destination + i * width);
}

template <>
void StoreElements(PrimitiveType type, const Complex* values, int64_t n, std::byte* destination) {
  if (type == PrimitiveType::kC64) return StoreComplex<float>(values, n, destination);
  if (type == PrimitiveType::kC128) return StoreComplex<double>(values, n, destination);
  const int width = ByteWidth(type);
  for (int64_t i = 0; i < n; ++i) {
    const double real = values[i].real();
    StoreElements(type, &real, 1, destination + i * width);
  }
}

void StoreReal(PrimitiveType type, long double value, std::byte* destination) {
  if (type == PrimitiveType::kPred) {
    *destination = std::byte{value != 0};
    return;
  }
  if (IsFloating(type) || IsComplex(type)) {
    const PrimitiveType part = ComplexComponentType(type);
    if (part == PrimitiveType::kF64) {
      const double stored = static_cast<double>(value);
      std::memcpy(destination, &stored, sizeof(stored));
    } else if (part == PrimitiveType::kF32) {
      const float stored = static_cast<float>(value);
      std::memcpy(destination, &stored, sizeof(stored));
    } else {
      // Round to odd on the way through double: the second rounding then decides as if it saw all bits.
      double near = static_cast<double>(value);
      if (std::isfinite(near) && static_cast<long double>(near) != value) {
        uint64_t bits;
        std::memcpy(&bits, &near, sizeof(bits));
        if ((bits & 1) == 0) {
          const bool away = std::fabs(value) > std::fabs(static_cast<long double>(near));
          bits = away ? bits + 1 : bits - 1;
          std::memcpy(&near, &bits, sizeof(near));
        }
      }
      EncodeNarrow(type, near, destination);
    }
    if (IsComplex(type)) std::memset(destination + ByteWidth(part), 0, ByteWidth(part));
    return;
  }
  const int bits = BitWidth(type);
  uint64_t integer = 0;
  if (IsSignedIntegral(type)) {
    const long double limit = std::ldexp(1.0L, bits - 1);
    if (value >= limit) {
      integer = (uint64_t{1} << (bits - 1)) - 1;
    } else if (value <= -limit) {
      integer = ~uint64_t{0} << (bits - 1);
    } else if (!std::isnan(value)) {
      integer = static_cast<uint64_t>(static_cast<int64_t>(value));
    }
  } else {
    if (value >= std::ldexp(1.0L, bits)) {
      integer = ~uint64_t{0};
    } else if (value > 0) {
      integer = static_cast<uint64_t>(value);
    }
  }
  StoreElements(type, &integer, 1, destination);
}

}  // namespace kiln::hlo
