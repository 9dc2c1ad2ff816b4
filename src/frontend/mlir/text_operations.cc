// Operations, regions, values, modules and functions.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "src/frontend/mlir/text_parser.h"
#include "src/frontend/mlir/text_reader.h"

namespace kiln::mlir {
namespace {

constexpr int kMaxTextNesting = 128;

constexpr absl::string_view kFlattened[] = {"dimension_numbers", "scatter_dimension_numbers", "dot_dimension_numbers",
                                            "algorithm", "channel_handle"};

}  // namespace

Operation* TextParser::MakeOperation(Region* parent, absl::string_view name) {
  Operation* operation = context_.MakeOperation();
  operation->name = name;
  operation->parent = parent;
  operation->location = context_.unknown_location();
  return operation;
}

void TextParser::SetResultTypes(Operation* operation, const std::vector<TypeRef>& types) {
  for (TypeRef type : types) context_.AddResult(operation, type);
}

Region* TextParser::MakeRegion(Operation* owner, const std::vector<TypeRef>& argument_types) {
  Region* region = context_.AddRegion(owner);
  Block* block = context_.AddBlock(region);
  for (TypeRef type : argument_types) context_.AddArgument(block, type);
  return region;
}

void TextParser::Define(absl::string_view name, std::vector<Value*> values, size_t offset) {
  if (!ok()) return;
  if (!values_.emplace(name, Named{std::move(values), defined_.size()}).second) {
    return FailAt(offset, absl::StrCat("the value %", name, " is defined twice"));
  }
  defined_.push_back(name);
}

Value* TextParser::Operand() {
  const size_t begin = lexer_.offset();
  if (!Next("%")) return FailExpected("an operand"), nullptr;
  const absl::string_view name = lexer_.Run("_$.-");
  const bool numbered = Next("#");
  const int64_t index = numbered ? Integer("the number of a result") : 0;
  const auto found = values_.find(name);
  if (!ok()) return nullptr;
  if (found == values_.end()) {
    FailAt(begin, absl::StrCat("the value %", name, " is not defined before"));
    return nullptr;
  }
  const std::vector<Value*>& values = found->second.values;
  if (!numbered && values.size() != 1) {
    FailAt(begin, absl::StrCat("%", name, " stands for ", values.size(), " values: expected %", name, "#N"));
    return nullptr;
  }
  if (index < 0 || index >= static_cast<int64_t>(values.size())) {
    FailAt(begin, absl::StrCat("%", name, " stands for ", values.size(), " values, found #", index));
    return nullptr;
  }
  return values[index];
}

std::vector<Value*> TextParser::Operands(absl::string_view close) {
  std::vector<Value*> operands;
  List(close, [&] { operands.push_back(Operand()); });
  return operands;
}

void TextParser::AddAttributes(Operation* operation, const std::vector<NamedAttribute>& entries, bool inherent) {
  // What was being read when an error was found may have no value.
  if (!ok()) return;
  const auto row = rows_.find(operation->name);
  std::vector<NamedAttribute> discardable(operation->discardable.begin(), operation->discardable.end());
  const size_t before = discardable.size();
  for (const NamedAttribute& entry : entries) {
    const StructAttribute* structure = entry.value->As<StructAttribute>();
    const bool flatten = structure != nullptr &&
                         std::find(std::begin(kFlattened), std::end(kFlattened), entry.name) != std::end(kFlattened);
    if (flatten) {
      const bool channel = entry.name == "channel_handle";
      for (const NamedAttribute& field : structure->fields) {
        const absl::string_view name = !channel ? field.name : field.name == "handle" ? "channel_id" : "channel_type";
        operation->attributes.push_back({name, field.value});
      }
      continue;
    }
    bool is_own = inherent;
    if (!inherent && row != rows_.end()) {
      const absl::string_view names = row->second->attributes;
      for (size_t at = names.find(entry.name); at != absl::string_view::npos; at = names.find(entry.name, at + 1)) {
        const size_t end = at + entry.name.size();
        is_own |= (at == 0 || names[at - 1] == ' ') && (end == names.size() || names[end] == ' ' || names[end] == '?');
      }
    }
    (is_own ? operation->attributes : discardable).push_back(entry);
  }
  if (discardable.size() > before) operation->discardable = context_.Keep(std::move(discardable));
}

void TextParser::OptionalDictionary(Operation* operation) {
  if (Next("<{")) {
    AddAttributes(operation, Dictionary(), /*inherent=*/true);
    Expect(">");
  }
  if (Next("{")) AddAttributes(operation, Dictionary());
}

void TextParser::Finish(Operation* operation) {
  const absl::string_view twice = SortByName(operation->attributes);
  if (!twice.empty()) Fail(absl::StrCat("the op before has the attribute ", twice, " twice"));
}

void TextParser::FunctionalTypes(Operation* operation) {
  const size_t begin = lexer_.offset();
  Expect("(");
  std::vector<TypeRef> inputs;
  List(")", [&] { inputs.push_back(ReadType()); });
  Expect("->");
  SetResultTypes(operation, ResultTypes());
  if (!ok()) return;
  if (inputs.size() != operation->operands.size()) {
    return FailAt(
        begin, absl::StrCat("expected the types of ", operation->operands.size(), " operands, found ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (operation->operands[i]->type == nullptr || Equal(*inputs[i], *operation->operands[i]->type)) continue;
    return FailAt(begin, absl::StrCat("the type of operand ", i, " differs from that of its definition"));
  }
}

TextParser::Argument TextParser::ReadArgument() {
  Argument argument;
  argument.offset = lexer_.offset();
  Expect("%");
  argument.name = lexer_.Run("_$.-");
  Expect(":");
  argument.type = ReadType();
  OptionalLocation();
  return argument;
}

Region* TextParser::ReadRegion(Operation* owner, const std::vector<Argument>& arguments, bool isolated) {
  if (++nesting_ > kMaxTextNesting) Fail(absl::StrCat("regions nest deeper than ", kMaxTextNesting, " levels"));
  const size_t defined = defined_.size();
  absl::flat_hash_map<absl::string_view, Named> outer_values;
  if (isolated) outer_values.swap(values_);
  absl::flat_hash_map<absl::string_view, Block*> outer_blocks;
  outer_blocks.swap(blocks_);

  std::vector<TypeRef> types;
  for (const Argument& argument : arguments) types.push_back(argument.type);
  Region* region = MakeRegion(owner, types);
  for (size_t i = 0; i < arguments.size(); ++i) {
    Define(arguments[i].name, {region->blocks[0]->arguments[i]}, arguments[i].offset);
  }
  Expect("{");
  ReadBlocks(region);

  blocks_.swap(outer_blocks);
  for (; defined_.size() > defined; defined_.pop_back()) values_.erase(defined_.back());
  if (isolated) values_.swap(outer_values);
  --nesting_;
  return region;
}

// Up to and with "}". The first block exists, and needs a header only for its arguments.
void TextParser::ReadBlocks(Region* region) {
  Block* block = region->blocks[0];
  absl::flat_hash_set<const Block*> defined = {block};
  const auto find = [&](absl::string_view label) {
    Block*& found = blocks_[label];
    if (found != nullptr) return found;
    const bool first = region->blocks.size() == 1 && block->operations.empty() && block->arguments.empty();
    found = first ? block : context_.MakeBlock();
    found->parent = region;
    return found;
  };
  while (ok() && !Next("}")) {
    if (Peek() != '^') {
      ReadOperation(region, block);
      continue;
    }
    const size_t begin = lexer_.offset();
    lexer_.Rewind(begin + 1);
    Block* next = find(lexer_.Run("_$.-"));
    if (next != region->blocks[0] || !block->operations.empty()) {
      if (!defined.insert(next).second) return FailAt(begin, "a block is defined twice");
      region->blocks.push_back(next);
    }
    block = next;
    if (Next("(")) {
      List(")", [&] {
        const Argument argument = ReadArgument();
        Define(argument.name, {context_.AddArgument(block, argument.type)}, argument.offset);
      });
    }
    Expect(":");
  }
  for (const auto& [label, reached] : blocks_) {
    if (ok() && !defined.contains(reached)) {
      Fail(absl::StrCat("the block ^", label, " is not defined"));
    }
  }
  // A region without anything has no block.
  if (region->blocks.size() == 1 && block->operations.empty() && block->arguments.empty()) region->blocks.clear();
}

int64_t TextParser::LineOf(size_t offset) {
  for (; counted_to_ < offset; ++counted_to_) counted_lines_ += text_[counted_to_] == '\n' ? 1 : 0;
  return counted_lines_;
}

void TextParser::ReadOperation(Region* region, Block* block) {
  struct Result {
    absl::string_view name;
    int64_t count;
    size_t offset;
  };
  std::vector<Result> names;
  const size_t begin = lexer_.offset();
  int64_t total = 0;
  if (AtOperand()) {
    do {
      Result result{{}, 1, lexer_.offset()};
      Expect("%");
      result.name = lexer_.Run("_$.-");
      if (Next(":")) result.count = Integer("the number of results");
      if (result.count < 1 || result.count > static_cast<int64_t>(text_.size())) Fail("expected a number of results");
      names.push_back(result);
      total += ok() ? result.count : 0;
    } while (ok() && Next(","));
    Expect("=");
  }
  Operation* operation = MakeOperation(region, {});
  const size_t name_offset = lexer_.offset();
  Location place;
  place.line = LineOf(name_offset);
  operation->location = context_.MakeLocation(place);
  if (Peek() == '"') {
    operation->name = String();
    ReadGeneric(operation);
  } else {
    const absl::string_view name = Word("an operation");
    operation->name = name == "return" || name == "call" || name == "constant"
                          ? context_.Keep(absl::StrCat("func.", name))
                      : name == "module" ? "builtin.module"
                                         : name;
    if (operation->name == "builtin.module") {
      ReadModuleOp(operation);
    } else if (operation->name == "func.func") {
      ReadFunction(operation);
    } else if (ok() && !ReadPrettyForm(*this, operation)) {
      return FailAt(name_offset, absl::StrCat("no short form of the op '", name,
                                              "' is known; expected its generic form \"dialect.op\"(...)"));
    }
  }
  if (const Location* location = OptionalLocation()) operation->location = location;
  Finish(operation);
  if (!ok()) return;
  // Ops that a short form implies stand where the op stands.
  for (Region* inner : operation->regions) {
    for (Block* body : inner->blocks) {
      for (Operation* implied : body->operations) {
        if (implied->location == context_.unknown_location()) implied->location = operation->location;
      }
    }
  }
  if (!names.empty() && total != static_cast<int64_t>(operation->results.size())) {
    return FailAt(
        begin, absl::StrCat(operation->name, " has ", operation->results.size(), " results, found names for ", total));
  }
  size_t next = 0;
  for (const Result& result : names) {
    const auto first = operation->results.begin() + static_cast<int64_t>(next);
    Define(result.name, std::vector<Value*>(first, first + result.count), result.offset);
    next += static_cast<size_t>(result.count);
  }
  block->operations.push_back(operation);
}

// (%a, %b)[^bb1] <{...}> ({...}, {...}) {...} : (T, T) -> T
void TextParser::ReadGeneric(Operation* operation) {
  Expect("(");
  operation->operands = Operands(")");
  if (Next("[")) {
    List("]", [&] {
      Expect("^");
      const absl::string_view label = lexer_.Run("_$.-");
      Block*& block = blocks_[label];
      if (block == nullptr) {
        block = context_.MakeBlock();
        block->parent = operation->parent;
      }
      operation->successors.push_back(block);
    });
  }
  if (Next("<{")) {
    AddAttributes(operation, Dictionary(), /*inherent=*/true);
    Expect(">");
  }
  const bool isolated = operation->name == "func.func" || operation->name == "builtin.module";
  if (Next("(")) List(")", [&] { ReadRegion(operation, {}, isolated); });
  if (Next("{")) AddAttributes(operation, Dictionary());
  Expect(":");
  FunctionalTypes(operation);
  const auto row = rows_.find(operation->name);
  const int regions = row == rows_.end() ? -1 : row->second->regions;
  if (ok() && regions >= 0 && operation->regions.size() != static_cast<size_t>(regions) &&
      operation->name != "func.func") {
    Fail(absl::StrCat(operation->name, " has ", operation->regions.size(), " regions, expected ", regions));
  }
}

// module @name attributes {...} {...}
void TextParser::ReadModuleOp(Operation* operation) {
  if (Peek() == '@') operation->attributes.push_back({"sym_name", Text(Symbol().root)});
  if (NextWord("attributes")) {
    Expect("{");
    AddAttributes(operation, Dictionary());
  }
  ReadRegion(operation, {}, /*isolated=*/true);
}

// func.func private @name(%a: T {...}) -> (T {...}) attributes {...} {...}
void TextParser::ReadFunction(Operation* operation) {
  auto& attributes = operation->attributes;
  for (absl::string_view visibility : {"public", "private", "nested"}) {
    if (NextWord(visibility)) attributes.push_back({"sym_visibility", Text(visibility)});
  }
  attributes.push_back({"sym_name", Text(Symbol().root)});
  FunctionType function;
  std::vector<Argument> arguments;
  bool any[2] = {false, false};
  ArrayAttribute dictionaries[2];
  const auto read_dictionary = [&](int which) {
    std::vector<NamedAttribute> entries;
    if (Next("{")) entries = Dictionary();
    any[which] |= !entries.empty();
    dictionaries[which].elements.push_back(context_.MakeAttribute(DictionaryAttribute{std::move(entries)}));
  };
  Expect("(");
  List(")", [&] {
    Argument argument{{}, nullptr, lexer_.offset()};
    if (Next("%")) {
      argument.name = lexer_.Run("_$.-");
      Expect(":");
    }
    argument.type = ReadType();
    read_dictionary(0);
    OptionalLocation();
    function.inputs.push_back(argument.type);
    arguments.push_back(argument);
  });
  if (Next("->")) {
    const bool several = Next("(");
    const auto read_result = [&] {
      function.results.push_back(ReadType());
      if (several) read_dictionary(1);
    };
    if (several) {
      List(")", read_result);
    } else {
      read_result();
    }
  }
  attributes.push_back(
      {"function_type", context_.MakeAttribute(TypeAttribute{context_.MakeType(std::move(function))})});
  for (int i = 0; i < 2; ++i) {
    if (any[i]) attributes.push_back({i == 0 ? "arg_attrs" : "res_attrs", context_.MakeAttribute(dictionaries[i])});
  }
  if (NextWord("attributes")) {
    Expect("{");
    AddAttributes(operation, Dictionary());
  }
  if (Peek() == '{') {
    ReadRegion(operation, arguments, /*isolated=*/true);
  } else {
    Region* region = MakeRegion(operation, {});  // A declaration.
    region->blocks.clear();
  }
}

Operation* TextParser::ReadModule() {
  Operation* holder = MakeOperation(nullptr, "builtin.module");
  Region* region = MakeRegion(holder, {});
  Block* block = region->blocks[0];
  while (ok() && !lexer_.AtEnd()) {
    const char next = Peek();
    if (next == '#' || next == '!') {
      SkipAliasDefinition();
    } else {
      ReadOperation(region, block);
    }
  }
  if (!ok()) return nullptr;
  if (block->operations.size() == 1 && block->operations[0]->name == "builtin.module") {
    block->operations[0]->parent = nullptr;
    return block->operations[0];
  }
  if (block->operations.empty()) return Fail("the text has no function"), nullptr;
  return holder;
}

absl::StatusOr<std::unique_ptr<Module>> ReadText(absl::string_view text, absl::string_view file_name) {
  auto module = std::make_unique<Module>();
  TextParser parser(module->context, module->context.Keep(std::string(text)), file_name);
  module->root = parser.ReadModule();
  KILN_RETURN_IF_ERROR(parser.status());
  return module;
}

absl::StatusOr<AttributeRef> ReadAttribute(absl::string_view text, absl::string_view file_name, Context& context) {
  TextParser parser(context, context.Keep(std::string(text)), file_name);
  const AttributeRef attribute = parser.ReadAttribute();
  if (parser.Peek() != '\0') parser.FailExpected("the end");
  KILN_RETURN_IF_ERROR(parser.status());
  return attribute;
}

}  // namespace kiln::mlir
