// The cursor, aliases and types.
#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "src/frontend/mlir/text_parser.h"

namespace kiln::mlir {

TextParser::TextParser(Context& context, absl::string_view text, absl::string_view file_name)
    : context_(context), text_(text), file_name_(file_name), lexer_(text, file_name) {
  // The newest version stands last.
  for (const VhloOp& row : VhloOps()) rows_[row.tree_name] = &row;
  FindAliases();
}

void TextParser::FailAt(size_t offset, absl::string_view message) {
  if (status_.ok()) status_ = lexer_.Error(offset, message);
  lexer_.Rewind(text_.size());
}

void TextParser::Fail(absl::string_view message) { FailAt(lexer_.offset(), message); }

void TextParser::FailExpected(absl::string_view what) {
  if (status_.ok()) status_ = lexer_.Expected(what);
  lexer_.Rewind(text_.size());
}

absl::string_view TextParser::PeekWord() {
  const size_t begin = lexer_.offset();
  if (begin == text_.size() || !(absl::ascii_isalpha(text_[begin]) || text_[begin] == '_')) return {};
  const absl::string_view word = lexer_.Run("_$.");
  lexer_.Rewind(begin);
  return word;
}

bool TextParser::NextWord(absl::string_view word) {
  if (PeekWord() != word) return false;
  lexer_.Rewind(lexer_.offset() + word.size());
  return true;
}

void TextParser::Expect(absl::string_view piece) {
  if (!lexer_.Consume(piece)) FailExpected(absl::StrCat("'", piece, "'"));
}

absl::string_view TextParser::Word(absl::string_view what, bool quoted) {
  if (quoted && Peek() == '"') return String();
  const absl::string_view word = PeekWord();
  if (word.empty()) {
    FailExpected(what);
  } else {
    lexer_.Rewind(lexer_.offset() + word.size());
  }
  return word;
}

absl::string_view TextParser::String() {
  const size_t begin = lexer_.offset();
  if (Peek() != '"') {
    FailExpected("a string");
    return {};
  }
  size_t end = begin + 1;
  bool escaped = false;
  for (; end < text_.size() && text_[end] != '"' && text_[end] != '\n'; ++end) {
    if (text_[end] != '\\') continue;
    escaped = true;
    ++end;
  }
  if (end >= text_.size() || text_[end] != '"') {
    FailAt(begin, "unterminated string");
    return {};
  }
  lexer_.Rewind(end + 1);
  const absl::string_view raw = text_.substr(begin + 1, end - begin - 1);
  if (!escaped) return raw;
  std::string value;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      value.push_back(raw[i]);
      continue;
    }
    const char next = i + 1 < raw.size() ? raw[i + 1] : '\0';
    if (next == '"' || next == '\\' || next == 'n' || next == 't') {
      value.push_back(next == 'n' ? '\n' : next == 't' ? '\t' : next);
      ++i;
    } else if (i + 2 < raw.size() && absl::ascii_isxdigit(next) && absl::ascii_isxdigit(raw[i + 2])) {
      value += absl::HexStringToBytes(raw.substr(i + 1, 2));
      i += 2;
    } else {
      FailAt(begin + 1 + i, "unknown escape in a string");
      return {};
    }
  }
  return context_.Keep(std::move(value));
}

int64_t TextParser::Integer(absl::string_view what) {
  if (!ok()) return 0;
  const absl::StatusOr<int64_t> value = lexer_.Integer(what);
  if (value.ok()) return *value;
  status_ = value.status();
  lexer_.Rewind(text_.size());
  return 0;
}

absl::string_view TextParser::Balanced() {
  const size_t begin = lexer_.position();
  std::string open = "<";  // Only the number of open brackets matters to skip over them.
  for (size_t i = begin; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '"') {
      for (++i; i < text_.size() && text_[i] != '"'; ++i) i += text_[i] == '\\';
    } else if (c == '<' || c == '(' || c == '[' || c == '{') {
      open.push_back(c);
    } else if (c == '>' && text_[i - 1] == '-') {
      continue;
    } else if (c == '>' || c == ')' || c == ']' || c == '}') {
      open.pop_back();
      if (!open.empty()) continue;
      lexer_.Rewind(i + 1);
      return text_.substr(begin, i - begin);
    }
  }
  FailAt(begin, "no bracket closes this one");
  return {};
}

void TextParser::AddWeight(uint64_t nodes) {
  constexpr uint64_t kMaxShared = uint64_t{1} << 24;
  weight_ += nodes;
  if (weight_ > kMaxShared + text_.size()) Fail("the aliases of the program stand for too large a tree");
}

