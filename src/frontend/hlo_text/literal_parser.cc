#include "src/frontend/hlo_text/literal_parser.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"

namespace kiln::hlo_text {
namespace {

using hlo::Literal;
using hlo::PrimitiveType;
using hlo::Shape;

// Appends the elements of one array to a byte vector as they are read.
class ArrayReader {
 public:
  ArrayReader(Lexer& lexer, const Shape& shape) : lexer_(lexer), shape_(shape), type_(shape.element_type()) {}

  absl::StatusOr<Literal> Read() {
    const size_t start = lexer_.offset();
    if (shape_.rank() == 0) {
      KILN_RETURN_IF_ERROR(ReadElement());
    } else if (shape_.element_count() == 0) {
      KILN_RETURN_IF_ERROR(SkipEmptyBraces());
    } else {
      KILN_RETURN_IF_ERROR(ReadRow(0));
    }
    absl::StatusOr<Literal> literal = Literal::FromBytes(shape_, bytes_);
    if (!literal.ok()) return lexer_.Locate(start, literal.status());
    return literal;
  }

 private:
  // One brace level; recursion is bounded by the rank.
  absl::Status ReadRow(int64_t dimension) {
    const size_t start = lexer_.offset();
    KILN_RETURN_IF_ERROR(lexer_.Expect("{"));
    int64_t count = 0;
    if (lexer_.Peek() != '}') {
      do {
        if (count == shape_.dimensions(dimension)) return WrongCount(lexer_.offset(), dimension, "more");
        KILN_RETURN_IF_ERROR(dimension + 1 == shape_.rank() ? ReadElement() : ReadRow(dimension + 1));
        ++count;
      } while (lexer_.Consume(","));
    }
    KILN_RETURN_IF_ERROR(lexer_.Expect("}"));
    return count == shape_.dimensions(dimension) ? absl::OkStatus() : WrongCount(start, dimension, absl::StrCat(count));
  }

  absl::Status WrongCount(size_t offset, int64_t dimension, absl::string_view found) {
    return lexer_.Error(offset,
                        absl::StrCat("expected ", shape_.dimensions(dimension), " entries in dimension ", dimension,
                                     " of the constant ", shape_.ToString(false), ", found ", found));
  }

