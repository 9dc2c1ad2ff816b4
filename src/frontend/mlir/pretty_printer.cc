// Short forms, written by the rows of pretty_forms.cc that read them.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/frontend/mlir/pretty_forms.h"
#include "src/frontend/mlir/structured_attributes.h"
#include "src/frontend/mlir/text_printer.h"

namespace kiln::mlir {
namespace {

// Attributes that a part of a form writes.
absl::string_view NamesOf(absl::string_view part) {
  if (part == "constant") return "value";
  if (part == "slice") return "start_indices limit_indices strides";
  if (part == "dot_dimensions") return "dot_dimension_numbers";
  if (part == "precision") return "precision_config";
  if (part == "window") return "window_strides padding lhs_dilation rhs_dilation window_reversal";
  if (part == "reduce") return "dimensions";
  if (part == "comparison_type") return "compare_type";
  if (part == "dim_numbers") return "dimension_numbers";
  if (part == "format") return "exponent_bits mantissa_bits";
  return part;
}

// What a part cannot do without, by the names of the op tree.
bool IsOptional(absl::string_view part) {
  return part != "constant" && part != "slice" && part != "reduce" && part != "format";
}

bool IsKnownPart(absl::string_view part) {
  return part != "manual_computation" && part != "cast" && part != "mesh" && part != "sharding";
}

std::vector<absl::string_view> AttributesOf(absl::string_view word) {
  if (word.size() < 2 || word[1] != ':') return {};
  const absl::string_view name = word.substr(2);
  if (word[0] == 'x') return absl::StrSplit(NamesOf(name), ' ');
  return {name.substr(0, name.find('/'))};
}

// Whether all is there that the form writes.
bool Fits(const Operation& operation, absl::string_view form) {
  if (!operation.successors.empty()) return false;
  bool has_regions = false;
  for (absl::string_view word : absl::StrSplit(form, ' ')) {
    const bool is_part = absl::StartsWith(word, "x:");
    if (is_part && !IsKnownPart(word.substr(2))) return false;
    has_regions |= word == "x:reduce" || word == "x:while";
    if (is_part && IsOptional(word.substr(2))) continue;
    for (absl::string_view name : AttributesOf(word)) {
      if (operation.Get(name) == nullptr) return false;
    }
  }
  const std::vector<absl::string_view> words = absl::StrSplit(form, ' ');
  const int64_t operands = std::count(words.begin(), words.end(), "o");
  if (operands > static_cast<int64_t>(operation.operands.size())) return false;
  if (!has_regions) return operation.regions.empty();
  // A reduction's body, or a loop's condition and body.
  for (const Region* region : operation.regions) {
    if (region->blocks.size() != 1 || region->blocks[0]->arguments.size() != operation.operands.size()) return false;
  }
  return operation.regions.size() == (form == "x:while" ? 2 : 1);
}

std::vector<int64_t> Numbers(const Operation& operation, absl::string_view name) {
  return AsIntegers(operation.Get(name)).value_or(std::vector<int64_t>());
}

std::string List(absl::Span<const int64_t> numbers) { return absl::StrCat("[", absl::StrJoin(numbers, ", "), "]"); }

absl::string_view EnumText(AttributeRef attribute) {
  const auto* choice = As<EnumAttribute>(attribute);
  return choice != nullptr ? choice->value : "";
}

std::string SymbolText(absl::string_view name) {
  return absl::StrCat("@", IsBare(name) ? std::string(name) : Quote(name));
}

// The op that a reduction's body is, or null.
const Operation* OnlyOperation(const Operation& reduce) {
  const Block& block = *reduce.regions[0]->blocks[0];
  if (block.operations.size() != 2 || reduce.operands.size() != 2) return nullptr;
  const Operation &inner = *block.operations[0], &result = *block.operations[1];
  const bool plain = inner.operands == block.arguments && inner.attributes.empty() && inner.discardable.empty() &&
                     inner.regions.empty() && result.operands == inner.results;
  return plain && inner.results.size() == 1 && Equal(*inner.results[0]->type, *block.arguments[0]->type) ? &inner
                                                                                                         : nullptr;
}

bool IsOneOf(absl::string_view name, absl::Span<const absl::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool Printer::PrintShortForm(const Operation& operation, int indent) {
  if (operation.name == "builtin.module" && operation.regions.size() == 1) return PrintModule(operation, indent), true;
  if (operation.name == "func.func") {
    const auto* holder = As<TypeAttribute>(operation.Get("function_type"));
    if (holder == nullptr || holder->value->As<FunctionType>() == nullptr) return false;
    return PrintFunction(operation, indent), true;
  }
  // CHLO's types stand in several ways.
  const absl::string_view form = FindForm(operation.name);
  if (form.empty() || absl::StartsWith(operation.name, "chlo.") || !Fits(operation, form)) return false;
  PrintResultNames(operation);
  // A function is the only home of short names.
  const bool in_function = operation.parent != nullptr && operation.parent->parent->name == "func.func";
  Append(in_function && absl::StartsWith(operation.name, "func.") ? operation.name.substr(5) : operation.name);
  PrintForm(operation, form, indent);
  return true;
}

// %0 = , %0:2 =
void Printer::PrintResultNames(const Operation& operation) {
  if (operation.results.empty()) return;
  const std::string& first = Name(operation.results[0]);
  if (operation.results.size() == 1) return Append(first, " = ");
  Append(first.substr(0, first.find('#')), ":", operation.results.size(), " = ");
}

void Printer::PrintForm(const Operation& operation, absl::string_view form, int indent) {
  const std::vector<absl::string_view> words = absl::StrSplit(form, ' ');
  Context scratch;
  std::vector<NamedAttribute> rest = StructuredAttributes(operation, scratch);
  std::vector<absl::string_view> said;
  for (absl::string_view word : words) {
    for (absl::string_view name : AttributesOf(word)) said.push_back(name);
  }
  rest.erase(std::remove_if(rest.begin(), rest.end(), [&](const NamedAttribute& a) { return IsOneOf(a.name, said); }),
             rest.end());
  rest.insert(rest.end(), operation.discardable.begin(), operation.discardable.end());
  const auto names = [&] {
    return absl::StrJoin(operation.operands, ", ", [&](std::string* out, const Value* v) { out->append(Name(v)); });
  };
  bool tight = false;  // behind an opening bracket
  size_t next = 0;     // operand
  const auto put = [&](absl::string_view text) { Append(std::exchange(tight, false) ? "" : " ", text); };
  for (size_t i = 0; i < words.size() && !Full(); ++i) {
    const absl::string_view word = words[i];
    if (word == "(" || word == "[") {
      Append(word);
      tight = true;
    } else if (word == "," || word == ")" || word == "]" || word == "}") {
      Append(word);
      tight = false;
    } else if (word == "{") {
      put(word);
      tight = true;
    } else if (word == "o") {
      put(Name(operation.operands[next++]));
    } else if (word == "o*" || word == "o,*") {
      if (!operation.operands.empty()) put(word == "o*" ? names() : names() + ",");
      tight = false;
    } else if (word == "D") {
      // Barriers have two places for it.
      if (rest.empty() || std::find(words.begin() + static_cast<int64_t>(i) + 1, words.end(), "D") != words.end()) {
        continue;
      }
      Append(" ");
      PrintNamed(rest);
    } else if (word == "F" || word == "T" || word == "G" || word == "L" || word == "P" || word == "N") {
      PrintShortTypes(word, operation);
    } else if (word.size() < 2 || word[1] != ':') {
      put(word);
    } else {
      const absl::string_view name = AttributesOf(word)[0];
      const AttributeRef value = operation.Get(name);
      switch (word[0]) {
        case 'I':
          put(List(Numbers(operation, name)));
          break;
        case 'i':
          put(absl::StrCat(AsInteger(value).value_or(0)));
          break;
        case 'b':
          put(AsBool(value) == true ? "true" : "false");
          break;
        case 's':
          put(Quote(AsString(value).value_or("")));
          break;
        case 'y':
          put(SymbolText(AsString(value).value_or("")));
          break;
        case 'c':
          put("");
          PrintAttribute(*value);
          break;
        case 'E':
          put(EnumText(value));
          break;
        default:
          if (word == "x:dim_numbers") put("");
          tight = false;
          PrintPart(word.substr(2), operation, indent);
      }
    }
  }
}

void Printer::PrintShortTypes(absl::string_view kind, const Operation& operation) {
  const std::vector<Value*>& operands = operation.operands;
  if (kind == "P" || kind == "N") {
    if (operands.empty()) return;
    Append(" : ");
    return Join(operands, [this](const Value* value) { PrintType(*value->type); });
  }
  if (kind == "L" && operands.size() == 3 && operation.results.size() == 1) {
    // The predicate's and the result's.
    Append(" : ");
    PrintType(*operands[0]->type);
    Append(", ");
    return PrintType(*operation.results[0]->type);
  }
  const auto differs = [&](const Value* value) { return !Equal(*value->type, *operation.results[0]->type); };
  if (kind != "T" || operation.results.size() != 1 || std::any_of(operands.begin(), operands.end(), differs)) {
    return PrintFunctionalTypes(operation);
  }
  Append(" : ");
  PrintType(*operation.results[0]->type);
}

void Printer::PrintPart(absl::string_view part, const Operation& operation, int indent) {
  if (part == "reduce") return PrintReduce(operation, indent);
  if (part == "while") return PrintWhile(operation, indent);
  const auto text = [&](absl::string_view name) { return List(Numbers(operation, name)); };
  if (part == "constant") {
    Append(" ");
    if (!operation.discardable.empty()) {
      PrintNamed(operation.discardable);
      Append(" ");
    }
    PrintAttribute(*operation.Get("value"));
  } else if (part == "slice") {
    const auto starts = Numbers(operation, "start_indices"), limits = Numbers(operation, "limit_indices"),
               strides = Numbers(operation, "strides");
    std::vector<std::string> ranges;
    for (size_t i = 0; i < std::min({starts.size(), limits.size(), strides.size()}); ++i) {
      ranges.push_back(absl::StrCat(starts[i], ":", limits[i], strides[i] == 1 ? "" : absl::StrCat(":", strides[i])));
    }
    Append(" [", absl::StrJoin(ranges, ", "), "]");
  } else if (part == "dot_dimensions") {
    if (!Numbers(operation, "lhs_batching_dimensions").empty()) {
      Append(", batching_dims = ", text("lhs_batching_dimensions"), " x ", text("rhs_batching_dimensions"));
    }
    Append(", contracting_dims = ", text("lhs_contracting_dimensions"), " x ", text("rhs_contracting_dimensions"));
  } else if (part == "precision") {
    const auto* precisions = As<ArrayAttribute>(operation.Get("precision_config"));
    if (precisions == nullptr || precisions->elements.empty()) return;
    Append(", precision = [");
    Join(precisions->elements, [this](AttributeRef precision) { Append(EnumText(precision)); });
    Append("]");
  } else if (part == "comparison_type") {
    if (operation.Get("compare_type") != nullptr) Append(", ", EnumText(operation.Get("compare_type")));
  } else if (part == "algorithm" || part == "dim_numbers") {
    Context scratch;
    const absl::string_view name = part == "algorithm" ? part : NamesOf(part);
    const std::vector<NamedAttribute> attributes = StructuredAttributes(operation, scratch);
    const AttributeRef value = Find(attributes, name);
    if (value == nullptr) return;
    const size_t start = text_.size();
    PrintAttribute(*value);
    const std::string own = text_.substr(start);
    text_.resize(start);
    // Without the attribute's name, and for dimensions without its brackets.
    const size_t open = own.find('<');
    part == "algorithm" ? Append(", algorithm = ", own.substr(open))
                        : Append(own.substr(open + 1, own.size() - open - 2));
  } else if (part == "window") {
    std::vector<std::string> parts;
    const auto add = [&](absl::string_view key, absl::string_view name) {
      if (operation.Get(name) != nullptr) parts.push_back(absl::StrCat(key, " = ", text(name)));
    };
    add("stride", "window_strides");
    if (operation.Get("padding") != nullptr) {
      const std::vector<int64_t> flat = Numbers(operation, "padding");
      std::vector<std::string> pairs;
      for (size_t i = 0; i + 1 < flat.size(); i += 2) pairs.push_back(List({flat[i], flat[i + 1]}));
      parts.push_back(absl::StrCat("pad = [", absl::StrJoin(pairs, ", "), "]"));
    }
    add("lhs_dilate", "lhs_dilation");
    add("rhs_dilate", "rhs_dilation");
    if (const AttributeRef reversal = operation.Get("window_reversal"); reversal != nullptr) {
      const auto* flags = reversal->As<DenseArrayAttribute>();
      std::vector<absl::string_view> words;
      for (char flag : flags != nullptr ? flags->data : absl::string_view())
        words.push_back(flag != 0 ? "true" : "false");
      parts.push_back(absl::StrCat("reverse = [", absl::StrJoin(words, ", "), "]"));
    }
    Append(absl::StrJoin(parts, ", "));
  } else if (part == "barrier") {
    if (operation.operands.empty()) return Append(" ()");
    Append(" ");
    Join(operation.operands, [this](const Value* value) { Append(Name(value)); });
  } else if (part == "format") {
    Append(" e", AsInteger(operation.Get("exponent_bits")).value_or(0), "m",
           AsInteger(operation.Get("mantissa_bits")).value_or(0));
  }
}

// (%a init: %i), ... applies stablehlo.add across dimensions = [1] : types, or with a reducer.
void Printer::PrintReduce(const Operation& operation, int indent) {
  const size_t count = operation.operands.size() / 2;
  for (size_t i = 0; i < count; ++i) {
    Append(i > 0 ? ", " : "", "(", Name(operation.operands[i]), " init: ", Name(operation.operands[count + i]), ")");
  }
  const Operation* applied = OnlyOperation(operation);
  if (applied != nullptr) Append(" applies ", applied->name);
  Append(" across dimensions = ", List(Numbers(operation, "dimensions")));
  if (!operation.discardable.empty()) {
    Append(" ");
    PrintNamed(operation.discardable);
  }
  PrintFunctionalTypes(operation);
  if (applied != nullptr) return;
  Append("\n", std::string(indent, ' '), " reducer");
  const std::vector<Value*>& arguments = operation.regions[0]->blocks[0]->arguments;
  for (size_t i = 0; i < count; ++i) PrintArguments({arguments[i], arguments[count + i]}, nullptr);
  Append(" ");
  PrintRegion(*operation.regions[0], indent, /*with_arguments=*/false);
}

// (%x = %a, %y = %b) : types cond {...} do {...}
void Printer::PrintWhile(const Operation& operation, int indent) {
  const std::vector<Value*>& condition = operation.regions[0]->blocks[0]->arguments;
  const std::vector<Value*>& body = operation.regions[1]->blocks[0]->arguments;
  Append("(");
  for (size_t i = 0; i < body.size(); ++i) {
    names_[condition[i]] = Name(body[i]);
    Append(i > 0 ? ", " : "", Name(body[i]), " = ", Name(operation.operands[i]));
  }
  Append(")");
  PrintShortTypes("P", operation);
  PrintRest({operation.discardable.begin(), operation.discardable.end()});
  Append("\n", std::string(indent, ' '), "cond ");
  PrintRegion(*operation.regions[0], indent, /*with_arguments=*/false);
  Append(" do ");
  PrintRegion(*operation.regions[1], indent, /*with_arguments=*/false);
}

// (%a: T {...}, %b: T)
void Printer::PrintArguments(const std::vector<Value*>& values, AttributeRef attributes) {
  const auto* list = As<ArrayAttribute>(attributes);
  Append("(");
  for (size_t i = 0; i < values.size(); ++i) {
    Append(i > 0 ? ", " : "", Name(values[i]), ": ");
    PrintTypeWith(*values[i]->type, list, i);
  }
  Append(")");
}

// The type of argument or result `i`, and its attributes.
void Printer::PrintTypeWith(const Type& type, const ArrayAttribute* attributes, size_t i) {
  PrintType(type);
  const bool has_own = attributes != nullptr && i < attributes->elements.size();
  const auto* own = has_own ? attributes->elements[i]->As<DictionaryAttribute>() : nullptr;
  if (own == nullptr || own->entries.empty()) return;
  Append(" ");
  PrintNamed(own->entries);
}

void Printer::PrintRest(const std::vector<NamedAttribute>& attributes) {
  if (attributes.empty()) return;
  Append(" attributes ");
  PrintNamed(attributes);
}

// func.func public @f(%a: T) -> (T {...}) attributes {...} {...}
void Printer::PrintFunction(const Operation& function, int indent) {
  const auto* holder = function.Get("function_type")->As<TypeAttribute>();
  const auto* type = holder->value->As<FunctionType>();
  const bool has_body = !function.regions.empty() && !function.regions[0]->blocks.empty();
  const absl::string_view visibility = AsString(function.Get("sym_visibility")).value_or("");
  Append("func.func ", visibility, visibility.empty() ? "" : " ",
         SymbolText(AsString(function.Get("sym_name")).value_or("")));
  if (has_body) {
    PrintArguments(function.regions[0]->blocks[0]->arguments, function.Get("arg_attrs"));
  } else {
    Append("(");
    PrintTypes(type->inputs);
    Append(")");
  }
  const AttributeRef attributes = function.Get("res_attrs");
  const auto* list = As<ArrayAttribute>(attributes);
  if (!type->results.empty()) {
    const bool bare = type->results.size() == 1 && (list == nullptr || list->elements.empty());
    Append(bare ? " -> " : " -> (");
    for (size_t i = 0; i < type->results.size(); ++i) {
      Append(i > 0 ? ", " : "");
      PrintTypeWith(*type->results[i], list, i);
    }
    if (!bare) Append(")");
  }
  std::vector<NamedAttribute> rest(function.discardable.begin(), function.discardable.end());
  for (const NamedAttribute& attribute : function.attributes) {
    if (!IsOneOf(attribute.name, {"function_type", "sym_name", "sym_visibility", "arg_attrs", "res_attrs"})) {
      rest.push_back(attribute);
    }
  }
  PrintRest(rest);
  if (!has_body) return;
  Append(" ");
  PrintRegion(*function.regions[0], indent, /*with_arguments=*/false);
}

// module @m attributes {...} {...}
void Printer::PrintModule(const Operation& module, int indent) {
  Append("module");
  std::vector<NamedAttribute> rest(module.discardable.begin(), module.discardable.end());
  for (const NamedAttribute& attribute : module.attributes) {
    if (attribute.name == "sym_name") {
      Append(" ", SymbolText(AsString(attribute.value).value_or("")));
    } else {
      rest.push_back(attribute);
    }
  }
  PrintRest(rest);
  Append(" ");
  PrintRegion(*module.regions[0], indent, /*with_arguments=*/false);
}

}  // namespace kiln::mlir
