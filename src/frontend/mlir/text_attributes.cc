// Attributes and locations.
#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "src/frontend/mlir/text_parser.h"

namespace kiln::mlir {
namespace {

// Lists of numbers in structured attributes are array<i64>, as the bytecode has them.
AttributeRef AsFlatList(Context& context, AttributeRef attribute) {
  const ArrayAttribute* array = attribute->As<ArrayAttribute>();
  if (array == nullptr) return attribute;
  for (AttributeRef element : array->elements) {
    if (element->As<IntegerAttribute>() == nullptr) return attribute;
  }
  return context.MakeIntegers(*AsIntegers(attribute));
}

}  // namespace

AttributeRef TextParser::ReadAttribute() {
  const Guard guard(*this);
  const AttributeRef attribute = ok() ? ReadAttributeUnguarded() : nullptr;
  return ok() && attribute != nullptr ? attribute : context_.unit_attribute();
}

AttributeRef TextParser::Integers() {
  Expect("[");
  std::vector<int64_t> values;
  List("]", [&] { values.push_back(Integer("an integer")); });
  return context_.MakeIntegers(values);
}

std::vector<NamedAttribute> TextParser::Dictionary() {
  std::vector<NamedAttribute> entries;
  const size_t begin = lexer_.offset();
  List("}", [&] {
    NamedAttribute entry;
    entry.name = Word("the name of an attribute", /*quoted=*/true);
    entry.value = Next("=") ? ReadAttribute() : context_.unit_attribute();
    entries.push_back(entry);
  });
  std::sort(entries.begin(), entries.end(),
            [](const NamedAttribute& a, const NamedAttribute& b) { return a.name < b.name; });
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i - 1].name == entries[i].name) {
      FailAt(begin, absl::StrCat("attribute '", entries[i].name, "' stands twice in a dictionary"));
    }
  }
  return entries;
}

SymbolAttribute TextParser::Symbol() {
  SymbolAttribute symbol;
  const auto name = [&] {
    Expect("@");
    return Word("the name of a symbol", /*quoted=*/true);
  };
  symbol.root = name();
  while (ok() && Next("::")) symbol.nested.push_back(name());
  return symbol;
}

AttributeRef TextParser::ReadAttributeUnguarded() {
  const char next = Peek();
  if (next == '"') {
    const absl::string_view value = String();
    if (Next(":")) ReadType();
    return Text(value);
  }
  if (next == '@') return context_.MakeAttribute(Symbol());
  if (next == '#') return ReadDialectAttribute();
  if (next == '-' || absl::ascii_isdigit(static_cast<unsigned char>(next))) return ReadNumber();
  if (Next("{")) return context_.MakeAttribute(DictionaryAttribute{Dictionary()});
  if (Next("[")) {
    ArrayAttribute array;
    List("]", [&] { array.elements.push_back(ReadAttribute()); });
    return context_.MakeAttribute(std::move(array));
  }
  if (next == '<') {  // An axis of a mesh, inside one.
    Expect("<");
    return ReadStruct("stablehlo.mesh_axis");
  }
  if (NextWord("true")) return context_.MakeAttribute(BoolAttribute{true});
  if (NextWord("false")) return context_.MakeAttribute(BoolAttribute{false});
  if (NextWord("unit")) return context_.unit_attribute();
  if (PeekWord() == "loc") return context_.MakeAttribute(LocationAttribute{ReadLocation()});
  if (NextWord("dense")) return ReadDense();
  if (NextWord("dense_resource")) return ReadDenseResource();
  if (NextWord("array")) return ReadDenseArray();
  if (NextWord("sparse")) {
    SparseAttribute sparse;
    Expect("<");
    sparse.indices = ReadAttribute();
    Expect(",");
    sparse.values = ReadAttribute();
    Expect(">");
    Expect(":");
    sparse.type = ReadType();
    return context_.MakeAttribute(sparse);
  }
  for (absl::string_view opaque : {"opaque", "affine_map", "affine_set", "strided"}) {
    const size_t begin = lexer_.offset();
    if (!NextWord(opaque)) continue;
    Expect("<");
    Balanced();
    return context_.MakeAttribute(OpaqueAttribute{text_.substr(begin, lexer_.position() - begin)});
  }
  if (next == '!' || next == '(' || absl::ascii_isalpha(static_cast<unsigned char>(next))) {
    return context_.MakeAttribute(TypeAttribute{ReadType()});
  }
  FailExpected("an attribute");
  return nullptr;
}

