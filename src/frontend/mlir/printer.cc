#include "src/frontend/mlir/printer.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kiln::mlir {
namespace {

// An identifier that needs no quotes.
bool IsBare(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(name[0])) return false;
  for (char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '$' && c != '.') return false;
  }
  return true;
}

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

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string Take() { return std::move(text_); }

  void PrintType(const Type& type);
  void PrintAttribute(const Attribute& attribute);
  void PrintOperation(const Operation& operation, int indent);

 private:
  bool Full() {
    if (text_.size() <= options_.max_bytes) return false;
    if (!full_) text_ += "...";
    full_ = true;
    return true;
  }
  template <typename... Parts>
  void Append(const Parts&... parts) {
    absl::StrAppend(&text_, parts...);
  }
  template <typename List, typename Function>
  void Join(const List& list, Function print) {
    bool first = true;
    for (const auto& element : list) {
      if (Full()) return;
      if (!std::exchange(first, false)) Append(", ");
      print(element);
    }
  }
  void PrintTypes(const std::vector<TypeRef>& types) {
    Join(types, [this](TypeRef type) { PrintType(*type); });
  }
  void PrintDims(const std::vector<int64_t>& dims);
  void PrintNamed(absl::Span<const NamedAttribute> attributes);
  void PrintElement(const Type& element, absl::string_view data);
  void PrintElements(const std::vector<int64_t>& dims, size_t dim, const Type& element, absl::string_view& data);
  void PrintDense(const DenseAttribute& dense);
  void PrintRegion(const Region& region, int indent);
  void PrintQuantized(const QuantizedType& type);
  void PrintTensor(const TensorType& tensor);
  const std::string& Name(const Value* value);

  const PrintOptions& options_;
  std::string text_;
  bool full_ = false;
  std::unordered_map<const Value*, std::string> names_;
  std::unordered_map<const Block*, int> blocks_;
  int next_result_ = 0;
  int next_argument_ = 0;
};

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
  Append("!quant.uniform<");
  PrintType(*type.storage);
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
  if (const auto* location = attribute.As<LocationAttribute>()) return Append("loc(", ToString(*location->value), ")");
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
  if (inserted) {
    entry->second =
        value->operation == nullptr ? absl::StrCat("%arg", next_argument_++) : absl::StrCat("%", next_result_++);
  }
  return entry->second;
}

void Printer::PrintRegion(const Region& region, int indent) {
  Append("{\n");
  for (size_t i = 0; i < region.blocks.size(); ++i) blocks_[region.blocks[i]] = static_cast<int>(i);
  for (const Block* block : region.blocks) {
    if (!block->arguments.empty() || region.blocks.size() > 1) {
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

void Printer::PrintOperation(const Operation& operation, int indent) {
  if (operation.name == "func.func") {
    names_.clear();
    next_result_ = next_argument_ = 0;
  }
  Append(std::string(indent, ' '));
  Join(operation.results, [this](const Value* value) { Append(Name(value)); });
  if (!operation.results.empty()) Append(" = ");
  Append("\"", operation.name, "\"(");
  Join(operation.operands, [this](const Value* value) { Append(Name(value)); });
  Append(")");
  if (!operation.successors.empty()) {
    Append("[");
    Join(operation.successors, [this](const Block* block) { Append("^bb", blocks_[block]); });
    Append("]");
  }
  if (!operation.attributes.empty()) {
    Append(" <");
    PrintNamed(operation.attributes);
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
  Append(" : (");
  Join(operation.operands, [this](const Value* value) { PrintType(*value->type); });
  Append(") -> ");
  if (operation.results.size() != 1) Append("(");
  Join(operation.results, [this](const Value* value) { PrintType(*value->type); });
  if (operation.results.size() != 1) Append(")");
  if (options_.locations) Append(" loc(", ToString(*operation.location), ")");
  Append("\n");
}

}  // namespace

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
