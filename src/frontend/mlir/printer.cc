#include "src/frontend/mlir/printer.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "src/frontend/mlir/structured_attributes.h"
#include "src/frontend/mlir/text_printer.h"

namespace kiln::mlir {
namespace {

// The shortest of MLIR's spellings that reads back as the same number.
std::string RealText(double value, int digits) {
  for (int precision = 6; precision <= digits; ++precision) {
    std::string text = absl::StrFormat("%.*e", precision, value);
    const double back = digits <= 9 ? std::strtof(text.c_str(), nullptr) : std::strtod(text.c_str(), nullptr);
    if (back == value) return text;
  }
  return absl::StrFormat("%.*e", digits, value);
}

std::string FloatText(FloatKind kind, uint64_t bits) {
  Type type{FloatType{kind}};
  FloatAttribute attribute{&type, bits};
  Attribute holder{attribute};
  const std::optional<double> value = AsDouble(&holder);
  if (!value.has_value() || !std::isfinite(*value)) {
    return absl::StrCat("0x", absl::AsciiStrToUpper(absl::StrFormat("%0*x", (FloatWidth(kind) + 3) / 4, bits)));
  }
  return RealText(*value, kind == FloatKind::kF64 ? 17 : 9);
}

// Sharding attributes, as text_sdy.cc reads them.
std::string AxisText(const Attribute& axis) {
  const auto* fields = axis.As<StructAttribute>();
  if (fields == nullptr) return Quote(AsString(&axis).value_or(""));
  std::string text = Quote(AsString(Find(fields->fields, "name")).value_or(""));
  const AttributeRef info = Find(fields->fields, "sub_axis_info");
  if (const auto* sub = As<StructAttribute>(info)) {
    absl::StrAppend(&text, ":(", AsInteger(Find(sub->fields, "pre_size")).value_or(1), ")",
                    AsInteger(Find(sub->fields, "size")).value_or(1));
  }
  return text;
}

std::vector<std::string> AxisTexts(AttributeRef list) {
  std::vector<std::string> texts;
  const auto* axes = As<ArrayAttribute>(list);
  for (size_t i = 0; axes != nullptr && i < axes->elements.size(); ++i) texts.push_back(AxisText(*axes->elements[i]));
  return texts;
}

std::string SdyBody(const StructAttribute& structure) {
  const auto field = [&](absl::string_view name) { return Find(structure.fields, name); };
  const auto list = [](AttributeRef attribute) {
    const auto* array = As<ArrayAttribute>(attribute);
    return array != nullptr ? array->elements : std::vector<AttributeRef>();
  };
  std::vector<std::string> parts;
  if (structure.name == "sdy.manual_axes") {
    return absl::StrCat("{", absl::StrJoin(AxisTexts(field("value")), ", "), "}");
  }
  if (structure.name == "sdy.mesh") {
    for (AttributeRef axis : list(field("axes"))) {
      const auto* fields = axis->As<StructAttribute>();
      if (fields == nullptr) continue;
      parts.push_back(absl::StrCat(Quote(AsString(Find(fields->fields, "name")).value_or("")), "=",
                                   AsInteger(Find(fields->fields, "size")).value_or(1)));
    }
    const auto ids = AsIntegers(field("device_ids")).value_or(std::vector<int64_t>());
    return absl::StrCat("<[", absl::StrJoin(parts, ", "), "]",
                        ids.empty() ? "" : absl::StrCat(", device_ids=[", absl::StrJoin(ids, ", "), "]"), ">");
  }
  if (structure.name == "sdy.sharding_per_value") {
    for (AttributeRef sharding : list(field("shardings"))) {
      if (const auto* fields = sharding->As<StructAttribute>()) parts.push_back(SdyBody(*fields));
    }
    return absl::StrCat("<[", absl::StrJoin(parts, ", "), "]>");
  }
  for (AttributeRef dimension : list(field("dim_shardings"))) {
    const auto* fields = dimension->As<StructAttribute>();
    if (fields == nullptr) continue;
    std::vector<std::string> axes = AxisTexts(Find(fields->fields, "axes"));
    if (AsBool(Find(fields->fields, "is_closed")) == false) axes.push_back("?");
    const auto priority = AsInteger(Find(fields->fields, "priority"));
    parts.push_back(
        absl::StrCat("{", absl::StrJoin(axes, ", "), "}", priority.has_value() ? absl::StrCat("p", *priority) : ""));
  }
  const AttributeRef mesh = field("mesh_or_ref");
  const auto* inline_mesh = As<StructAttribute>(mesh);
  std::string text =
      absl::StrCat("<", inline_mesh != nullptr ? "mesh" : "@",
                   inline_mesh != nullptr ? SdyBody(*inline_mesh) : std::string(AsString(mesh).value_or("")), ", [",
                   absl::StrJoin(parts, ", "), "]");
  for (absl::string_view name : {"replicated", "unreduced"}) {
    const std::vector<std::string> axes = AxisTexts(field(absl::StrCat(name, "_axes")));
    if (!axes.empty()) absl::StrAppend(&text, ", ", name, "={", absl::StrJoin(axes, ", "), "}");
  }
  return text + ">";
}

std::string SdyText(const StructAttribute& structure) {
  if (structure.name == "sdy.manual_axes") return absl::StrCat("#sdy<manual_axes", SdyBody(structure), ">");
  return absl::StrCat("#", structure.name, SdyBody(structure));
}

}  // namespace

bool IsBare(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(name[0])) return false;
  for (char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '$' && c != '.') return false;
  }
  return true;
}

