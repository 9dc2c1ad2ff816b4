// Binary forms of the builtin dialect's types and attributes.
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/frontend/mlir/dense.h"
#include "src/frontend/mlir/entry_table.h"

namespace kiln::mlir {
namespace {

// An integer type wider than this is none that a program could mean.
constexpr uint64_t kMaxIntegerWidth = 1 << 16;

AttributeRef MakeLocation(EntryReader& reader, const Location& location) {
  Context& context = reader.context();
  return context.MakeAttribute(LocationAttribute{context.MakeLocation(location)});
}

Location ReadLocation(EntryReader& reader) {
  const LocationAttribute* location = reader.Attribute()->As<LocationAttribute>();
  if (location == nullptr) {
    reader.Fail("expected a location");
    return {};
  }
  return *location->value;
}

AttributeRef ReadFileRange(EntryReader& reader) {
  Location location;
  location.file = reader.StringAttributeValue();
  const uint64_t count = reader.Count();
  if (count < 1 || count > 4) {
    reader.Fail(absl::StrCat("a file range of ", count, " numbers"));
    return nullptr;
  }
  // Line and column; where the range ends is not kept.
  int64_t numbers[4] = {};
  for (uint64_t i = 0; i < count; ++i) numbers[i] = static_cast<int64_t>(reader.Varint());
  location.line = numbers[0];
  location.column = numbers[1];
  return MakeLocation(reader, location);
}

AttributeRef ReadCallSite(EntryReader& reader) {
  const Location callee = ReadLocation(reader);
  return MakeLocation(reader, CallSiteLocation(callee, ReadLocation(reader)));
}

AttributeRef ReadFused(EntryReader& reader, bool has_metadata) {
  Location fused;
  const uint64_t count = reader.Count();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) FuseLocation(fused, ReadLocation(reader));
  if (has_metadata) reader.Attribute();
  return MakeLocation(reader, fused);
}

AttributeRef ReadNamed(EntryReader& reader) {
  const absl::string_view name = reader.StringAttributeValue();
  return MakeLocation(reader, NamedLocation(name, ReadLocation(reader)));
}

AttributeRef ReadSymbol(EntryReader& reader, bool nested) {
  SymbolAttribute symbol;
  symbol.root = reader.StringAttributeValue();
  if (nested) {
    for (AttributeRef part : reader.AttributeList()) {
      const SymbolAttribute* name = part->As<SymbolAttribute>();
      if (name == nullptr || !name->nested.empty()) {
        reader.Fail("expected a flat symbol");
        return nullptr;
      }
      symbol.nested.push_back(name->root);
    }
  }
  return reader.context().MakeAttribute(std::move(symbol));
}

AttributeRef ReadDenseArray(EntryReader& reader) {
  DenseArrayAttribute array;
  array.element = reader.Type();
  const uint64_t size = reader.Varint();
  array.data = reader.Blob();
  if (!reader.ok()) return nullptr;
  const int64_t bytes = ElementByteSize(*array.element);
  if (bytes <= 0 || array.data.size() / bytes != size || array.data.size() % bytes != 0) {
    reader.Fail(absl::StrCat("an array of ", size, " elements in ", array.data.size(), " bytes"));
    return nullptr;
  }
  array.size = static_cast<int64_t>(size);
  return reader.context().MakeAttribute(std::move(array));
}

AttributeRef ReadDenseStrings(EntryReader& reader) {
  DenseStringAttribute strings;
  strings.type = reader.Type();
  const bool splat = reader.Varint() != 0;
  if (!reader.ok()) return nullptr;
  const TensorType* tensor = strings.type->As<TensorType>();
  std::optional<int64_t> count = tensor != nullptr ? ElementCount(tensor->dims) : std::nullopt;
  if (!count.has_value() || (!splat && static_cast<uint64_t>(*count) > reader.remaining())) {
    reader.Fail("a string tensor without a static shape or without its elements");
    return nullptr;
  }
  const int64_t stored = splat ? 1 : *count;
  for (int64_t i = 0; i < stored && reader.ok(); ++i) strings.values.push_back(reader.String());
  return reader.context().MakeAttribute(std::move(strings));
}

AttributeRef ReadDenseResource(EntryReader& reader) {
  const TypeRef type = reader.Type();
  return MakeDense(reader, type, reader.ResourceByHandle(reader.Varint()));
}

}  // namespace

