#include "src/runtime/ffi/attributes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "src/base/status.h"
#include "src/hlo/literal.h"

namespace kiln::runtime::ffi {
namespace {

using hlo::PrimitiveType;

constexpr int kMaxDepth = 64;
constexpr int64_t kMaxArrayBytes = int64_t{1} << 31;

struct Value {
  XLA_FFI_AttrType type;
  void* data;
};

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.';
}

XLA_FFI_DataType DataType(PrimitiveType type) { return static_cast<XLA_FFI_DataType>(type); }

}  // namespace

class AttributeParser {
 public:
  explicit AttributeParser(absl::string_view text) : text_(text), out_(new Attributes) {}

  absl::StatusOr<std::unique_ptr<Attributes>> Run() {
    SkipSpace();
    if (Done()) {
      out_->root_ = &Finish({});
      return std::move(out_);
    }
    KILN_ASSIGN_OR_RETURN(const XLA_FFI_Attrs* root, ParseDictionary(0));
    SkipSpace();
    if (!Done()) return Fail("the end");
    out_->root_ = root;
    return std::move(out_);
  }

 private:
  struct Entry {
    std::string name;
    Value value;
  };

  bool Done() const { return position_ == text_.size(); }
  char Peek() const { return Done() ? '\0' : text_[position_]; }
  void SkipSpace() {
    while (!Done() && absl::ascii_isspace(static_cast<unsigned char>(Peek()))) ++position_;
  }
  absl::Status Fail(absl::string_view expected) const {
    const absl::string_view rest = text_.substr(position_, 24);
    return InvalidArgument("the attribute dictionary has ", rest.empty() ? "its end" : absl::StrCat("'", rest, "'"),
                           " at character ", position_, ", expected ", expected);
  }
  // Takes `token` when it comes next.
  bool Take(absl::string_view token) {
    SkipSpace();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  absl::Status Expect(absl::string_view token) {
    return Take(token) ? absl::OkStatus() : Fail(absl::StrCat("'", token, "'"));
  }
  absl::string_view TakeName() {
    SkipSpace();
    const size_t begin = position_;
    while (IsNameCharacter(Peek())) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  absl::StatusOr<std::string> ParseString() {
    KILN_RETURN_IF_ERROR(Expect("\""));
    std::string value;
    while (true) {
      if (Done()) return Fail("a closing '\"'");
      const char c = text_[position_++];
      if (c == '"') return value;
      if (c != '\\') {
        value += c;
        continue;
      }
      const char escaped = Peek();
      if (escaped == '"' || escaped == '\\') {
        value += escaped;
      } else if (escaped == 'n' || escaped == 't') {
        value += escaped == 'n' ? '\n' : '\t';
      } else {
        const absl::string_view digits = text_.substr(position_, 2);
        if (digits.size() != 2 || !absl::ascii_isxdigit(static_cast<unsigned char>(digits[0])) ||
            !absl::ascii_isxdigit(static_cast<unsigned char>(digits[1]))) {
          return Fail("an escape sequence");
        }
        value += absl::HexStringToBytes(digits);
        ++position_;
      }
      ++position_;
    }
  }

  absl::StatusOr<PrimitiveType> ParseElementType() {
    if (Take("complex<")) {
      KILN_ASSIGN_OR_RETURN(const PrimitiveType part, ParseElementType());
      KILN_RETURN_IF_ERROR(Expect(">"));
      if (part == PrimitiveType::kF32) return PrimitiveType::kC64;
      if (part == PrimitiveType::kF64) return PrimitiveType::kC128;
      return Fail("a complex type of f32 or f64 before this");
    }
    const size_t begin = position_;
    std::string name = absl::AsciiStrToLower(TakeName());
    if (name == "i1") return PrimitiveType::kPred;
    if (name == "index") return PrimitiveType::kS64;
    // iN and siN are signed, uiN unsigned.
    if (name.size() > 1 && name[0] == 'i') name = "s" + name.substr(1);
    if (name.size() > 2 && (name.compare(0, 2, "si") == 0 || name.compare(0, 2, "ui") == 0)) name.erase(1, 1);
    const std::optional<PrimitiveType> type = hlo::ParsePrimitiveType(name);
    if (type.has_value() && hlo::IsArrayType(*type) && *type != PrimitiveType::kPred) return *type;
    position_ = begin;
    return Fail("an element type");
  }

  // One number or word as it is written, and its bits once the type is known.
  absl::StatusOr<absl::string_view> ParseNumber() {
    SkipSpace();
    const size_t begin = position_;
    if (Peek() == '-') ++position_;
    while (IsNameCharacter(Peek()) || ((Peek() == '+' || Peek() == '-') && IsExponent(text_[position_ - 1], begin))) {
      ++position_;
    }
    if (position_ == begin) return Fail("a number");
    return text_.substr(begin, position_ - begin);
  }
  bool IsExponent(char before, size_t begin) const {
    return (before == 'e' || before == 'E') && text_.substr(begin, 2) != "0x";
  }

  absl::Status AppendNumber(absl::string_view number, PrimitiveType type, std::string* bytes) {
    const size_t width = hlo::ByteWidth(type);
    const auto bad = [&] {
      return InvalidArgument("the attribute dictionary has '", number, "', expected a number of type ",
                             hlo::PrimitiveTypeName(type));
    };
    if (type == PrimitiveType::kPred) {
      if (number != "true" && number != "false" && number != "0" && number != "1") return bad();
      bytes->push_back(number == "true" || number == "1" ? 1 : 0);
      return absl::OkStatus();
    }
    absl::string_view digits = number;
    const bool negative = !digits.empty() && digits[0] == '-';
    if (negative) digits.remove_prefix(1);
    const bool hex = digits.substr(0, 2) == "0x";
    uint64_t magnitude = 0;
    const bool is_integer = ParseUnsigned(hex ? digits.substr(2) : digits, hex ? 16 : 10, &magnitude);
    if (hex || hlo::IsIntegral(type)) {  // for floats, hex digits are the bits
      if (!is_integer) return bad();
      const int bits = hlo::BitWidth(type);
      const bool is_signed = hlo::IsSignedIntegral(type);
      const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      const uint64_t limit = negative ? (is_signed ? all / 2 + 1 : 0) : is_signed && !hex ? all / 2 : all;
      if (magnitude > limit) return bad();
      const uint64_t value = negative ? -magnitude : magnitude;
      bytes->append(reinterpret_cast<const char*>(&value), width);
      return absl::OkStatus();
    }
    double value = 0;
    if (!absl::SimpleAtod(number, &value) || !std::isdigit(static_cast<unsigned char>(digits[0]))) return bad();
    if (type == PrimitiveType::kF32) {
      // Rounded once, from the digits.
      float narrow = 0;
      if (!absl::SimpleAtof(number, &narrow)) return bad();
      bytes->append(reinterpret_cast<const char*>(&narrow), sizeof(narrow));
      return absl::OkStatus();
    }
    const hlo::Literal literal = hlo::LiteralOf(hlo::Shape::Scalar(type), value);
    bytes->append(reinterpret_cast<const char*>(literal.bytes().data()), width);
    return absl::OkStatus();
  }

  static bool ParseUnsigned(absl::string_view digits, int base, uint64_t* value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *value, base);
    return !digits.empty() && error == std::errc() && end == digits.data() + digits.size();
  }

  // A number, or a pair of them where the type is complex.
  absl::Status ParseElement(PrimitiveType type, std::string* bytes) {
    if (static_cast<int64_t>(bytes->size()) > kMaxArrayBytes) return ResourceExhausted("an attribute is too large");
    if (!hlo::IsComplex(type)) {
      KILN_ASSIGN_OR_RETURN(const absl::string_view number, ParseNumber());
      return AppendNumber(number, type, bytes);
    }
    const PrimitiveType part = hlo::ComplexComponentType(type);
    KILN_RETURN_IF_ERROR(Expect("("));
    KILN_RETURN_IF_ERROR(ParseElement(part, bytes));
    KILN_RETURN_IF_ERROR(Expect(","));
    KILN_RETURN_IF_ERROR(ParseElement(part, bytes));
    return Expect(")");
  }

  Value MakeScalar(PrimitiveType type, std::string bytes) {
    out_->bytes_.push_back(std::move(bytes));
    out_->scalars_.push_back({DataType(type), out_->bytes_.back().data()});
    return {XLA_FFI_AttrType_SCALAR, &out_->scalars_.back()};
  }
  Value MakeArray(PrimitiveType type, std::string bytes) {
    const size_t size = bytes.size() / hlo::ByteWidth(type);
    out_->bytes_.push_back(std::move(bytes));
    out_->arrays_.push_back({DataType(type), size, out_->bytes_.back().data()});
    return {XLA_FFI_AttrType_ARRAY, &out_->arrays_.back()};
  }
  XLA_FFI_ByteSpan* MakeSpan(std::string bytes) {
    out_->bytes_.push_back(std::move(bytes));
    out_->spans_.push_back({out_->bytes_.back().data(), out_->bytes_.back().size()});
    return &out_->spans_.back();
  }

  // array<i64: 1, 2>
  absl::StatusOr<Value> ParseDenseArray() {
    KILN_ASSIGN_OR_RETURN(const PrimitiveType type, ParseElementType());
    std::string bytes;
    if (Take(":")) {
      do {
        KILN_RETURN_IF_ERROR(ParseElement(type, &bytes));
      } while (Take(","));
    }
    KILN_RETURN_IF_ERROR(Expect(">"));
    return MakeArray(type, std::move(bytes));
  }

  // dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>, dense<"0x...">, dense<1> for a splat. The type comes last.
  absl::StatusOr<Value> ParseDense() {
    const size_t begin = position_;
    // To the end of the elements: they hold no '>'.
    if (Take("\"")) position_ = std::min(text_.find('"', position_), text_.size() - 1) + 1;
    position_ = std::min(text_.find('>', position_), text_.size());
    KILN_RETURN_IF_ERROR(Expect(">"));
    KILN_RETURN_IF_ERROR(Expect(":"));
    if (!Take("tensor<") && !Take("vector<")) return Fail("'tensor<'");
    int64_t count = 1;
    while (absl::ascii_isdigit(static_cast<unsigned char>(Peek()))) {
      const size_t end = std::min(text_.find('x', position_), text_.size());
      uint64_t size = 0;
      if (!ParseUnsigned(text_.substr(position_, end - position_), 10, &size) || size > kMaxArrayBytes ||
          __builtin_mul_overflow(count, static_cast<int64_t>(size), &count)) {
        return Fail("a dimension");
      }
      position_ = end;
      KILN_RETURN_IF_ERROR(Expect("x"));
    }
    KILN_ASSIGN_OR_RETURN(const PrimitiveType type, ParseElementType());
    KILN_RETURN_IF_ERROR(Expect(">"));
    const int64_t width = hlo::ByteWidth(type);
    if (count > kMaxArrayBytes / width) return ResourceExhausted("an attribute of ", count, " elements is too large");
    const size_t after = std::exchange(position_, begin);
    KILN_ASSIGN_OR_RETURN(std::string bytes, ParseDenseElements(type));
    KILN_RETURN_IF_ERROR(Expect(">"));
    position_ = after;
    if (static_cast<int64_t>(bytes.size()) == width && count != 1) {
      std::string splat;
      splat.reserve(count * width);
      for (int64_t i = 0; i < count; ++i) splat += bytes;
      bytes = std::move(splat);
    }
    if (static_cast<int64_t>(bytes.size()) != count * width) {
      return InvalidArgument("an attribute has ", bytes.size() / width, " elements, its type ", count);
    }
    return MakeArray(type, std::move(bytes));
  }

  absl::StatusOr<std::string> ParseDenseElements(PrimitiveType type) {
    std::string bytes;
    SkipSpace();
    if (Peek() == '>') return bytes;
    if (Peek() == '"') {
      KILN_ASSIGN_OR_RETURN(const std::string digits, ParseString());
      if (digits.substr(0, 2) != "0x" || digits.size() % 2 != 0 ||
          digits.find_first_not_of("0123456789abcdefABCDEF", 2) != std::string::npos) {
        return Fail("hexadecimal digits before this");
      }
      return absl::HexStringToBytes(absl::string_view(digits).substr(2));
    }
    // The nesting says nothing that the type does not.
    int depth = 0;
    do {
      while (Take("[")) {
        if (++depth > kMaxDepth) return Fail("fewer levels");
      }
      SkipSpace();
      if (Peek() != ']') KILN_RETURN_IF_ERROR(ParseElement(type, &bytes));
      while (Take("]")) --depth;
    } while (Take(","));
    if (depth != 0) return Fail("']'");
    return bytes;
  }

  absl::StatusOr<Value> ParseValue(int depth) {
    SkipSpace();
    if (Peek() == '"') {
      KILN_ASSIGN_OR_RETURN(std::string text, ParseString());
      return Value{XLA_FFI_AttrType_STRING, MakeSpan(std::move(text))};
    }
    if (Peek() == '{') {
      KILN_ASSIGN_OR_RETURN(const XLA_FFI_Attrs* dictionary, ParseDictionary(depth + 1));
      return Value{XLA_FFI_AttrType_DICTIONARY, const_cast<XLA_FFI_Attrs*>(dictionary)};
    }
    if (Take("array<")) return ParseDenseArray();
    if (Take("dense<")) return ParseDense();
    if (Take("@")) {
      const bool quoted = Peek() == '"';
      std::string name(quoted ? "" : TakeName());
      if (quoted) {
        KILN_ASSIGN_OR_RETURN(name, ParseString());
      }
      return Value{XLA_FFI_AttrType_STRING, MakeSpan(std::move(name))};
    }
    const char first = Peek();
    if (!absl::ascii_isdigit(static_cast<unsigned char>(first)) && first != '-' && first != 't' && first != 'f') {
      return Fail("a number, a string, an array or a dictionary");
    }
    KILN_ASSIGN_OR_RETURN(const absl::string_view number, ParseNumber());
    PrimitiveType type = PrimitiveType::kS64;
    if (number == "true" || number == "false") {
      type = PrimitiveType::kPred;
    } else if (number.find_first_of(".eE") != absl::string_view::npos && number.substr(0, 2) != "0x") {
      type = PrimitiveType::kF64;
    }
    if (Take(":")) {
      KILN_ASSIGN_OR_RETURN(type, ParseElementType());
    }
    std::string bytes;
    KILN_RETURN_IF_ERROR(AppendNumber(number, type, &bytes));
    return MakeScalar(type, std::move(bytes));
  }

  absl::StatusOr<const XLA_FFI_Attrs*> ParseDictionary(int depth) {
    if (depth > kMaxDepth) return Fail(absl::StrCat("at most ", kMaxDepth, " nested dictionaries"));
    KILN_RETURN_IF_ERROR(Expect("{"));
    std::vector<Entry> entries;
    SkipSpace();
    while (Peek() != '}') {
      Entry entry;
      if (Peek() == '"') {
        KILN_ASSIGN_OR_RETURN(entry.name, ParseString());
      } else {
        entry.name = TakeName();
      }
      if (entry.name.empty()) return Fail("the name of an attribute");
      KILN_RETURN_IF_ERROR(Expect("="));
      KILN_ASSIGN_OR_RETURN(entry.value, ParseValue(depth));
      entries.push_back(std::move(entry));
      if (!Take(",")) break;
      SkipSpace();
    }
    KILN_RETURN_IF_ERROR(Expect("}"));
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
    for (size_t i = 1; i < entries.size(); ++i) {
      if (entries[i - 1].name == entries[i].name) {
        return InvalidArgument("the attribute dictionary has two values for '", entries[i].name, "'");
      }
    }
    return &Finish(entries);
  }

  const XLA_FFI_Attrs& Finish(const std::vector<Entry>& entries) {
    Attributes::Dictionary& dictionary = out_->dictionaries_.emplace_back();
    for (const Entry& entry : entries) {
      dictionary.types.push_back(entry.value.type);
      dictionary.names.push_back(MakeSpan(entry.name));
      dictionary.values.push_back(entry.value.data);
    }
    dictionary.view = {.struct_size = XLA_FFI_Attrs_STRUCT_SIZE,
                       .size = static_cast<int64_t>(entries.size()),
                       .types = dictionary.types.data(),
                       .names = dictionary.names.data(),
                       .attrs = dictionary.values.data()};
    return dictionary.view;
  }

  absl::string_view text_;
  size_t position_ = 0;
  std::unique_ptr<Attributes> out_;
};

absl::StatusOr<std::unique_ptr<Attributes>> Attributes::Parse(absl::string_view text) {
  return AttributeParser(text).Run();
}

}  // namespace kiln::runtime::ffi
