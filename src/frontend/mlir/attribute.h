// Attributes of the generic op tree: builtin ones, enums by name, and any dialect's structured ones as named fields.
#ifndef KILN_FRONTEND_MLIR_ATTRIBUTE_H_
#define KILN_FRONTEND_MLIR_ATTRIBUTE_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/frontend/mlir/location.h"
#include "src/frontend/mlir/type.h"

namespace kiln::mlir {

struct NamedAttribute {
  absl::string_view name;
  AttributeRef value = nullptr;
};

struct UnitAttribute {};
struct BoolAttribute {
  bool value = false;
};
struct IntegerAttribute {
  TypeRef type = nullptr;       // IntegerType or IndexType.
  uint64_t value = 0;           // Low 64 bits: sign-extended unless unsigned.
  std::vector<uint64_t> words;  // All words, low first, of integers wider than 64 bits; else empty.
};
struct FloatAttribute {
  TypeRef type = nullptr;
  uint64_t bits = 0;  // Of the type's own format, low 64 bits.
};
struct StringAttribute {
  absl::string_view value;
};
struct TypeAttribute {
  TypeRef value = nullptr;
};
struct ArrayAttribute {
  std::vector<AttributeRef> elements;
};
struct DictionaryAttribute {
  std::vector<NamedAttribute> entries;  // Sorted by name, names unique.
};
struct SymbolAttribute {  // @root::@nested...
  absl::string_view root;
  std::vector<absl::string_view> nested;
};
// dense<...> : TYPE. `data` holds little-endian elements of ElementByteSize bytes each (booleans and sub-byte types one
// byte each), row-major; one element when `splat` (also for tensors of one element).
struct DenseAttribute {
  TypeRef type = nullptr;  // TensorType (or VectorType) with static dims.
  absl::string_view data;
  bool splat = false;
};
struct DenseArrayAttribute {  // array<i64: ...>; same data format, never splat.
  TypeRef element = nullptr;
  int64_t size = 0;
  absl::string_view data;
};
struct DenseStringAttribute {
  TypeRef type = nullptr;
  std::vector<absl::string_view> values;  // One when splat.
};
struct SparseAttribute {
  TypeRef type = nullptr;
  AttributeRef indices = nullptr;
  AttributeRef values = nullptr;
};
struct EnumAttribute {  // #stablehlo<comparison_direction EQ>
  absl::string_view name;
  absl::string_view value;
};
// A structured attribute of a dialect, as #stablehlo.result_accuracy<atol = 0.0, ...>: `name` is
// "stablehlo.result_accuracy". Fields stand in the order of the attribute's definition; absent optional ones are left
// out.
struct StructAttribute {
  absl::string_view name;
  std::vector<NamedAttribute> fields;
};
struct LocationAttribute {
  const Location* value = nullptr;
};
struct OpaqueAttribute {  // An attribute that is not modelled, by its text.
  absl::string_view text;
};

struct Attribute {
  std::variant<UnitAttribute, BoolAttribute, IntegerAttribute, FloatAttribute, StringAttribute, TypeAttribute,
               ArrayAttribute, DictionaryAttribute, SymbolAttribute, DenseAttribute, DenseArrayAttribute,
               DenseStringAttribute, SparseAttribute, EnumAttribute, StructAttribute, LocationAttribute,
               OpaqueAttribute>
      data;

  // The alternative asked for, or null.
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&data);
  }
};

// The alternative asked for, or null when `attribute` is null or another thing.
template <typename T>
const T* As(AttributeRef attribute) {
  return attribute != nullptr ? attribute->As<T>() : nullptr;
}

// The value of `name` in a list of named attributes; null when there is none. Linear.
AttributeRef Find(absl::Span<const NamedAttribute> attributes, absl::string_view name);
// Sorts, and gives a name that stands twice, or "".
absl::string_view SortByName(std::vector<NamedAttribute>& attributes);

// Readings that accept every form in which writers give the same value; nullopt when `attribute` is null or another
// thing.
std::optional<int64_t> AsInteger(AttributeRef attribute);                // Integers and booleans.
std::optional<bool> AsBool(AttributeRef attribute);                      // Booleans, units (true) and i1 integers.
std::optional<double> AsDouble(AttributeRef attribute);                  // bf16, f16, f32, f64.
std::optional<absl::string_view> AsString(AttributeRef attribute);       // Strings and flat symbols.
std::optional<std::vector<int64_t>> AsIntegers(AttributeRef attribute);  // dense, array<...> and [..] of integers.

// Number of elements of a static shape; nullopt when a size is negative or open, or the product exceeds int64.
std::optional<int64_t> ElementCount(absl::Span<const int64_t> dims);

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_ATTRIBUTE_H_