std::vector<int64_t> ReadShape(EntryReader& reader) {
  std::vector<int64_t> dims = reader.SignedList();
  for (int64_t size : dims) {
    if (size < 0 && size != kDynamicSize) reader.Fail(absl::StrCat("a dimension of size ", size));
  }
  return dims;
}

AttributeRef ReadIntegerAttribute(EntryReader& reader, TypeRef type) {
  uint32_t width = 64;
  bool is_unsigned = false;
  if (const IntegerType* integer = type->As<IntegerType>()) {
    width = integer->width;
    is_unsigned = integer->signedness == Signedness::kUnsigned;
  } else if (type->As<IndexType>() == nullptr) {
    reader.Fail("an integer attribute of a type that is no integer");
    return nullptr;
  }
  std::vector<uint64_t> words = reader.IntegerForm(width);
  if (!reader.ok()) return nullptr;
  IntegerAttribute integer;
  integer.type = type;
  integer.value = words.empty() ? 0 : words[0];
  if (width == 1) return reader.context().MakeAttribute(BoolAttribute{(integer.value & 1) != 0});
  if (width > 64) {
    integer.words = std::move(words);
  } else if (width > 0 && width < 64) {
    const int unused = 64 - static_cast<int>(width);
    integer.value <<= unused;
    integer.value =
        is_unsigned ? integer.value >> unused : static_cast<uint64_t>(static_cast<int64_t>(integer.value) >> unused);
  }
  return reader.context().MakeAttribute(std::move(integer));
}

AttributeRef ReadFloatAttribute(EntryReader& reader, TypeRef type) {
  const FloatType* real = type->As<FloatType>();
  if (real == nullptr) {
    reader.Fail("a float attribute of a type that is no float");
    return nullptr;
  }
  const std::vector<uint64_t> words = reader.IntegerForm(FloatWidth(real->kind));
  FloatAttribute attribute;
  attribute.type = type;
  attribute.bits = words.empty() ? 0 : words[0];
  return reader.context().MakeAttribute(attribute);
}

AttributeRef ReadDictionary(EntryReader& reader) {
  DictionaryAttribute dictionary;
  const uint64_t count = reader.Count(2);
  dictionary.entries.reserve(count);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    NamedAttribute entry;
    entry.name = reader.StringAttributeValue();
    entry.value = reader.Attribute();
    dictionary.entries.push_back(entry);
  }
  const absl::string_view twice = SortByName(dictionary.entries);
  if (!twice.empty()) reader.Fail(absl::StrCat("attribute '", twice, "' stands twice in a dictionary"));
  if (!reader.ok()) return nullptr;
  return reader.context().MakeAttribute(std::move(dictionary));
}

AttributeRef MakeDense(EntryReader& reader, TypeRef type, absl::string_view data) {
  if (!reader.ok()) return nullptr;
  absl::StatusOr<AttributeRef> dense = DenseFromBytes(reader.context(), type, data);
  if (dense.ok()) return *dense;
  reader.Fail(std::string(dense.status().message()));
  return nullptr;
}

