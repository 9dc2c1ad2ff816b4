#include "src/frontend/mlir/type.h"

#include <array>

#include "src/base/small_float.h"

namespace kiln::mlir {
namespace {

struct FloatRow {
  FloatKind kind;
  absl::string_view name;
  int width;
  const FloatFormat* format = nullptr;  // Of those narrower than f32 that are floats with a sign.
};

constexpr FloatFormat kTF32Format{8, 10, 127, FloatSpecials::kIeee};
constexpr FloatFormat kF6E2M3FNFormat{2, 3, 1, FloatSpecials::kNone};
constexpr FloatFormat kF6E3M2FNFormat{3, 2, 3, FloatSpecials::kNone};

constexpr std::array<FloatRow, 18> kFloats = {{
    {FloatKind::kBF16, "bf16", 16, &kBFloat16Format},
    {FloatKind::kF16, "f16", 16, &kHalfFormat},
    {FloatKind::kF32, "f32", 32},
    {FloatKind::kF64, "f64", 64},
    {FloatKind::kF80, "f80", 80},
    {FloatKind::kF128, "f128", 128},
    {FloatKind::kTF32, "tf32", 19, &kTF32Format},
    {FloatKind::kF8E5M2, "f8E5M2", 8, &kF8E5M2Format},
    {FloatKind::kF8E4M3, "f8E4M3", 8, &kF8E4M3Format},
    {FloatKind::kF8E4M3FN, "f8E4M3FN", 8, &kF8E4M3FNFormat},
    {FloatKind::kF8E3M4, "f8E3M4", 8, &kF8E3M4Format},
    {FloatKind::kF8E4M3B11FNUZ, "f8E4M3B11FNUZ", 8, &kF8E4M3B11FNUZFormat},
    {FloatKind::kF8E5M2FNUZ, "f8E5M2FNUZ", 8, &kF8E5M2FNUZFormat},
    {FloatKind::kF8E4M3FNUZ, "f8E4M3FNUZ", 8, &kF8E4M3FNUZFormat},
    {FloatKind::kF8E8M0FNU, "f8E8M0FNU", 8},
    {FloatKind::kF6E2M3FN, "f6E2M3FN", 6, &kF6E2M3FNFormat},
    {FloatKind::kF6E3M2FN, "f6E3M2FN", 6, &kF6E3M2FNFormat},
    {FloatKind::kF4E2M1FN, "f4E2M1FN", 4, &kF4E2M1FNFormat},
}};

// Rows stand in the order of the kinds.
const FloatRow& RowOf(FloatKind kind) { return kFloats[static_cast<size_t>(kind)]; }

bool AllEqual(const std::vector<TypeRef>& a, const std::vector<TypeRef>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!Equal(*a[i], *b[i])) return false;
  }
  return true;
}

struct Comparison {
  const Type& other;

  template <typename T>
  const T& Other() const {
    return std::get<T>(other.data);
  }
  bool operator()(const NoneType&) const { return true; }
  bool operator()(const IndexType&) const { return true; }
  bool operator()(const TokenType&) const { return true; }
  bool operator()(const WitnessType&) const { return true; }
  bool operator()(const IntegerType& a) const {
    const IntegerType& b = Other<IntegerType>();
    return a.width == b.width && a.signedness == b.signedness;
  }
  bool operator()(const FloatType& a) const { return a.kind == Other<FloatType>().kind; }
  bool operator()(const ComplexType& a) const { return Equal(*a.element, *Other<ComplexType>().element); }
  bool operator()(const TensorType& a) const {
    const TensorType& b = Other<TensorType>();
    return a.ranked == b.ranked && a.dims == b.dims && a.bounds == b.bounds && a.encoding == b.encoding &&
           Equal(*a.element, *b.element);
  }
  bool operator()(const TupleType& a) const { return AllEqual(a.elements, Other<TupleType>().elements); }
  bool operator()(const FutureType& a) const { return AllEqual(a.elements, Other<FutureType>().elements); }
  bool operator()(const FunctionType& a) const {
    const FunctionType& b = Other<FunctionType>();
    return AllEqual(a.inputs, b.inputs) && AllEqual(a.results, b.results);
  }
  bool operator()(const BufferType& a) const {
    const BufferType& b = Other<BufferType>();
    return a.dims == b.dims && Equal(*a.element, *b.element);
  }
  bool operator()(const VectorType& a) const {
    const VectorType& b = Other<VectorType>();
    return a.dims == b.dims && Equal(*a.element, *b.element);
  }
  bool operator()(const QuantizedType& a) const {
    const QuantizedType& b = Other<QuantizedType>();
    return a.is_signed == b.is_signed && a.scales == b.scales && a.zero_points == b.zero_points && a.axis == b.axis &&
           a.storage_min == b.storage_min && a.storage_max == b.storage_max && Equal(*a.storage, *b.storage) &&
           Equal(*a.expressed, *b.expressed);
  }
  bool operator()(const OpaqueType& a) const { return a.text == Other<OpaqueType>().text; }
};

}  // namespace

bool Type::IsInteger(uint32_t width) const {
  const IntegerType* integer = As<IntegerType>();
  return integer != nullptr && integer->width == width;
}

absl::string_view FloatName(FloatKind kind) { return RowOf(kind).name; }
int FloatWidth(FloatKind kind) { return RowOf(kind).width; }

std::optional<uint64_t> EncodeNarrow(FloatKind kind, double value) {
  if (kind == FloatKind::kF8E8M0FNU) return EncodeF8E8M0FNU(value);
  const FloatFormat* format = RowOf(kind).format;
  return format != nullptr ? std::optional<uint64_t>(EncodeFloat(*format, value)) : std::nullopt;
}

bool FloatKindFromName(absl::string_view name, FloatKind& kind) {
  for (const FloatRow& row : kFloats) {
    if (row.name != name) continue;
    kind = row.kind;
    return true;
  }
  return false;
}

int64_t ElementByteSize(const Type& element) {
  if (element.As<IndexType>() != nullptr) return 8;
  if (const IntegerType* integer = element.As<IntegerType>()) return (int64_t{integer->width} + 7) / 8;
  if (const FloatType* real = element.As<FloatType>()) return (FloatWidth(real->kind) + 7) / 8;
  if (const ComplexType* complex = element.As<ComplexType>()) {
    // Only one level: complex<complex<f32>> is no type.
    return complex->element->As<ComplexType>() != nullptr ? 0 : 2 * ElementByteSize(*complex->element);
  }
  if (const QuantizedType* quantized = element.As<QuantizedType>()) {
    return quantized->storage->As<IntegerType>() != nullptr ? ElementByteSize(*quantized->storage) : 0;
  }
  return 0;
}

bool Equal(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.data.index() != b.data.index()) return false;
  return std::visit(Comparison{b}, a.data);
}

}  // namespace kiln::mlir
