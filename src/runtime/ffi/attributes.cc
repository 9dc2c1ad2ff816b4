#include "src/runtime/ffi/attributes.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "src/base/status.h"
#include "src/frontend/mlir/dense.h"
#include "src/frontend/mlir/text_reader.h"
#include "src/frontend/stablehlo/types.h"

namespace kiln::runtime::ffi {
namespace {

constexpr int64_t kMaxArrayBytes = int64_t{1} << 31;

std::string LowBytes(uint64_t bits, hlo::PrimitiveType type) {
  return std::string(reinterpret_cast<const char*>(&bits), hlo::ByteWidth(type));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Attributes>> Attributes::Parse(absl::string_view text) {
  std::unique_ptr<Attributes> attributes(new Attributes);
  mlir::Context context;
  mlir::DictionaryAttribute dictionary;
  if (!absl::StripAsciiWhitespace(text).empty()) {
    KILN_ASSIGN_OR_RETURN(const mlir::AttributeRef root, mlir::ReadAttribute(text, "attributes", context));
    if (root->As<mlir::DictionaryAttribute>() == nullptr) return InvalidArgument("the attributes are no dictionary");
    dictionary = *root->As<mlir::DictionaryAttribute>();
  }
  KILN_ASSIGN_OR_RETURN(attributes->root_, attributes->Convert(dictionary));
  return attributes;
}

absl::StatusOr<XLA_FFI_Attrs*> Attributes::Convert(const mlir::DictionaryAttribute& attributes) {
  Dictionary dictionary;
  for (const mlir::NamedAttribute& entry : attributes.entries) {
    absl::StatusOr<Value> value = Convert(*entry.value);
    if (!value.ok()) return Annotate(value.status(), absl::StrCat("attribute '", entry.name, "'"));
    dictionary.types.push_back(value->type);
    dictionary.names.push_back(MakeSpan(entry.name));
    dictionary.values.push_back(value->data);
  }
  Dictionary& kept = dictionaries_.emplace_back(std::move(dictionary));
  kept.view = {.struct_size = XLA_FFI_Attrs_STRUCT_SIZE,
               .size = static_cast<int64_t>(kept.types.size()),
               .types = kept.types.data(),
               .names = kept.names.data(),
               .attrs = kept.values.data()};
  return &kept.view;
}

absl::StatusOr<Attributes::Value> Attributes::Convert(const mlir::Attribute& attribute) {
  if (const auto* text = attribute.As<mlir::StringAttribute>()) {
    return Value{XLA_FFI_AttrType_STRING, MakeSpan(text->value)};
  }
  if (const auto* symbol = attribute.As<mlir::SymbolAttribute>()) {
    return Value{XLA_FFI_AttrType_STRING, MakeSpan(symbol->root)};
  }
  if (const auto* dictionary = attribute.As<mlir::DictionaryAttribute>()) {
    KILN_ASSIGN_OR_RETURN(XLA_FFI_Attrs * inner, Convert(*dictionary));
    return Value{XLA_FFI_AttrType_DICTIONARY, inner};
  }
  if (const auto* flag = attribute.As<mlir::BoolAttribute>()) {
    return MakeScalar(hlo::PrimitiveType::kPred, flag->value ? 1 : 0);
  }
  if (const auto* integer = attribute.As<mlir::IntegerAttribute>()) {
    KILN_ASSIGN_OR_RETURN(const hlo::PrimitiveType type, stablehlo::ToPrimitiveType(*integer->type));
    return MakeScalar(type, integer->value);
  }
  if (const auto* real = attribute.As<mlir::FloatAttribute>()) {
    KILN_ASSIGN_OR_RETURN(const hlo::PrimitiveType type, stablehlo::ToPrimitiveType(*real->type));
    return MakeScalar(type, real->bits);
  }
  if (const auto* array = attribute.As<mlir::DenseArrayAttribute>()) {
    return MakeArray(*array->element, array->data, array->size);
  }
  if (const auto* dense = attribute.As<mlir::DenseAttribute>()) {
    KILN_ASSIGN_OR_RETURN(const mlir::DenseShape shape, mlir::DenseShapeOf(*dense->type));
    return MakeArray(*shape.element, dense->data, shape.count);
  }
  return InvalidArgument("expected a number, a string, array<...>, dense<...> or a dictionary");
}

Attributes::Value Attributes::MakeScalar(hlo::PrimitiveType type, uint64_t bits) {
  void* value = bytes_.emplace_back(LowBytes(bits, type)).data();
  return {XLA_FFI_AttrType_SCALAR, &scalars_.emplace_back(static_cast<XLA_FFI_DataType>(type), value)};
}

absl::StatusOr<Attributes::Value> Attributes::MakeArray(const mlir::Type& element, absl::string_view data,
                                                        int64_t count) {
  KILN_ASSIGN_OR_RETURN(const hlo::PrimitiveType type, stablehlo::ToPrimitiveType(element));
  const int64_t width = hlo::ByteWidth(type);
  if (count > kMaxArrayBytes / width) return ResourceExhausted("an array of ", count, " elements is too large");
  const int64_t size = static_cast<int64_t>(data.size());
  if (size != count * width && size != width) return Internal("an array of ", count, " elements has ", size, " bytes");
  std::string& bytes = bytes_.emplace_back(data);
  // All elements of a splat are the one that is there.
  bytes.reserve(count * width);
  while (static_cast<int64_t>(bytes.size()) < count * width) bytes += data;
  return Value{XLA_FFI_AttrType_ARRAY,
               &arrays_.emplace_back(static_cast<XLA_FFI_DataType>(type), static_cast<size_t>(count), bytes.data())};
}

XLA_FFI_ByteSpan* Attributes::MakeSpan(absl::string_view text) {
  const std::string& bytes = bytes_.emplace_back(text);
  return &spans_.emplace_back(bytes.data(), bytes.size());
}

}  // namespace kiln::runtime::ffi
