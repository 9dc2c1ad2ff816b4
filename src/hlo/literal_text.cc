#include "src/hlo/literal_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/hlo/elements.h"

namespace kiln::hlo {
namespace {

// Significant digits of a number in scientific notation.
int DigitCount(const char* begin, const char* end) {
  int digits = 0;
  for (const char* c = begin; c != end && *c != 'e'; ++c) digits += *c >= '0' && *c <= '9';
  return digits;
}

// Whole numbers below a million are written plainly, also where fewer digits would read back.
bool IsPlain(double value) { return std::fabs(value) < 1e6 && value == std::trunc(value) && value != 0; }

// As printf's %g with `digits` significant digits.
template <typename Float>
std::string GeneralText(Float value, int digits) {
  std::array<char, 64> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, digits);
  return std::string(buffer.data(), end.ptr);
}

template <typename Float>
std::string FiniteToText(Float value) {
  if (IsPlain(value)) return absl::StrCat(static_cast<int64_t>(value));
  std::array<char, 64> buffer;
  auto shortest = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  // The shortest digits are not always those that rounding to as many gives (1e-45): take what reads back.
  for (int digits = DigitCount(buffer.data(), shortest.ptr);; ++digits) {
    std::string text = GeneralText(value, digits);
    Float read = 0;
    auto result = std::from_chars(text.data(), text.data() + text.size(), read);
    if (result.ec == std::errc() && read == value) return text;
    if (digits >= std::numeric_limits<Float>::max_digits10) return std::string(buffer.data(), shortest.ptr);
  }
}

std::string NanToText(bool negative, uint64_t payload, int mantissa_bits) {
  const char* sign = negative ? "-" : "";
  if (payload == uint64_t{1} << (mantissa_bits - 1)) return absl::StrCat(sign, "nan");
  return absl::StrFormat("%snan(0x%x)", sign, payload);
}

template <typename Bits, typename Float>
std::string AnyToText(Float value, int mantissa_bits) {
  if (std::isnan(value)) {
    const Bits payload = std::bit_cast<Bits>(value) & ((Bits{1} << mantissa_bits) - 1);
    return NanToText(std::signbit(value), payload, mantissa_bits);
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return FiniteToText(value);
}

// Types narrower than f32: the fewest digits that encode to the same bits.
std::string SmallFloatToText(const Literal& literal, int64_t index) {
  const PrimitiveType type = literal.shape().element_type();
  const double value = ElementAsDouble(literal, index);
  const std::byte* element = literal.bytes().data() + index * ByteWidth(type);
  if (std::isnan(value)) {
    uint64_t bits = 0;
    std::memcpy(&bits, element, ByteWidth(type));
    const FloatFormat* format = NarrowFormat(type);
    if (format != nullptr && format->specials == FloatSpecials::kIeee) {
      const int mantissa_bits = format->mantissa_bits;
      return NanToText(bits >> (BitWidth(type) - 1), bits & ((1u << mantissa_bits) - 1), mantissa_bits);
    }
    // The other formats have one NaN code, of either sign where the format has signed NaNs.
    return type == PrimitiveType::kF8E4M3FN && bits >> 7 ? "-nan" : "nan";
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (IsPlain(value)) return absl::StrCat(static_cast<int64_t>(value));
  for (int digits = 1;; ++digits) {
    std::string text = GeneralText(value, digits);
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    const Literal encoded = LiteralOf(Shape::Scalar(type), read);
    if (digits >= 17 || std::memcmp(encoded.bytes().data(), element, ByteWidth(type)) == 0) return text;
  }
}

template <typename T>
T LoadPart(const Literal& literal, int64_t index, int part) {
  T value;
  const int width = ByteWidth(literal.shape().element_type());
  std::memcpy(&value, literal.bytes().data() + index * width + part * sizeof(T), sizeof(T));
  return value;
}

// The elements along `dimension` and the ones inside it, from number *next on. Only the innermost may have none.
void AppendRows(const Literal& literal, int64_t dimension, int64_t* next, std::string* text) {
  const Shape& shape = literal.shape();
  const char* space = shape.rank() == 1 || shape.dimensions(dimension) == 0 ? "" : " ";
  absl::StrAppend(text, "{", space);
  for (int64_t i = 0; i < shape.dimensions(dimension); ++i) {
    if (i > 0) *text += ", ";
    if (dimension == shape.rank() - 1) {
      AppendElement(literal, (*next)++, text);
    } else {
      AppendRows(literal, dimension + 1, next, text);
    }
  }
  absl::StrAppend(text, space, "}");
}

void AppendArray(const Literal& literal, std::string* text) {
  const DimensionVector& sizes = literal.shape().dimensions();
  if (sizes.empty()) return AppendElement(literal, 0, text);
  int64_t rows = 1;
  constexpr int64_t kMaxEmptyRows = 1024;
  for (size_t i = 0; i + 1 < sizes.size() && rows != 0; ++i) {
    rows *= sizes[i];
    if (sizes.back() == 0 && rows > kMaxEmptyRows) rows = 0;
  }
  int64_t next = 0;
  if (rows > 0) return AppendRows(literal, 0, &next, text);
  *text += "{}";
}

}  // namespace

std::string FloatToText(float value) { return AnyToText<uint32_t>(value, 23); }
std::string DoubleToText(double value) { return AnyToText<uint64_t>(value, 52); }

void AppendElement(const Literal& literal, int64_t index, std::string* text) {
  const PrimitiveType type = literal.shape().element_type();
  switch (type) {
    case PrimitiveType::kPred: {
      const bool value = literal.bytes()[index] != std::byte{0};
      *text += literal.shape().rank() == 0 ? (value ? "true" : "false") : (value ? "1" : "0");
      return;
    }
    case PrimitiveType::kF32:
      *text += FloatToText(LoadPart<float>(literal, index, 0));
      return;
    case PrimitiveType::kF64:
      *text += DoubleToText(LoadPart<double>(literal, index, 0));
      return;
    case PrimitiveType::kC64:
      absl::StrAppend(text, "(", FloatToText(LoadPart<float>(literal, index, 0)), ", ",
                      FloatToText(LoadPart<float>(literal, index, 1)), ")");
      return;
    case PrimitiveType::kC128:
      absl::StrAppend(text, "(", DoubleToText(LoadPart<double>(literal, index, 0)), ", ",
                      DoubleToText(LoadPart<double>(literal, index, 1)), ")");
      return;
    default:
      break;
  }
  if (IsFloating(type)) {
    *text += SmallFloatToText(literal, index);
  } else if (IsUnsignedIntegral(type)) {
    absl::StrAppend(text, static_cast<uint64_t>(ElementAsInt64(literal, index)));
  } else {
    absl::StrAppend(text, ElementAsInt64(literal, index));
  }
}

void AppendLiteral(const Literal& literal, std::string* text) {
  if (!literal.shape().IsTuple()) {
    if (literal.shape().IsArray()) AppendArray(literal, text);
    return;
  }
  *text += "(";
  const char* separator = " ";
  for (const Literal& element : literal.elements()) {
    *text += separator;
    AppendLiteral(element, text);
    separator = ", ";
  }
  *text += literal.elements().empty() ? ")" : " )";
}

}  // namespace kiln::hlo
