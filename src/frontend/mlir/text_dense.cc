// Elements: dense<...>, dense_resource<...>, array<...>, and the bits of numbers.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "src/frontend/mlir/dense.h"
#include "src/frontend/mlir/text_parser.h"

namespace kiln::mlir {
namespace {

void AppendBytes(uint64_t bits, int64_t bytes, std::string& data) {
  for (int64_t i = 0; i < bytes; ++i) data.push_back(static_cast<char>(i < 8 ? bits >> (8 * i) : 0));
}

// The whole token as a number of `T`; false when it is none.
template <typename T, typename... Base>
bool Parse(absl::string_view token, T& value, Base... base) {
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value, base...);
  if constexpr (std::is_floating_point_v<T>) {
    // Out of range is infinity or zero, as the text says.
    if (error == std::errc::result_out_of_range)
      value = static_cast<T>(std::strtod(std::string(token).c_str(), nullptr));
    return error != std::errc::invalid_argument && end == token.data() + token.size();
  }
  return error == std::errc() && end == token.data() + token.size();
}

}  // namespace

uint64_t TextParser::FloatBits(FloatKind kind, absl::string_view token) {
  const size_t begin = token.data() - text_.data();
  uint64_t bits = 0;
  if (absl::StartsWith(token, "0x")) {
    const int width = FloatWidth(kind);
    if (!Parse(token.substr(2), bits, 16) || (width < 64 && bits >> width != 0)) {
      FailAt(begin, absl::StrCat("expected the ", width, " bits of a ", FloatName(kind)));
    }
    return bits;
  }
  float single = 0;
  double value = 0;
  if (!Parse(token, value)) return FailExpected("a number"), 0;
  if (kind == FloatKind::kF64) return std::bit_cast<uint64_t>(value);
  if (kind == FloatKind::kF32) return Parse(token, single), std::bit_cast<uint32_t>(single);
  if (const std::optional<uint64_t> narrow = EncodeNarrow(kind, value)) return *narrow;
  FailAt(begin, absl::StrCat("decimal numbers of type ", FloatName(kind), " are not supported"));
  return 0;
}

uint64_t TextParser::IntegerBits(const Type& type, absl::string_view token) {
  const size_t begin = token.data() - text_.data();
  const IntegerType* integer = type.As<IntegerType>();
  if (integer == nullptr && type.As<IndexType>() == nullptr) {
    FailAt(begin, "an integer of a type that is none");
    return 0;
  }
  const uint32_t width = integer == nullptr ? 64 : integer->width;
  const Signedness sign = integer == nullptr ? Signedness::kSignless : integer->signedness;
  if (width == 0 || width > 64) {
    FailAt(begin, absl::StrCat("numbers of ", width, " bits are not supported"));
    return 0;
  }
  absl::string_view digits = token;
  const bool negative = absl::ConsumePrefix(&digits, "-");
  const bool hex = absl::ConsumePrefix(&digits, "0x");
  uint64_t magnitude = 0;
  if (!Parse(digits, magnitude, hex ? 16 : 10)) {
    if (token.empty()) return FailExpected("an integer"), 0;
    FailAt(begin, "expected an integer of up to 64 bits");
    return 0;
  }
  const uint64_t half = uint64_t{1} << (width - 1);
  const uint64_t largest = sign == Signedness::kSigned ? half - 1 : half - 1 + half;
  if (negative ? sign == Signedness::kUnsigned || magnitude > half : magnitude > largest) {
    FailAt(begin, absl::StrCat(token, " does not fit ", width, " bits"));
  }
  uint64_t bits = negative ? 0 - magnitude : magnitude;
  if (width == 64) return bits;
  bits <<= 64 - width;
  return sign == Signedness::kUnsigned ? bits >> (64 - width)
                                       : static_cast<uint64_t>(static_cast<int64_t>(bits) >> (64 - width));
}

void TextParser::ReadElement(const Type& element, std::string& data) {
  const int64_t bytes = ElementByteSize(element);
  if (const ComplexType* complex = element.As<ComplexType>()) {
    Expect("(");
    ReadElement(*complex->element, data);
    Expect(",");
    ReadElement(*complex->element, data);
    return Expect(")");
  }
  if (NextWord("true")) return AppendBytes(1, bytes, data);
  if (NextWord("false")) return AppendBytes(0, bytes, data);
  const absl::string_view token = lexer_.Run("+-.");
  const FloatType* real = element.As<FloatType>();
  const QuantizedType* quantized = element.As<QuantizedType>();
  uint64_t bits = real != nullptr ? FloatBits(real->kind, token)
                                  : IntegerBits(quantized != nullptr ? *quantized->storage : element, token);
  // A byte of a boolean is 0 or 1; narrower numbers keep their sign's copies.
  if (element.IsInteger(1)) bits &= 1;
  AppendBytes(bits, bytes, data);
}