AttributeRef ReadBuiltinAttribute(EntryReader& reader) {
  Context& context = reader.context();
  const uint64_t code = reader.Varint();
  switch (code) {
    case 0:
      return context.MakeAttribute(ArrayAttribute{reader.AttributeList()});
    case 1:
      return ReadDictionary(reader);
    case 2:
      return context.MakeAttribute(StringAttribute{reader.String()});
    case 3: {
      const absl::string_view value = reader.String();
      reader.Type();
      return context.MakeAttribute(StringAttribute{value});
    }
    case 4:
      return ReadSymbol(reader, /*nested=*/false);
    case 5:
      return ReadSymbol(reader, /*nested=*/true);
    case 6:
      return context.MakeAttribute(TypeAttribute{reader.Type()});
    case 7:
      return context.unit_attribute();
    case 8:
      return ReadIntegerAttribute(reader, reader.Type());
    case 9:
      return ReadFloatAttribute(reader, reader.Type());
    case 10:
      return ReadCallSite(reader);
    case 11: {
      Location location;
      location.file = reader.StringAttributeValue();
      location.line = static_cast<int64_t>(reader.Varint());
      location.column = static_cast<int64_t>(reader.Varint());
      return MakeLocation(reader, location);
    }
    case 12:
      return ReadFused(reader, /*has_metadata=*/false);
    case 13:
      return ReadFused(reader, /*has_metadata=*/true);
    case 14:
      return ReadNamed(reader);
    case 15:
      return MakeLocation(reader, Location{});
    case 16:
      return ReadDenseResource(reader);
    case 17:
      return ReadDenseArray(reader);
    case 18: {
      const TypeRef type = reader.Type();
      return MakeDense(reader, type, reader.Blob());
    }
    case 19:
      return ReadDenseStrings(reader);
    case 20: {
      SparseAttribute sparse;
      sparse.type = reader.Type();
      sparse.indices = reader.Attribute();
      sparse.values = reader.Attribute();
      return context.MakeAttribute(sparse);
    }
    case 21:
      return reader.Attribute();
    case 22:
      return ReadFileRange(reader);
    default:
      reader.Fail(Unimplemented("MLIR bytecode: builtin attribute code ", code));
      return nullptr;
  }
}

TypeRef ReadBuiltinType(EntryReader& reader) {
  Context& context = reader.context();
  const uint64_t code = reader.Varint();
  switch (code) {
    case 0: {
      const uint64_t bits = reader.Varint();
      if ((bits & 3) == 3 || bits >> 2 > kMaxIntegerWidth) {
        reader.Fail("an integer type of unknown form");
        return nullptr;
      }
      return context.MakeType(IntegerType{static_cast<uint32_t>(bits >> 2), static_cast<Signedness>(bits & 3)});
    }
    case 1:
      return context.MakeType(IndexType{});
    case 2: {
      std::vector<TypeRef> inputs = reader.TypeList();
      return context.MakeType(FunctionType{std::move(inputs), reader.TypeList()});
    }
    case 3:  // bf16, f16, f32, f64, f80 and f128, as in FloatKind
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
      return context.MakeType(FloatType{static_cast<FloatKind>(code - 3)});
    case 9:
      return context.MakeType(ComplexType{reader.Type()});
    case 10:
    case 11: {
      if (code == 11) reader.Attribute();
      std::vector<int64_t> dims = ReadShape(reader);
      const TypeRef element = reader.Type();
      reader.Attribute();
      return context.MakeType(BufferType{std::move(dims), element});
    }
    case 12:
      return context.none_type();
    case 13:
    case 14: {
      TensorType tensor;
      if (code == 14) tensor.encoding = reader.Attribute();
      tensor.dims = ReadShape(reader);
      tensor.element = reader.Type();
      return context.MakeType(std::move(tensor));
    }
    case 15:
      return context.MakeType(TupleType{reader.TypeList()});
    case 18: {
      TensorType tensor;
      tensor.element = reader.Type();
      tensor.ranked = false;
      return context.MakeType(std::move(tensor));
    }
    case 19: {
      std::vector<int64_t> dims = ReadShape(reader);
      return context.MakeType(VectorType{std::move(dims), reader.Type()});
    }
    default:
      reader.Fail(Unimplemented("MLIR bytecode: builtin type code ", code));
      return nullptr;
  }
}

}  // namespace kiln::mlir
