// Element types of arrays, and the facts about each that every layer asks for.
#ifndef KILN_HLO_PRIMITIVE_TYPE_H_
#define KILN_HLO_PRIMITIVE_TYPE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace kiln::hlo {

// The numbers are those of HLO protos.
enum class PrimitiveType : uint8_t {
  kInvalid = 0,
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kTuple = 13,
  kOpaque = 14,
  kC64 = 15,
  kBF16 = 16,
  kToken = 17,
  kC128 = 18,
  kF8E5M2 = 19,
  kF8E4M3FN = 20,
  kS4 = 21,
  kU4 = 22,
  kF8E4M3B11FNUZ = 23,
  kF8E5M2FNUZ = 24,
  kF8E4M3FNUZ = 25,
  kS2 = 26,
  kU2 = 27,
  kF8E4M3 = 28,
  kF8E3M4 = 29,
  kS1 = 30,
  kU1 = 31,
  kF4E2M1FN = 32,
  kF8E8M0FNU = 33,
};
inline constexpr int kPrimitiveTypeCount = 34;

// How the values of a type behave under arithmetic.
enum class TypeClass : uint8_t { kNone, kPred, kSigned, kUnsigned, kFloat, kComplex };

struct PrimitiveTypeInfo {
  absl::string_view name;  // as in HLO text: "f32", "pred", ...
  TypeClass type_class;
  int bits;  // width of the value; 1 for pred; both parts together for complex; 0 for tuple, token and opaque
};

const PrimitiveTypeInfo& GetPrimitiveTypeInfo(PrimitiveType type);

// "f32", "s8", ...
inline absl::string_view PrimitiveTypeName(PrimitiveType type) { return GetPrimitiveTypeInfo(type).name; }
std::optional<PrimitiveType> ParsePrimitiveType(absl::string_view name);

inline TypeClass ClassOf(PrimitiveType type) { return GetPrimitiveTypeInfo(type).type_class; }
inline int BitWidth(PrimitiveType type) { return GetPrimitiveTypeInfo(type).bits; }
// Bytes of one element in memory: types narrower than a byte take a whole one. 0 for tuple, token and opaque.
inline int ByteWidth(PrimitiveType type) { return (BitWidth(type) + 7) / 8; }

inline bool IsFloating(PrimitiveType type) { return ClassOf(type) == TypeClass::kFloat; }
inline bool IsComplex(PrimitiveType type) { return ClassOf(type) == TypeClass::kComplex; }
inline bool IsSignedIntegral(PrimitiveType type) { return ClassOf(type) == TypeClass::kSigned; }
inline bool IsUnsignedIntegral(PrimitiveType type) { return ClassOf(type) == TypeClass::kUnsigned; }
// Integers without pred.
inline bool IsIntegral(PrimitiveType type) { return IsSignedIntegral(type) || IsUnsignedIntegral(type); }
// A type that an array may have.
inline bool IsArrayType(PrimitiveType type) { return ClassOf(type) != TypeClass::kNone; }

// f32 for c64, f64 for c128; `type` itself otherwise.
PrimitiveType ComplexComponentType(PrimitiveType type);

}  // namespace kiln::hlo

#endif  // KILN_HLO_PRIMITIVE_TYPE_H_
