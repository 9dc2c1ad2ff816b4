#include "src/hlo/literal_text.h"

#include <array>
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

void AppendArray(const Literal& literal, std::string* text) {
  const DimensionVector& sizes = literal.shape().dimensions();
  const int64_t rank = literal.shape().rank();
  if (rank == 0) return AppendElement(literal, 0, text);
  if (rank == 1) {
    *text += "{";
    for (int64_t i = 0; i < sizes[0]; ++i) {
      if (i > 0) *text += ", ";
      AppendElement(literal, i, text);
    }
    *text += "}";
    return;
  }
  // Rows of the innermost dimension; braces open and close where outer indices start and end.
  int64_t rows = 1;
  constexpr int64_t kMaxEmptyRows = 1024;
  for (int64_t i = 0; i + 1 < rank; ++i) {
    rows *= sizes[i];
    if (sizes.back() == 0 && rows > kMaxEmptyRows) rows = 0;
    if (rows == 0) break;
  }
  if (rows == 0) {
    *text += "{}";
    return;
  }
  DimensionVector index(rank - 1, 0);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t opened = rank - 1;
    while (opened > 0 && index[opened - 1] == 0) --opened;
    if (row > 0) *text += ", ";
    for (int64_t level = opened; level < rank - 1; ++level) *text += "{ ";
    if (sizes.back() == 0) {
      *text += "{}";
    } else {
      *text += "{ ";
      for (int64_t i = 0; i < sizes.back(); ++i) {
        if (i > 0) *text += ", ";
        AppendElement(literal, row * sizes.back() + i, text);
      }
      *text += " }";
    }
    for (int64_t level = rank - 2; level >= 0; --level) {
      if (++index[level] < sizes[level]) break;
      index[level] = 0;
      *text += " }";
    }
  }
}

}  // namespace

std::string FloatToText(float value) {
  if (std::isnan(value)) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return NanToText(bits >> 31, bits & 0x7fffff, 23);
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return FiniteToText(value);
}

std::string DoubleToText(double value) {
  if (std::isnan(value)) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return NanToText(bits >> 63, bits & 0xfffffffffffff, 52);
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return FiniteToText(value);
}

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