void TextParser::ReadElements(const std::vector<int64_t>& dims, size_t dim, const Type& element, std::string& data) {
  if (!ok()) return;
  if (dim == dims.size()) return ReadElement(element, data);
  const size_t begin = lexer_.offset();
  Expect("[");
  int64_t count = 0;
  List("]", [&] {
    ReadElements(dims, dim + 1, element, data);
    ++count;
  });
  if (ok() && count != dims[dim]) {
    FailAt(begin, absl::StrCat("expected ", dims[dim], " elements along dimension ", dim, ", found ", count));
  }
}

std::string TextParser::HexBytes(absl::string_view digits) {
  if (!absl::ConsumePrefix(&digits, "0x") || digits.size() % 2 != 0 ||
      digits.find_first_not_of("0123456789abcdefABCDEF") != absl::string_view::npos) {
    Fail("expected bytes as \"0x\" and pairs of hexadecimal digits");
    return {};
  }
  return absl::HexStringToBytes(digits);
}

AttributeRef TextParser::StringElements(TypeRef type) {
  DenseStringAttribute strings;
  strings.type = type;
  const TensorType* tensor = type->As<TensorType>();
  const std::optional<int64_t> count = tensor != nullptr ? ElementCount(tensor->dims) : std::nullopt;
  int open = 0;
  while (ok() && Peek() != '>') {
    if (Next("[")) {
      ++open;
    } else if (Next("]")) {
      --open;
    } else {
      strings.values.push_back(String());
    }
    Next(",");
  }
  const bool splat = strings.values.size() == 1;
  if (ok() && (open != 0 || !count.has_value() || (!splat && static_cast<uint64_t>(*count) != strings.values.size()))) {
    Fail("the strings do not fill the shape of the attribute");
  }
  return context_.MakeAttribute(std::move(strings));
}

// The type follows the elements: they are skipped first and read then.
AttributeRef TextParser::ReadDense() {
  Expect("<");
  const size_t begin = lexer_.offset();
  Balanced();
  Expect(":");
  const TypeRef type = ReadType();
  const size_t end = lexer_.position();
  if (!ok()) return nullptr;
  lexer_.Rewind(begin);
  const absl::StatusOr<DenseShape> shape = DenseShapeOf(*type);
  const bool opaque = !shape.ok() || shape->element->As<OpaqueType>() != nullptr;
  AttributeRef attribute = nullptr;
  if (opaque && (Peek() == '"' || Peek() == '[')) {
    attribute = StringElements(type);
  } else if (!shape.ok()) {
    Fail(shape.status().message());
  } else if (Peek() == '"') {
    const absl::string_view digits = String();
    absl::StatusOr<AttributeRef> dense = DenseFromBytes(context_, type, context_.Keep(HexBytes(digits)));
    if (!dense.ok()) return FailAt(begin, dense.status().message()), nullptr;
    attribute = *dense;
  } else {
    DenseAttribute dense;
    dense.type = type;
    std::string data;
    if (Peek() == '>') {
      if (shape->count != 0) Fail(absl::StrCat("expected ", shape->count, " elements, found none"));
    } else if (Peek() != '[' && !shape->dims->empty()) {
      ReadElement(*shape->element, data);
      dense.splat = true;
      if (shape->count == 0) data.clear();
    } else {
      ReadElements(*shape->dims, 0, *shape->element, data);
    }
    dense.splat = shape->count != 0 && data.size() == static_cast<size_t>(shape->element_bytes);
    dense.data = context_.Keep(std::move(data));
    attribute = context_.MakeAttribute(std::move(dense));
  }
  Expect(">");
  if (ok()) lexer_.Rewind(end);
  return attribute;
}

AttributeRef TextParser::ReadDenseResource() {
  Expect("<");
  const size_t begin = lexer_.offset();
  const absl::string_view key = Word("the key of a resource", /*quoted=*/true);
  Expect(">");
  Expect(":");
  const TypeRef type = ReadType();
  if (!ok()) return nullptr;
  const auto resource = resources_.find(key);
  if (resource == resources_.end()) {
    FailAt(begin, key == "__elided__" ? "the elements of this constant were left out when the program was printed"
                                      : "the text has no resource of this key");
    return nullptr;
  }
  std::string bytes = HexBytes(resource->second);
  constexpr size_t kAlignmentBytes = 4;
  if (bytes.size() < kAlignmentBytes) return FailAt(begin, "a resource begins with 4 bytes of alignment"), nullptr;
  absl::StatusOr<AttributeRef> dense =
      DenseFromBytes(context_, type, context_.Keep(std::move(bytes)).substr(kAlignmentBytes));
  if (!dense.ok()) return FailAt(begin, dense.status().message()), nullptr;
  return *dense;
}

AttributeRef TextParser::ReadDenseArray() {
  Expect("<");
  DenseArrayAttribute array;
  array.element = ReadType();
  if (ok() && (array.element->As<ComplexType>() != nullptr || ElementByteSize(*array.element) <= 0)) {
    Fail("expected an array of integers or floats");
  }
  std::string data;
  const auto read = [&] {
    ReadElement(*array.element, data);
    ++array.size;
  };
  if (!Next(":")) {
    Expect(">");
  } else {
    List(">", read);
  }
  array.data = context_.Keep(std::move(data));
  return context_.MakeAttribute(std::move(array));
}

}  // namespace kiln::mlir