void Printer::PrintDims(const std::vector<int64_t>& dims) {
  for (int64_t size : dims) size == kDynamicSize ? Append("?x") : Append(size, "x");
}

void Printer::PrintTensor(const TensorType& tensor) {
  Append("tensor<");
  tensor.ranked ? PrintDims(tensor.dims) : Append("*x");
  PrintType(*tensor.element);
  if (!tensor.bounds.empty()) {
    Append(", #stablehlo.bounds<");
    Join(tensor.bounds, [this](int64_t bound) { bound == kDynamicSize ? Append("?") : Append(bound); });
    Append(">");
  } else if (tensor.encoding != nullptr) {
    Append(", ");
    PrintAttribute(*tensor.encoding);
  }
  Append(">");
}

void Printer::PrintQuantized(const QuantizedType& type) {
  // Whether the storage is signed is not said by its type.
  const IntegerType* storage = type.storage->As<IntegerType>();
  Append("!quant.uniform<", type.is_signed ? "i" : "u", storage != nullptr ? storage->width : 0);
  Append("<", type.storage_min, ":", type.storage_max, ">:");
  PrintType(*type.expressed);
  if (type.axis >= 0) Append(":", type.axis);
  Append(", ", type.axis >= 0 ? "{" : "");
  for (size_t i = 0; i < type.scales.size(); ++i) {
    Append(i > 0 ? ", " : "", absl::StrFormat("%.17g", type.scales[i]), ":", type.zero_points[i]);
  }
  Append(type.axis >= 0 ? "}>" : ">");
}