// Definitions stand on lines of their own: "#name = " or "!name = ". The resources end the file.
void TextParser::FindAliases() {
  size_t resources = absl::string_view::npos;
  for (size_t line = 0; line < text_.size();) {
    const size_t end = std::min(text_.find('\n', line), text_.size());
    const size_t begin = std::min(text_.find_first_not_of(" \t\r", line), end);
    line = end + 1;
    const char mark = begin < end ? text_[begin] : '\0';
    if (mark == '{' && absl::StartsWith(text_.substr(begin), "{-#")) resources = begin;
    if (mark != '#' && mark != '!') continue;
    size_t stop = begin + 1;
    while (stop < end && (absl::ascii_isalnum(text_[stop]) || text_[stop] == '_' || text_[stop] == '-')) ++stop;
    const size_t equals = text_.find_first_not_of(" \t", stop);
    if (stop == begin + 1 || equals == absl::string_view::npos || equals >= end || text_[equals] != '=') continue;
    if (text_.substr(equals, 2) == "==") continue;
    aliases_.try_emplace(text_.substr(begin, stop - begin), Alias{equals + 1});
  }
  if (resources != absl::string_view::npos) ReadResources(resources);
}

// {-# dialect_resources: { builtin: { key: "0x...", ... } }, external_resources: {...} #-}
void TextParser::ReadResources(size_t offset) {
  lexer_.Rewind(offset);
  Expect("{-#");
  while (ok() && !Next("#-}")) {
    const absl::string_view section = Word("a section of resources");
    Expect(":");
    Expect("{");
    List("}", [&] {
      const absl::string_view owner = Word("a dialect", /*quoted=*/true);
      Expect(":");
      Expect("{");
      List("}", [&] {
        const absl::string_view key = Word("the key of a resource", /*quoted=*/true);
        Expect(":");
        if (Peek() != '"') {  // External resources may be booleans and numbers.
          lexer_.Run("_");
          return;
        }
        const absl::string_view value = String();
        if (section == "dialect_resources" && owner == "builtin") resources_[key] = value;
      });
    });
    Next(",");
  }
  text_ = text_.substr(0, offset);
  lexer_ = hlo_text::Lexer(text_, file_name_);
}

const void* TextParser::ResolveAlias(absl::string_view name) {
  const auto found = aliases_.find(name);
  if (found == aliases_.end()) return nullptr;
  Alias& alias = found->second;
  if (alias.reading) {
    Fail(absl::StrCat("the alias ", name, " is part of its own definition"));
    return nullptr;
  }
  if (alias.node == nullptr) {
    alias.reading = true;
    const size_t here = lexer_.position();
    const uint64_t before = weight_;
    lexer_.Rewind(alias.begin);
    const void* node = name[0] == '!' ? static_cast<const void*>(ReadType()) : ReadAttribute();
    if (!ok()) return nullptr;
    // Reading may have moved the table's entries.
    Alias& done = aliases_.at(name);
    done = {done.begin, lexer_.position(), weight_ - before, false, node};
    lexer_.Rewind(here);
    return node;
  }
  AddWeight(alias.weight);
  return alias.node;
}

void TextParser::SkipAliasDefinition() {
  const size_t begin = lexer_.offset();
  lexer_.Rewind(begin + 1);
  const absl::string_view rest = lexer_.Run("_-");
  const absl::string_view name(text_.data() + begin, rest.size() + 1);
  if (ResolveAlias(name) == nullptr) return FailAt(begin, "expected the definition of an alias");
  lexer_.Rewind(aliases_.at(name).end);
}

TypeRef TextParser::ReadType() {
  const Guard guard(*this);
  const TypeRef type = ok() ? ReadTypeUnguarded() : nullptr;
  return ok() && type != nullptr ? type : context_.none_type();
}

std::vector<int64_t> TextParser::Dims() {
  std::vector<int64_t> dims;
  while (ok()) {
    if (Next("?")) {
      dims.push_back(kDynamicSize);
    } else if (absl::ascii_isdigit(static_cast<unsigned char>(Peek()))) {
      dims.push_back(Integer("a dimension"));
    } else {
      break;
    }
    Expect("x");
    if (dims.size() > 256) Fail("a type of more than 256 dimensions");
  }
  return dims;
}

TypeRef TextParser::ReadTensor() {
  TensorType tensor;
  if (Next("*")) {
    tensor.ranked = false;
    Expect("x");
  } else {
    tensor.dims = Dims();
  }
  tensor.element = ReadType();
  if (Next(",")) {
    tensor.encoding = ReadAttribute();
    const StructAttribute* encoding = tensor.encoding->As<StructAttribute>();
    if (encoding != nullptr && absl::EndsWith(encoding->name, ".bounds")) {
      tensor.bounds = AsIntegers(Find(encoding->fields, "bounds")).value_or(std::vector<int64_t>{});
      tensor.encoding = nullptr;
      if (tensor.bounds.size() != tensor.dims.size()) Fail("bounds of another rank than the tensor");
    }
  }
  Expect(">");
  return context_.MakeType(std::move(tensor));
}