AttributeRef TextParser::ReadNumber() {
  const size_t begin = lexer_.offset();
  const absl::string_view token = lexer_.Run("+-.");
  const bool hex = absl::StartsWith(token, "0x");
  const bool real = !hex && token.find_first_of(".eE") != absl::string_view::npos;
  TypeRef type = real ? context_.MakeType(FloatType{FloatKind::kF64}) : context_.i64_type();
  if (Next(":")) type = ReadType();
  if (!ok()) return nullptr;
  const size_t end = lexer_.position();
  lexer_.Rewind(begin);  // Errors of the number point at it.
  AttributeRef attribute = nullptr;
  if (const FloatType* format = type->As<FloatType>()) {
    attribute = context_.MakeAttribute(FloatAttribute{type, FloatBits(format->kind, token)});
  } else if (type->IsInteger(1)) {
    attribute = context_.MakeAttribute(BoolAttribute{(IntegerBits(*type, token) & 1) != 0});
  } else {
    IntegerAttribute integer;
    integer.type = type;
    integer.value = IntegerBits(*type, token);
    attribute = context_.MakeAttribute(std::move(integer));
  }
  if (ok()) lexer_.Rewind(end);
  return attribute;
}

// #alias, #stablehlo<precision DEFAULT>, #stablehlo.gather<...>, #sdy.sharding<...>, #any.thing<...>
AttributeRef TextParser::ReadDialectAttribute() {
  const size_t begin = lexer_.offset();
  lexer_.Rewind(begin + 1);
  lexer_.Run("_$.-");
  const absl::string_view name = text_.substr(begin, lexer_.position() - begin);
  if (const void* alias = ResolveAlias(name)) return static_cast<AttributeRef>(alias);
  if (!ok()) return nullptr;
  absl::string_view local = name.substr(1);
  if (local == "stablehlo" || local == "mhlo" || local == "chlo") {
    Expect("<");
    const absl::string_view mnemonic = Word("the name of an attribute");
    const absl::string_view value = Word("a case of the enum");
    Expect(">");
    return Enum(mnemonic, value);
  }
  if (local == "sdy" && Next("<")) {
    return ReadSdyAttribute(context_.Keep(absl::StrCat("sdy.", Word("the name of an attribute"))));
  }
  if (absl::StartsWith(local, "stablehlo.") || absl::StartsWith(local, "mhlo.") || absl::StartsWith(local, "chlo.")) {
    Expect("<");
    return ReadStruct(local);
  }
  if (absl::StartsWith(local, "sdy.")) {
    Expect("<");
    return ReadSdyAttribute(local);
  }
  if (!absl::StrContains(local, '.')) {
    FailAt(begin, absl::StrCat("no attribute is named ", name));
    return nullptr;
  }
  if (Next("<")) Balanced();
  return context_.MakeAttribute(OpaqueAttribute{text_.substr(begin, lexer_.position() - begin)});
}

// After '<': one word is an enum, else fields.
AttributeRef TextParser::ReadStruct(absl::string_view name) {
  absl::string_view local = name;
  for (absl::string_view dialect : {"stablehlo.", "mhlo.", "chlo."}) absl::ConsumePrefix(&local, dialect);
  if (local == "conv") {
    const AttributeRef dimensions = ReadConvolutionDimensions();
    Expect(">");
    return dimensions;
  }
  StructAttribute structure{name, {}};
  if (local == "bounds" || local == "type_extensions") {
    structure.name = "stablehlo.bounds";
    const bool old = local == "type_extensions";
    if (old) {
      Expect("bounds");
      Expect("=");
      Expect("[");
    }
    std::vector<int64_t> bounds;
    List(old ? "]" : ">", [&] { bounds.push_back(Next("?") ? kDynamicSize : Integer("a bound")); });
    if (old) Expect(">");
    structure.fields.push_back({"bounds", context_.MakeIntegers(bounds)});
    return context_.MakeAttribute(std::move(structure));
  }
  const size_t begin = lexer_.offset();
  if (const absl::string_view word = PeekWord(); !word.empty()) {
    lexer_.Rewind(begin + word.size());
    if (Next(">")) return Enum(local, word);
    lexer_.Rewind(begin);
  }
  List(">", [&] {
    NamedAttribute field;
    field.name = Word("the name of a field");
    Expect("=");
    if (field.name == "sub_axis_info") {
      StructAttribute info{"stablehlo.sub_axis_info", {}};
      Expect("(");
      info.fields.push_back({"pre_size", context_.MakeInteger(Integer("a size"))});
      Expect(")");
      info.fields.push_back({"size", context_.MakeInteger(Integer("a size"))});
      field.value = context_.MakeAttribute(std::move(info));
    } else {
      field.value = AsFlatList(context_, ReadAttribute());
    }
    structure.fields.push_back(field);
  });
  return context_.MakeAttribute(std::move(structure));
}