void Printer::PrintType(const Type& type) {
  if (Full()) return;
  if (type.As<NoneType>() != nullptr) return Append("none");
  if (type.As<IndexType>() != nullptr) return Append("index");
  if (type.As<TokenType>() != nullptr) return Append("!stablehlo.token");
  if (type.As<WitnessType>() != nullptr) return Append("!shape.witness");
  if (const auto* integer = type.As<IntegerType>()) {
    constexpr absl::string_view kPrefix[] = {"i", "si", "ui"};
    return Append(kPrefix[static_cast<int>(integer->signedness)], integer->width);
  }
  if (const auto* real = type.As<FloatType>()) return Append(FloatName(real->kind));
  if (const auto* opaque = type.As<OpaqueType>()) return Append(opaque->text);
  if (const auto* tensor = type.As<TensorType>()) return PrintTensor(*tensor);
  if (const auto* quantized = type.As<QuantizedType>()) return PrintQuantized(*quantized);
  if (const auto* function = type.As<FunctionType>()) {
    Append("(");
    PrintTypes(function->inputs);
    Append(") -> ");
    // One result stands bare, unless it is a function type itself.
    const bool bare = function->results.size() == 1 && function->results[0]->As<FunctionType>() == nullptr;
    if (!bare) Append("(");
    PrintTypes(function->results);
    if (!bare) Append(")");
    return;
  }
  if (const auto* complex = type.As<ComplexType>()) {
    Append("complex<");
    PrintType(*complex->element);
  } else if (const auto* tuple = type.As<TupleType>()) {
    Append("tuple<");
    PrintTypes(tuple->elements);
  } else if (const auto* future = type.As<FutureType>()) {
    Append("!stablehlo.future<");
    PrintTypes(future->elements);
  } else if (const auto* buffer = type.As<BufferType>()) {
    Append("memref<");
    PrintDims(buffer->dims);
    PrintType(*buffer->element);
  } else if (const auto* vector = type.As<VectorType>()) {
    Append("vector<");
    PrintDims(vector->dims);
    PrintType(*vector->element);
  }
  Append(">");
}

void Printer::PrintNamed(absl::Span<const NamedAttribute> attributes) {
  Append("{");
  Join(attributes, [this](const NamedAttribute& entry) {
    IsBare(entry.name) ? Append(entry.name) : Append(Quote(entry.name));
    if (entry.value->As<UnitAttribute>() != nullptr) return;
    Append(" = ");
    PrintAttribute(*entry.value);
  });
  Append("}");
}

void Printer::PrintElement(const Type& element, absl::string_view data) {
  uint64_t bits = 0;
  for (size_t i = 0; i < data.size() && i < 8; ++i) bits |= uint64_t{static_cast<uint8_t>(data[i])} << (8 * i);
  if (const auto* complex = element.As<ComplexType>()) {
    Append("(");
    PrintElement(*complex->element, data.substr(0, data.size() / 2));
    Append(",");
    PrintElement(*complex->element, data.substr(data.size() / 2));
    return Append(")");
  }
  if (const auto* real = element.As<FloatType>()) return Append(FloatText(real->kind, bits));
  const auto* integer = element.As<IntegerType>();
  if (integer == nullptr || integer->width >= 64) {
    const bool is_unsigned = integer != nullptr && integer->signedness == Signedness::kUnsigned;
    return is_unsigned ? Append(bits) : Append(static_cast<int64_t>(bits));
  }
  if (integer->width == 1) return Append(bits != 0 ? "true" : "false");
  const int unused = 64 - static_cast<int>(integer->width);
  bits <<= unused;
  integer->signedness == Signedness::kUnsigned ? Append(bits >> unused) : Append(static_cast<int64_t>(bits) >> unused);
}

void Printer::PrintElements(const std::vector<int64_t>& dims, size_t dim, const Type& element,
                            absl::string_view& data) {
  if (dim == dims.size()) {
    const size_t bytes = ElementByteSize(element);
    PrintElement(element, data.substr(0, bytes));
    data.remove_prefix(bytes);
    return;
  }
  Append("[");
  for (int64_t i = 0; i < dims[dim]; ++i) {
    if (i > 0) Append(", ");
    PrintElements(dims, dim + 1, element, data);
  }
  Append("]");
}