// After '<': i8:f32, 0.5:3>, u8<1:255>:f32:1, {0.1:-30, 0.5:2}>
TypeRef TextParser::ReadQuantized() {
  QuantizedType quantized;
  const absl::string_view storage = PeekWord();
  uint32_t width = 0;
  if (storage.size() < 2 || (storage[0] != 'i' && storage[0] != 'u') || !absl::SimpleAtoi(storage.substr(1), &width) ||
      width < 1 || width > 32) {
    FailExpected("the stored type, as i8 or u8");
    return nullptr;
  }
  lexer_.Rewind(lexer_.offset() + storage.size());
  quantized.is_signed = storage[0] == 'i';
  const int64_t values = int64_t{1} << width;
  quantized.storage_min = quantized.is_signed ? -values / 2 : 0;
  quantized.storage_max = quantized.is_signed ? values / 2 - 1 : values - 1;
  quantized.storage = context_.MakeType(IntegerType{width});
  if (Next("<")) {
    quantized.storage_min = Integer("the least stored value");
    Expect(":");
    quantized.storage_max = Integer("the largest stored value");
    Expect(">");
  }
  Expect(":");
  quantized.expressed = ReadType();
  if (Next(":")) {
    quantized.axis = Integer("the quantized dimension");
    if (quantized.axis < 0) Fail("a quantized dimension is at least 0");
  }
  Expect(",");
  const auto read_scale = [&] {
    const size_t begin = lexer_.offset();
    double scale = 0;
    if (!absl::SimpleAtod(lexer_.Run("+-."), &scale)) return FailAt(begin, "expected a scale");
    quantized.scales.push_back(scale);
    quantized.zero_points.push_back(Next(":") ? Integer("a zero point") : 0);
  };
  if (quantized.axis >= 0) {
    Expect("{");
    List("}", read_scale);
  } else {
    read_scale();
  }
  Expect(">");
  return context_.MakeType(std::move(quantized));
}

std::vector<TypeRef> TextParser::Types() {
  std::vector<TypeRef> types;
  do {
    types.push_back(ReadType());
  } while (ok() && Next(","));
  return types;
}

std::vector<TypeRef> TextParser::ResultTypes() {
  std::vector<TypeRef> types;
  if (!Next("(")) return {ReadType()};
  List(")", [&] { types.push_back(ReadType()); });
  return types;
}

TypeRef TextParser::ReadTypeUnguarded() {
  if (Next("(")) {
    FunctionType function;
    List(")", [&] { function.inputs.push_back(ReadType()); });
    Expect("->");
    function.results = ResultTypes();
    return context_.MakeType(std::move(function));
  }
  const size_t begin = lexer_.offset();
  if (Next("!")) {
    lexer_.Run("_$.-");
    const absl::string_view name = text_.substr(begin, lexer_.position() - begin);
    if (name == "!stablehlo.token" || name == "!mhlo.token") return context_.MakeType(TokenType{});
    if (name == "!shape.witness") return context_.MakeType(WitnessType{});
    if (name == "!quant.uniform") return Expect("<"), ReadQuantized();
    if (name == "!stablehlo.future") {
      FutureType future;
      Expect("<");
      List(">", [&] { future.elements.push_back(ReadType()); });
      return context_.MakeType(std::move(future));
    }
    if (const void* alias = ResolveAlias(name)) return static_cast<TypeRef>(alias);
    if (!absl::StrContains(name, '.')) return FailAt(begin, absl::StrCat("no type is named ", name)), nullptr;
    if (Next("<")) Balanced();
    return context_.MakeType(OpaqueType{text_.substr(begin, lexer_.position() - begin)});
  }
  absl::string_view word = PeekWord();
  FloatKind kind;
  if (FloatKindFromName(word, kind)) return lexer_.Rewind(begin + word.size()), context_.MakeType(FloatType{kind});
  if (NextWord("index")) return context_.MakeType(IndexType{});
  if (NextWord("none")) return context_.none_type();
  if (NextWord("tensor")) return Expect("<"), ReadTensor();
  if (NextWord("complex")) {
    Expect("<");
    const TypeRef element = ReadType();
    Expect(">");
    return context_.MakeType(ComplexType{element});
  }
  if (NextWord("tuple")) {
    TupleType tuple;
    Expect("<");
    List(">", [&] { tuple.elements.push_back(ReadType()); });
    return context_.MakeType(std::move(tuple));
  }
  for (const bool is_vector : {true, false}) {
    if (!NextWord(is_vector ? "vector" : "memref")) continue;
    Expect("<");
    std::vector<int64_t> dims = Dims();
    const TypeRef element = ReadType();
    Expect(">");
    return is_vector ? context_.MakeType(VectorType{std::move(dims), element})
                     : context_.MakeType(BufferType{std::move(dims), element});
  }
  IntegerType integer;
  absl::string_view digits = word;
  if (absl::ConsumePrefix(&digits, "si")) {
    integer.signedness = Signedness::kSigned;
  } else if (absl::ConsumePrefix(&digits, "ui")) {
    integer.signedness = Signedness::kUnsigned;
  } else {
    absl::ConsumePrefix(&digits, "i");
  }
  constexpr uint32_t kMaxIntegerWidth = 1 << 16;
  if (digits.size() < word.size() && absl::SimpleAtoi(digits, &integer.width) && integer.width <= kMaxIntegerWidth) {
    lexer_.Rewind(begin + word.size());
    return context_.MakeType(integer);
  }
  FailExpected("a type");
  return nullptr;
}

}  // namespace kiln::mlir
