#include "src/frontend/mlir/attribute.h"

#include <algorithm>
#include <bit>

#include "src/base/small_float.h"

namespace kiln::mlir {
namespace {

// Lists longer than this are no dimension lists; reading a splat of a huge tensor must not allocate its element count.
constexpr int64_t kLongestList = int64_t{1} << 24;

std::optional<int64_t> IntegerAt(const Type& element, absl::string_view data, int64_t index) {
  const bool is_index = element.As<IndexType>() != nullptr;
  const IntegerType* integer = element.As<IntegerType>();
  if (!is_index && (integer == nullptr || integer->width > 64)) return std::nullopt;
  const int64_t bytes = ElementByteSize(element);
  if (bytes == 0) return std::nullopt;
  uint64_t bits = 0;
  for (int64_t i = 0; i < bytes; ++i) {
    bits |= uint64_t{static_cast<uint8_t>(data[index * bytes + i])} << (8 * i);
  }
  const uint32_t width = is_index ? 64 : integer->width;
  const bool is_unsigned = !is_index && (integer->signedness == Signedness::kUnsigned || width == 1);
  if (width < 64) {
    bits <<= 64 - width;
    return is_unsigned ? static_cast<int64_t>(bits >> (64 - width)) : static_cast<int64_t>(bits) >> (64 - width);
  }
  return static_cast<int64_t>(bits);
}

std::optional<std::vector<int64_t>> IntegersOf(const Type& element, absl::string_view data, int64_t count, bool splat) {
  if (count > kLongestList) return std::nullopt;
  std::vector<int64_t> values;
  values.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    std::optional<int64_t> value = IntegerAt(element, data, splat ? 0 : i);
    if (!value.has_value()) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

}  // namespace

AttributeRef Find(absl::Span<const NamedAttribute> attributes, absl::string_view name) {
  for (const NamedAttribute& entry : attributes) {
    if (entry.name == name) return entry.value;
  }
  return nullptr;
}

absl::string_view SortByName(std::vector<NamedAttribute>& attributes) {
  std::stable_sort(attributes.begin(), attributes.end(),
                   [](const NamedAttribute& a, const NamedAttribute& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(attributes.begin(), attributes.end(),
                         [](const NamedAttribute& a, const NamedAttribute& b) { return a.name == b.name; });
  return twice == attributes.end() ? absl::string_view() : twice->name;
}

std::optional<int64_t> AsInteger(AttributeRef attribute) {
  if (attribute == nullptr) return std::nullopt;
  if (const BoolAttribute* boolean = attribute->As<BoolAttribute>()) return boolean->value ? 1 : 0;
  const IntegerAttribute* integer = attribute->As<IntegerAttribute>();
  if (integer == nullptr || !integer->words.empty()) return std::nullopt;
  return static_cast<int64_t>(integer->value);
}

std::optional<bool> AsBool(AttributeRef attribute) {
  if (attribute == nullptr) return std::nullopt;
  if (attribute->As<UnitAttribute>() != nullptr) return true;
  if (const BoolAttribute* boolean = attribute->As<BoolAttribute>()) return boolean->value;
  const IntegerAttribute* integer = attribute->As<IntegerAttribute>();
  if (integer == nullptr || !integer->type->IsInteger(1)) return std::nullopt;
  return integer->value != 0;
}

std::optional<double> AsDouble(AttributeRef attribute) {
  if (attribute == nullptr) return std::nullopt;
  const FloatAttribute* real = attribute->As<FloatAttribute>();
  if (real == nullptr) return std::nullopt;
  const FloatType* type = real->type->As<FloatType>();
  if (type == nullptr) return std::nullopt;
  switch (type->kind) {
    case FloatKind::kF64:
      return std::bit_cast<double>(real->bits);
    case FloatKind::kF32:
      return std::bit_cast<float>(static_cast<uint32_t>(real->bits));
    case FloatKind::kBF16:
      return std::bit_cast<float>(static_cast<uint32_t>(real->bits) << 16);
    case FloatKind::kF16:
      return DecodeFloat(kHalfFormat, static_cast<uint32_t>(real->bits));
    default:
      return std::nullopt;
  }
}

std::optional<absl::string_view> AsString(AttributeRef attribute) {
  if (attribute == nullptr) return std::nullopt;
  if (const StringAttribute* string = attribute->As<StringAttribute>()) return string->value;
  const SymbolAttribute* symbol = attribute->As<SymbolAttribute>();
  if (symbol == nullptr || !symbol->nested.empty()) return std::nullopt;
  return symbol->root;
}

std::optional<std::vector<int64_t>> AsIntegers(AttributeRef attribute) {
  if (attribute == nullptr) return std::nullopt;
  if (const DenseAttribute* dense = attribute->As<DenseAttribute>()) {
    const TensorType* tensor = dense->type->As<TensorType>();
    if (tensor == nullptr) return std::nullopt;
    std::optional<int64_t> count = ElementCount(tensor->dims);
    if (!count.has_value()) return std::nullopt;
    return IntegersOf(*tensor->element, dense->data, *count, dense->splat);
  }
  if (const DenseArrayAttribute* array = attribute->As<DenseArrayAttribute>()) {
    return IntegersOf(*array->element, array->data, array->size, /*splat=*/false);
  }
  if (const ArrayAttribute* array = attribute->As<ArrayAttribute>()) {
    std::vector<int64_t> values;
    for (AttributeRef element : array->elements) {
      std::optional<int64_t> value = AsInteger(element);
      if (!value.has_value()) return std::nullopt;
      values.push_back(*value);
    }
    return values;
  }
  return std::nullopt;
}

std::optional<int64_t> ElementCount(absl::Span<const int64_t> dims) {
  // A zero-sized dimension makes the product zero however large the others are.
  int64_t count = 1;
  bool overflow = false;
  bool empty = false;
  for (int64_t size : dims) {
    if (size < 0) return std::nullopt;
    if (size == 0) empty = true;
    if (!empty && __builtin_mul_overflow(count, size, &count)) overflow = true;
    if (overflow && !empty) count = 1;
  }
  if (empty) return 0;
  if (overflow) return std::nullopt;
  return count;
}

}  // namespace kiln::mlir