void Printer::PrintDense(const DenseAttribute& dense) {
  const auto* tensor = dense.type->As<TensorType>();
  const auto* vector = dense.type->As<VectorType>();
  const std::vector<int64_t>& dims = tensor != nullptr ? tensor->dims : vector->dims;
  const Type& element = *(tensor != nullptr ? tensor->element : vector->element);
  const int64_t count = ElementCount(dims).value_or(0);
  Append("dense<");
  if (dense.splat) {
    PrintElement(element, dense.data);
  } else if (count > options_.max_elements) {
    Append("\"0x");
    const size_t room = options_.max_bytes > text_.size() ? options_.max_bytes - text_.size() : 0;
    for (char c : dense.data.substr(0, room)) {
      constexpr char kDigits[] = "0123456789ABCDEF";
      text_.push_back(kDigits[static_cast<uint8_t>(c) >> 4]);
      text_.push_back(kDigits[static_cast<uint8_t>(c) & 15]);
    }
    Append("\"");
  } else if (count > 0) {
    absl::string_view data = dense.data;
    PrintElements(dims, 0, element, data);
  }
  Append("> : ");
  PrintType(*dense.type);
}

void Printer::PrintAttribute(const Attribute& attribute) {
  if (Full()) return;
  if (attribute.As<UnitAttribute>() != nullptr) return Append("unit");
  if (const auto* boolean = attribute.As<BoolAttribute>()) return Append(boolean->value ? "true" : "false");
  if (const auto* opaque = attribute.As<OpaqueAttribute>()) return Append(opaque->text);
  if (const auto* string = attribute.As<StringAttribute>()) return Append(Quote(string->value));
  if (const auto* type = attribute.As<TypeAttribute>()) return PrintType(*type->value);
  if (const auto* dictionary = attribute.As<DictionaryAttribute>()) return PrintNamed(dictionary->entries);
  if (const auto* dense = attribute.As<DenseAttribute>()) return PrintDense(*dense);
  if (const auto* choice = attribute.As<EnumAttribute>()) {
    return Append("#stablehlo<", choice->name, " ", choice->value, ">");
  }
  if (const auto* location = attribute.As<LocationAttribute>()) return PrintLocation(*location->value);
  if (const auto* integer = attribute.As<IntegerAttribute>()) {
    const auto* type = integer->type->As<IntegerType>();
    if (!integer->words.empty()) {
      Append("0x");
      for (size_t i = integer->words.size(); i > 0; --i) Append(absl::StrFormat("%016X", integer->words[i - 1]));
    } else if (type != nullptr && type->signedness == Signedness::kUnsigned) {
      Append(integer->value);
    } else {
      Append(static_cast<int64_t>(integer->value));
    }
    Append(" : ");
    return PrintType(*integer->type);
  }
  if (const auto* real = attribute.As<FloatAttribute>()) {
    Append(FloatText(real->type->As<FloatType>()->kind, real->bits), " : ");
    return PrintType(*real->type);
  }
  if (const auto* array = attribute.As<ArrayAttribute>()) {
    Append("[");
    Join(array->elements, [this](AttributeRef element) { PrintAttribute(*element); });
    return Append("]");
  }
  if (const auto* symbol = attribute.As<SymbolAttribute>()) {
    const auto name = [](absl::string_view part) { return IsBare(part) ? std::string(part) : Quote(part); };
    Append("@", name(symbol->root));
    for (absl::string_view part : symbol->nested) Append("::@", name(part));
    return;
  }
  if (const auto* array = attribute.As<DenseArrayAttribute>()) {
    Append("array<");
    PrintType(*array->element);
    const size_t bytes = ElementByteSize(*array->element);
    for (int64_t i = 0; i < array->size && !Full(); ++i) {
      Append(i == 0 ? ": " : ", ");
      PrintElement(*array->element, array->data.substr(i * bytes, bytes));
    }
    return Append(">");
  }
  if (const auto* strings = attribute.As<DenseStringAttribute>()) {
    Append("dense<[");
    Join(strings->values, [this](absl::string_view value) { Append(Quote(value)); });
    Append("]> : ");
    return PrintType(*strings->type);
  }
  if (const auto* sparse = attribute.As<SparseAttribute>()) {
    Append("sparse<");
    PrintAttribute(*sparse->indices);
    Append(", ");
    PrintAttribute(*sparse->values);
    Append("> : ");
    return PrintType(*sparse->type);
  }
  if (const auto* structure = attribute.As<StructAttribute>()) {
    if (options_.standard) return PrintStandardStruct(*structure);
    Append("#", structure->name, "<");
    Join(structure->fields, [this](const NamedAttribute& field) {
      Append(field.name, " = ");
      PrintAttribute(*field.value);
    });
    Append(">");
  }
}