AttributeRef TextParser::ReadConvolutionDimensions() {
  struct Part {
    absl::string_view letters[2];
    absl::string_view names[2];
    absl::string_view spatial;
  };
  constexpr Part kParts[] = {
      {{"b", "f"}, {"input_batch_dimension", "input_feature_dimension"}, "input_spatial_dimensions"},
      {{"i", "o"}, {"kernel_input_feature_dimension", "kernel_output_feature_dimension"}, "kernel_spatial_dimensions"},
      {{"b", "f"}, {"output_batch_dimension", "output_feature_dimension"}, "output_spatial_dimensions"},
  };
  StructAttribute fields{"stablehlo.conv", {}};
  for (size_t i = 0; i < 3 && ok(); ++i) {
    if (i > 0) Expect(i == 1 ? "x" : "->");
    Expect("[");
    std::vector<std::pair<int64_t, int64_t>> spatial;  // Number and position.
    int64_t position = 0;
    int64_t places[2] = {-1, -1};
    const size_t begin = lexer_.offset();
    List("]", [&] {
      if (NextWord(kParts[i].letters[0])) {
        places[0] = position;
      } else if (NextWord(kParts[i].letters[1])) {
        places[1] = position;
      } else if (!Next("?")) {
        spatial.emplace_back(Integer("a spatial dimension"), position);
      }
      ++position;
    });
    std::sort(spatial.begin(), spatial.end());
    std::vector<int64_t> order;
    for (size_t j = 0; j < spatial.size(); ++j) {
      if (spatial[j].first != static_cast<int64_t>(j)) {
        FailAt(begin, absl::StrCat("expected the spatial dimensions 0 to ", spatial.size() - 1, " once each"));
        return nullptr;
      }
      order.push_back(spatial[j].second);
    }
    for (int j = 0; j < 2; ++j) {
      if (places[j] < 0) FailAt(begin, absl::StrCat("dimension ", kParts[i].letters[j], " is missing"));
      fields.fields.push_back({kParts[i].names[j], context_.MakeInteger(places[j])});
    }
    fields.fields.push_back({kParts[i].spatial, context_.MakeIntegers(order)});
  }
  return context_.MakeAttribute(std::move(fields));
}

const Location* TextParser::OptionalLocation() { return PeekWord() == "loc" ? ReadLocation() : nullptr; }

const Location* TextParser::ReadLocation() {
  Expect("loc");
  Expect("(");
  const Location location = ReadLocationBody();
  Expect(")");
  return ok() && location.known() ? context_.MakeLocation(location) : context_.unknown_location();
}

// Inside "loc(...)": #alias, unknown, "name", "name"(child), "file":3:4, "file":3:4 to :5, callsite(a at b), fused[a,
// b]
Location TextParser::ReadLocationBody() {
  const Guard guard(*this);
  if (!ok() || NextWord("unknown")) return {};
  if (Peek() == '#') {
    const LocationAttribute* alias = ReadAttribute()->As<LocationAttribute>();
    if (alias == nullptr && ok()) Fail("expected the alias of a location");
    return ok() ? *alias->value : Location{};
  }
  if (NextWord("callsite")) {
    Expect("(");
    const Location callee = ReadLocationBody();
    Expect("at");
    const Location caller = ReadLocationBody();
    Expect(")");
    return CallSiteLocation(callee, caller);
  }
  if (NextWord("fused")) {
    if (Next("<")) {
      ReadAttribute();
      Expect(">");
    }
    Location fused;
    Expect("[");
    List("]", [&] { FuseLocation(fused, ReadLocationBody()); });
    return fused;
  }
  const absl::string_view name = String();
  if (Next("(")) {
    const Location child = ReadLocationBody();
    Expect(")");
    return NamedLocation(name, child);
  }
  Location location;
  if (!Next(":")) {
    location.name = name;
    return location;
  }
  location.file = name;
  location.line = Integer("a line");
  Expect(":");
  location.column = Integer("a column");
  if (NextWord("to")) {
    location.end_line = Peek() == ':' ? location.line : Integer("a line");
    Expect(":");
    location.end_column = Integer("a column");
  }
  return location;
}

}  // namespace kiln::mlir