  // "{}" or "{ {}, {} }": what a literal without elements looks like.
  absl::Status SkipEmptyBraces() {
    KILN_RETURN_IF_ERROR(lexer_.Expect("{"));
    int64_t depth = 1;
    while (depth > 0) {
      if (lexer_.Consume("{")) {
        if (++depth > shape_.rank()) return lexer_.Error(lexer_.position() - 1, "more braces than dimensions");
      } else if (lexer_.Consume("}")) {
        --depth;
      } else if (!lexer_.Consume(",")) {
        return lexer_.Expected(absl::StrCat("no element in a constant ", shape_.ToString(false)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadElement() {
    switch (type_) {
      case PrimitiveType::kPred:
        return ReadPred();
      case PrimitiveType::kF32:
        return ReadNative<float>();
      case PrimitiveType::kF64:
        return ReadNative<double>();
      case PrimitiveType::kC64:
        return ReadComplex<float>();
      case PrimitiveType::kC128:
        return ReadComplex<double>();
      default:
        break;
    }
    return hlo::IsFloating(type_) ? ReadSmallFloat() : ReadInteger();
  }

  template <typename T>
  void Append(T value, size_t width = sizeof(T)) {
    const auto* raw = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), raw, raw + width);
  }

  absl::Status ReadPred() {
    if (lexer_.ConsumeWord("true") || lexer_.Consume("1")) {
      Append(uint8_t{1});
    } else if (lexer_.ConsumeWord("false") || lexer_.Consume("0")) {
      Append(uint8_t{0});
    } else {
      return lexer_.Expected("true, false, 1 or 0");
    }
    return absl::OkStatus();
  }

  absl::Status ReadInteger() {
    const size_t start = lexer_.offset();
    const char* begin = lexer_.text().data() + start;
    const char* end = lexer_.text().data() + lexer_.text().size();
    const int bits = hlo::BitWidth(type_);
    std::from_chars_result result{};
    bool fits = true;
    uint64_t value = 0;
    if (hlo::IsUnsignedIntegral(type_)) {
      result = std::from_chars(begin, end, value);
      fits = bits == 64 || value >> bits == 0;
    } else {
      int64_t signed_value = 0;
      result = std::from_chars(begin, end, signed_value);
      const int64_t limit = int64_t{1} << (bits == 64 ? 62 : bits - 1);
      fits = bits == 64 || (signed_value >= -limit && signed_value < limit);
      value = static_cast<uint64_t>(signed_value);
    }
    if (result.ec == std::errc::invalid_argument) {
      return lexer_.Expected(absl::StrCat("an integer of type ", hlo::PrimitiveTypeName(type_)));
    }
    if (result.ec != std::errc() || !fits) {
      return lexer_.Error(start, absl::StrCat("value out of range for ", hlo::PrimitiveTypeName(type_)));
    }
    lexer_.Rewind(start + (result.ptr - begin));
    if (lexer_.Peek() == '.') {
      return lexer_.Expected(absl::StrCat("an integer of type ", hlo::PrimitiveTypeName(type_)));
    }
    Append(value, hlo::ByteWidth(type_));
    return absl::OkStatus();
  }

  // "nan", "-nan", "nan(0x400001)". True with the sign and the payload (0: the default) when one stands here.
  absl::StatusOr<bool> ReadNan(bool* negative, uint64_t* payload) {
    const size_t start = lexer_.offset();
    *negative = lexer_.Consume("-");
    *payload = 0;
    if (!lexer_.ConsumeWord("nan")) {
      lexer_.Rewind(start);
      return false;
    }
    if (!lexer_.Consume("(")) return true;
    const size_t at = lexer_.offset();
    KILN_RETURN_IF_ERROR(lexer_.Expect("0x"));
    const absl::string_view digits = lexer_.Run("");
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *payload, 16);
    if (error != std::errc() || end != digits.data() + digits.size() || *payload == 0) {
      return lexer_.Error(at, "expected a non-zero NaN payload: 0x and hexadecimal digits");
    }
    KILN_RETURN_IF_ERROR(lexer_.Expect(")"));
    return true;
  }

  template <typename T>
  absl::StatusOr<T> ReadFloat() {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr int kMantissaBits = std::numeric_limits<T>::digits - 1;
    const size_t start = lexer_.offset();
    bool negative;
    uint64_t payload;
    KILN_ASSIGN_OR_RETURN(bool nan, ReadNan(&negative, &payload));
    if (nan) {
      if (payload >> kMantissaBits != 0) return lexer_.Error(start, "NaN payload is wider than the mantissa");
      Bits bits = static_cast<Bits>(payload == 0 ? uint64_t{1} << (kMantissaBits - 1) : payload);
      bits |= ((Bits{1} << (sizeof(T) * 8 - 1 - kMantissaBits)) - 1) << kMantissaBits;
      if (negative) bits |= Bits{1} << (sizeof(T) * 8 - 1);
      T value;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    }
    return ReadNumber<T>();
  }

  // A decimal number or an infinity.
  template <typename T>
  absl::StatusOr<T> ReadNumber() {
    const size_t start = lexer_.offset();
    lexer_.Consume("+");
    const char* begin = lexer_.text().data() + lexer_.offset();
    const char* end = lexer_.text().data() + lexer_.text().size();
    T value = 0;
    auto [after, error] = std::from_chars(begin, end, value);
    if (error == std::errc::invalid_argument) {
      return lexer_.Expected(absl::StrCat("a number of type ", hlo::PrimitiveTypeName(type_)));
    }
    lexer_.Rewind(after - lexer_.text().data());
    if (error == std::errc::result_out_of_range) {
      // Too small reads as zero, too large is an error; a wider type tells which.
      long double wide = 0;
      const bool wider = std::from_chars(begin, after, wide).ec == std::errc();
      const bool small = wider ? std::fabs(wide) < 1 : absl::StrContains(absl::string_view(begin, after - begin), "e-");
      if (!small) return lexer_.Error(start, absl::StrCat("value out of range for ", hlo::PrimitiveTypeName(type_)));
      return std::copysign(T{0}, *begin == '-' ? T{-1} : T{1});
    }
    return value;
  }

  template <typename T>
  absl::Status ReadNative() {
    KILN_ASSIGN_OR_RETURN(T value, ReadFloat<T>());
    Append(value);
    return absl::OkStatus();
  }

  template <typename T>
  absl::Status ReadComplex() {
    KILN_RETURN_IF_ERROR(lexer_.Expect("("));
    KILN_RETURN_IF_ERROR(ReadNative<T>());
    KILN_RETURN_IF_ERROR(lexer_.Expect(","));
    KILN_RETURN_IF_ERROR(ReadNative<T>());
    return lexer_.Expect(")");
  }

  absl::Status ReadSmallFloat() {
    const size_t start = lexer_.offset();
    bool negative;
    uint64_t payload;
    KILN_ASSIGN_OR_RETURN(bool nan, ReadNan(&negative, &payload));
    if (nan) {
      const double value = std::numeric_limits<double>::quiet_NaN();
      Literal element = LiteralOf(Shape::Scalar(type_), value);
      uint32_t bits = 0;
      std::memcpy(&bits, element.bytes().data(), element.bytes().size());
      KILN_RETURN_IF_ERROR(SetNanBits(start, negative, payload, &bits));
      Append(bits, hlo::ByteWidth(type_));
      return absl::OkStatus();
    }
    KILN_ASSIGN_OR_RETURN(double value, ReadNumber<double>());
    Literal element = LiteralOf(Shape::Scalar(type_), value);
    if (std::isfinite(value) && !std::isfinite(ElementAsDouble(element, 0))) {
      return lexer_.Error(start, absl::StrCat("value out of range for ", hlo::PrimitiveTypeName(type_)));
    }
    bytes_.insert(bytes_.end(), element.bytes().begin(), element.bytes().end());
    return absl::OkStatus();
  }

  // Sign and payload of a NaN in a format narrower than f32.
  absl::Status SetNanBits(size_t start, bool negative, uint64_t payload, uint32_t* bits) {
    int mantissa_bits = 0;
    switch (type_) {
      case PrimitiveType::kF16:
        mantissa_bits = 10;
        break;
      case PrimitiveType::kBF16:
        mantissa_bits = 7;
        break;
      case PrimitiveType::kF8E5M2:
        mantissa_bits = 2;
        break;
      case PrimitiveType::kF8E4M3:
        mantissa_bits = 3;
        break;
      case PrimitiveType::kF8E3M4:
        mantissa_bits = 4;
        break;
      case PrimitiveType::kF8E4M3FN:
        if (payload != 0) return lexer_.Error(start, "NaN of this type has no payload");
        *bits = negative ? 0xff : 0x7f;
        return absl::OkStatus();
      default:
        // One NaN code at most.
        if (payload != 0) return lexer_.Error(start, "NaN of this type has no payload");
        return absl::OkStatus();
    }
    if (payload >> mantissa_bits != 0) return lexer_.Error(start, "NaN payload is wider than the mantissa");
    const int width = hlo::BitWidth(type_);
    const uint32_t exponent = ((1u << (width - 1 - mantissa_bits)) - 1) << mantissa_bits;
    *bits = exponent | static_cast<uint32_t>(payload == 0 ? 1u << (mantissa_bits - 1) : payload) |
            (negative ? 1u << (width - 1) : 0u);
    return absl::OkStatus();
  }

  Lexer& lexer_;
  const Shape& shape_;
  const PrimitiveType type_;
  std::vector<std::byte> bytes_;
};

absl::StatusOr<Literal> ElidedLiteral(Lexer& lexer, size_t start, const Shape& shape, ElidedConstants* elided) {
  if (elided == nullptr) return lexer.Error(start, "the values of this constant were left out when it was printed");
  constexpr int64_t kMaxElidedBytes = int64_t{1} << 30;
  if (shape.byte_count() > kMaxElidedBytes - elided->bytes) {
    return lexer.Locate(start, ResourceExhausted("a constant without values of ", shape.byte_count(), " bytes"));
  }
  elided->bytes += shape.byte_count();
  const int64_t constant = elided->count++;
  // A row of numbers again and again: -1 to 7/8, or for integers, which may be indices, 0 to 3.
  constexpr int64_t kNumbers = 16;
  const bool has_fractions = !hlo::IsIntegral(shape.element_type()) && shape.element_type() != PrimitiveType::kPred;
  std::vector<std::byte> numbers;
  for (int64_t i = 0; i < kNumbers; ++i) {
    const int64_t place = (7 * i + 3 * constant) % kNumbers;
    const double number = has_fractions ? static_cast<double>(place - 8) / 8 : static_cast<double>(place % 4);
    const Literal scalar = hlo::LiteralOf(Shape::Scalar(shape.element_type()), number);
    numbers.insert(numbers.end(), scalar.bytes().begin(), scalar.bytes().end());
  }
  Literal literal(shape);
  const absl::Span<std::byte> bytes = literal.mutable_bytes();
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = numbers[i % numbers.size()];
  return literal;
}

}  // namespace

absl::StatusOr<Literal> ParseLiteral(Lexer& lexer, const Shape& shape, ElidedConstants* elided) {
  const size_t start = lexer.offset();
  if (shape.IsTuple()) {
    // Recursion is bounded by the depth of the shape.
    KILN_RETURN_IF_ERROR(lexer.Expect("("));
    std::vector<Literal> elements;
    for (const Shape& element_shape : shape.tuple_shapes()) {
      if (!elements.empty()) KILN_RETURN_IF_ERROR(lexer.Expect(","));
      KILN_ASSIGN_OR_RETURN(Literal element, ParseLiteral(lexer, element_shape, elided));
      elements.push_back(std::move(element));
    }
    KILN_RETURN_IF_ERROR(lexer.Expect(")"));
    Literal literal = Literal::Tuple(std::move(elements));
    return literal;
  }
  if (!shape.IsArray()) return lexer.Error(start, absl::StrCat("no constant has the shape ", shape.ToString()));
  if (lexer.Consume("{...}")) return ElidedLiteral(lexer, start, shape, elided);
  return ArrayReader(lexer, shape).Read();
}

}  // namespace kiln::hlo_text