const std::string& Printer::Name(const Value* value) {
  auto [entry, inserted] = names_.try_emplace(value);
  std::string& name = entry->second;
  if (!inserted) return name;
  if (value->operation == nullptr) return name = absl::StrCat("%arg", next_argument_++);
  const std::vector<Value*>& results = value->operation->results;
  const int number = next_result_++;
  if (!options_.pretty || results.size() == 1) return name = absl::StrCat("%", number);
  for (size_t i = 0; i < results.size(); ++i) names_[results[i]] = absl::StrCat("%", number, "#", i);
  return name;
}

void Printer::PrintLocation(const Location& location) {
  if (!location.known()) return Append(options_.standard ? "loc(unknown)" : "loc(unknown location)");
  if (!options_.standard) return Append("loc(", ToString(location), ")");
  const std::string place =
      location.file.empty() ? "" : absl::StrCat(Quote(location.file), ":", location.line, ":", location.column);
  if (location.name.empty()) return Append("loc(", place, ")");
  Append("loc(", Quote(location.name), place.empty() ? "" : absl::StrCat("(", place, ")"), ")");
}

// Numbers without types and lists in brackets: the definition of the attribute knows their types.
void Printer::PrintField(const Attribute& value) {
  if (const auto integers = AsIntegers(&value); integers.has_value()) {
    Append("[", absl::StrJoin(*integers, ", "), "]");
  } else if (const auto* integer = value.As<IntegerAttribute>()) {
    Append(static_cast<int64_t>(integer->value));
  } else if (const auto* real = value.As<FloatAttribute>()) {
    Append(FloatText(real->type->As<FloatType>()->kind, real->bits));
  } else if (const auto* word = value.As<EnumAttribute>()) {
    Append("#stablehlo.", word->name, "<", word->value, ">");
  } else {
    PrintAttribute(value);
  }
}

void Printer::PrintStandardStruct(const StructAttribute& structure) {
  if (absl::StartsWith(structure.name, "sdy.")) return Append(SdyText(structure));
  Append("#", structure.name, "<");
  const auto number = [&](absl::string_view name) { return AsInteger(Find(structure.fields, name)).value_or(-1); };
  if (structure.name == "stablehlo.conv") {
    constexpr absl::string_view kParts[][5] = {
        {"", "input_batch_dimension", "b", "input_feature_dimension", "f"},
        {"x", "kernel_input_feature_dimension", "i", "kernel_output_feature_dimension", "o"},
        {"->", "output_batch_dimension", "b", "output_feature_dimension", "f"}};
    constexpr absl::string_view kSpatial[] = {"input_spatial_dimensions", "kernel_spatial_dimensions",
                                              "output_spatial_dimensions"};
    for (int part = 0; part < 3; ++part) {
      const auto spatial = AsIntegers(Find(structure.fields, kSpatial[part])).value_or(std::vector<int64_t>());
      std::vector<std::string> letters(spatial.size() + 2);
      const auto put = [&](int64_t at, std::string letter) {
        if (at >= 0 && at < static_cast<int64_t>(letters.size())) letters[at] = std::move(letter);
      };
      for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], absl::StrCat(i));
      put(number(kParts[part][1]), std::string(kParts[part][2]));
      put(number(kParts[part][3]), std::string(kParts[part][4]));
      Append(kParts[part][0], "[", absl::StrJoin(letters, ", "), "]");
    }
    return Append(">");
  }
  if (structure.name == "stablehlo.sub_axis_info") {
    text_.resize(text_.size() - structure.name.size() - 2);
    return Append("(", number("pre_size"), ")", number("size"));
  }
  Join(structure.fields, [this](const NamedAttribute& field) {
    Append(field.name, field.name == "axes" ? "=" : " = ");
    PrintField(*field.value);
  });
  Append(">");
}

