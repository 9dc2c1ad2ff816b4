// Types of the generic op tree. Every reader (bytecode, text) produces builtin and StableHLO types only: VHLO's own
// types are raised to them on reading.
#ifndef KILN_FRONTEND_MLIR_TYPE_H_
#define KILN_FRONTEND_MLIR_TYPE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace kiln::mlir {

struct Type;
struct Attribute;
// Nodes are immutable once made, shared freely, and owned by a Context (context.h), which outlives every reference.
using TypeRef = const Type*;
using AttributeRef = const Attribute*;

// A dimension, or a bound of one, that is not known before run time.
inline constexpr int64_t kDynamicSize = std::numeric_limits<int64_t>::min();

enum class Signedness : uint8_t { kSignless, kSigned, kUnsigned };

enum class FloatKind : uint8_t {
  kBF16,
  kF16,
  kF32,
  kF64,
  kF80,
  kF128,
  kTF32,
  kF8E5M2,
  kF8E4M3,
  kF8E4M3FN,
  kF8E3M4,
  kF8E4M3B11FNUZ,
  kF8E5M2FNUZ,
  kF8E4M3FNUZ,
  kF8E8M0FNU,
  kF6E2M3FN,
  kF6E3M2FN,
  kF4E2M1FN,
};

struct IntegerType {  // i1 is the boolean.
  uint32_t width = 0;
  Signedness signedness = Signedness::kSignless;
};
struct IndexType {};
struct FloatType {
  FloatKind kind = FloatKind::kF32;
};
struct ComplexType {
  TypeRef element = nullptr;
};
struct TensorType {
  std::vector<int64_t> dims;  // kDynamicSize where open.
  TypeRef element = nullptr;
  bool ranked = true;
  std::vector<int64_t> bounds;      // Empty, or one per dimension with kDynamicSize where there is none.
  AttributeRef encoding = nullptr;  // Any encoding other than bounds; null when there is none.
};
struct TupleType {
  std::vector<TypeRef> elements;
};
struct FunctionType {
  std::vector<TypeRef> inputs;
  std::vector<TypeRef> results;
};
struct TokenType {};
struct NoneType {};
struct WitnessType {};
struct FutureType {
  std::vector<TypeRef> elements;
};
struct BufferType {  // memref
  std::vector<int64_t> dims;
  TypeRef element = nullptr;
};
struct VectorType {
  std::vector<int64_t> dims;
  TypeRef element = nullptr;
};
struct QuantizedType {  // Per tensor (one scale, axis -1) or per axis.
  bool is_signed = false;
  TypeRef storage = nullptr;
  TypeRef expressed = nullptr;
  std::vector<double> scales;
  std::vector<int64_t> zero_points;
  int64_t axis = -1;
  int64_t storage_min = 0;
  int64_t storage_max = 0;
};
struct OpaqueType {  // A type of a dialect that is not modelled, by its text.
  absl::string_view text;
};

struct Type {
  std::variant<NoneType, IntegerType, IndexType, FloatType, ComplexType, TensorType, TupleType, FunctionType, TokenType,
               WitnessType, FutureType, BufferType, VectorType, QuantizedType, OpaqueType>
      data;

  // The alternative asked for, or null.
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&data);
  }
  bool IsInteger(uint32_t width) const;  // Any signedness.
};

// MLIR's spelling of a float kind, as "f8E4M3FN", its width in bits, and the way back (false when `name` is none).
absl::string_view FloatName(FloatKind kind);
int FloatWidth(FloatKind kind);
bool FloatKindFromName(absl::string_view name, FloatKind& kind);

// The bits of `value` in a format narrower than f32, and back; nullopt for those that Kiln does not convert.
std::optional<uint64_t> EncodeNarrow(FloatKind kind, double value);

// Bytes of one element in dense attributes: sub-byte types take one byte, complex both parts. 0 when `element` is no
// element type.
int64_t ElementByteSize(const Type& element);

// True when the types are the same structure. Cost is bounded by the readers' limit on expanded types.
bool Equal(const Type& a, const Type& b);

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_TYPE_H_