void Printer::PrintRegion(const Region& region, int indent, bool with_arguments) {
  Append("{\n");
  for (size_t i = 0; i < region.blocks.size(); ++i) blocks_[region.blocks[i]] = static_cast<int>(i);
  for (const Block* block : region.blocks) {
    if ((with_arguments && !block->arguments.empty()) || region.blocks.size() > 1) {
      Append(std::string(indent, ' '), "^bb", blocks_[block]);
      if (!block->arguments.empty()) {
        Append("(");
        Join(block->arguments, [this](const Value* value) {
          Append(Name(value), ": ");
          PrintType(*value->type);
        });
        Append(")");
      }
      Append(":\n");
    }
    for (const Operation* operation : block->operations) {
      if (Full()) return;
      PrintOperation(*operation, indent + 2);
    }
  }
  Append(std::string(indent, ' '), "}");
}

void Printer::PrintFunctionalTypes(const Operation& operation) {
  Append(" : (");
  Join(operation.operands, [this](const Value* value) { PrintType(*value->type); });
  Append(") -> ");
  if (operation.results.size() != 1) Append("(");
  Join(operation.results, [this](const Value* value) { PrintType(*value->type); });
  if (operation.results.size() != 1) Append(")");
}

void Printer::PrintEnd(const Operation& operation) {
  if (options_.locations) {
    Append(" ");
    PrintLocation(*operation.location);
  }
  Append("\n");
}

void Printer::PrintOperation(const Operation& operation, int indent) {
  if (operation.name == "func.func") {
    names_.clear();
    next_result_ = next_argument_ = 0;
  }
  Append(std::string(indent, ' '));
  if (options_.pretty && PrintShortForm(operation, indent)) return PrintEnd(operation);
  if (options_.pretty) {
    PrintResultNames(operation);
  } else {
    Join(operation.results, [this](const Value* value) { Append(Name(value)); });
    if (!operation.results.empty()) Append(" = ");
  }
  Append("\"", operation.name, "\"(");
  Join(operation.operands, [this](const Value* value) { Append(Name(value)); });
  Append(")");
  if (!operation.successors.empty()) {
    Append("[");
    Join(operation.successors, [this](const Block* block) { Append("^bb", blocks_[block]); });
    Append("]");
  }
  Context scratch;
  const std::vector<NamedAttribute> standard =
      options_.standard ? StructuredAttributes(operation, scratch) : std::vector<NamedAttribute>();
  const absl::Span<const NamedAttribute> attributes = options_.standard ? standard : operation.attributes;
  if (!attributes.empty()) {
    Append(" <");
    PrintNamed(attributes);
    Append(">");
  }
  if (!operation.regions.empty()) {
    Append(" (");
    Join(operation.regions, [this, indent](const Region* region) { PrintRegion(*region, indent); });
    Append(")");
  }
  if (!operation.discardable.empty()) {
    Append(" ");
    PrintNamed(operation.discardable);
  }
  PrintFunctionalTypes(operation);
  PrintEnd(operation);
}

std::string Quote(absl::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (absl::ascii_isprint(static_cast<unsigned char>(c))) {
      quoted.push_back(c);
    } else {
      absl::StrAppend(&quoted, "\\", absl::AsciiStrToUpper(absl::StrFormat("%02x", static_cast<uint8_t>(c))));
    }
  }
  quoted.push_back('"');
  return quoted;
}

std::string Print(const Module& module, const PrintOptions& options) { return Print(*module.root, options); }

std::string Print(const Operation& operation, const PrintOptions& options) {
  Printer printer(options);
  printer.PrintOperation(operation, 0);
  return printer.Take();
}

std::string Print(const Type& type) {
  const PrintOptions options;
  Printer printer(options);
  printer.PrintType(type);
  return printer.Take();
}

std::string Print(const Attribute& attribute, const PrintOptions& options) {
  Printer printer(options);
  printer.PrintAttribute(attribute);
  return printer.Take();
}

}  // namespace kiln::mlir
