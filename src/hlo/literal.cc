#include "src/hlo/literal.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "src/hlo/elements.h"

namespace kiln::hlo {

Literal::Literal(Shape shape) : shape_(std::move(shape)) {
  if (shape_.IsTuple()) {
    for (const Shape& element : shape_.tuple_shapes()) elements_.emplace_back(element);
  } else if (shape_.IsArray()) {
    bytes_ = std::make_shared<std::vector<std::byte>>(shape_.byte_count());
  }
}

absl::StatusOr<Literal> Literal::FromBytes(Shape shape, absl::Span<const std::byte> bytes) {
  if (!shape.IsArray() || shape.byte_count() != static_cast<int64_t>(bytes.size())) {
    return InvalidArgument("literal of ", shape.ToString(), " needs ", shape.byte_count(), " bytes, got ",
                           bytes.size());
  }
  Literal literal;
  literal.shape_ = std::move(shape);
  literal.bytes_ = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  return literal;
}

Literal Literal::Tuple(std::vector<Literal> elements) {
  std::vector<Shape> shapes;
  for (const Literal& element : elements) shapes.push_back(element.shape());
  Literal literal;
  literal.shape_ = Shape::Tuple(std::move(shapes));
  literal.elements_ = std::move(elements);
  return literal;
}

absl::Span<const std::byte> Literal::bytes() const {
  if (bytes_ == nullptr) return {};
  return *bytes_;
}

absl::Span<std::byte> Literal::mutable_bytes() {
  if (bytes_ == nullptr) return {};
  if (bytes_.use_count() > 1) bytes_ = std::make_shared<std::vector<std::byte>>(*bytes_);
  return absl::MakeSpan(*bytes_);
}

Literal Literal::Reshaped(Shape shape) const {
  Literal literal;
  literal.shape_ = std::move(shape);
  literal.bytes_ = bytes_;
  return literal;
}

bool Literal::IsSplat() const {
  if (!shape_.IsArray() || element_count() == 0) return false;
  const size_t width = ByteWidth(shape_.element_type());
  absl::Span<const std::byte> all = bytes();
  // Every byte equal to the one an element before it.
  return std::memcmp(all.data(), all.data() + width, all.size() - width) == 0;
}

bool Literal::operator==(const Literal& other) const {
  if (!Shape::Compatible(shape_, other.shape_)) return false;
  if (shape_.IsTuple()) return elements_ == other.elements_;
  if (bytes_ == other.bytes_) return true;
  absl::Span<const std::byte> a = bytes(), b = other.bytes();
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

namespace {

Literal Splat(const Shape& shape, double real, uint64_t integer) {
  Literal literal(shape);
  absl::Span<std::byte> bytes = literal.mutable_bytes();
  const size_t width = ByteWidth(shape.element_type());
  for (size_t offset = 0; offset < bytes.size(); offset += width) {
    if (IsIntegral(shape.element_type())) {
      StoreElements(shape.element_type(), &integer, 1, bytes.data() + offset);
    } else {
      StoreReal(shape.element_type(), real, bytes.data() + offset);
    }
  }
  return literal;
}

}  // namespace

Literal LiteralOf(const Shape& shape, double value) {
  uint64_t integer = 0;
  if (value >= 9223372036854775808.0 && value < 18446744073709551616.0) {
    integer = static_cast<uint64_t>(value);
  } else if (value > -9223372036854775809.0 && value < 9223372036854775808.0) {
    integer = static_cast<uint64_t>(static_cast<int64_t>(value));
  }
  return Splat(shape, value, integer);
}

Literal LiteralOf(const Shape& shape, int64_t value) {
  return Splat(shape, static_cast<double>(value), static_cast<uint64_t>(value));
}

Literal ZeroLiteral(PrimitiveType type) { return LiteralOf(Shape::Scalar(type), int64_t{0}); }
Literal OneLiteral(PrimitiveType type) { return LiteralOf(Shape::Scalar(type), int64_t{1}); }

namespace {
Literal ExtremeLiteral(PrimitiveType type, bool lowest) {
  const Shape scalar = Shape::Scalar(type);
  if (type == PrimitiveType::kPred) return LiteralOf(scalar, int64_t{lowest ? 0 : 1});
  if (IsIntegral(type)) {
    const int bits = BitWidth(type);
    if (IsUnsignedIntegral(type)) return LiteralOf(scalar, lowest ? int64_t{0} : int64_t{-1});
    uint64_t top = uint64_t{1} << (bits - 1);
    return LiteralOf(scalar, static_cast<int64_t>(lowest ? WrapInteger(type, top) : top - 1));
  }
  const FloatFormat* format = NarrowFormat(type);
  double limit = std::numeric_limits<double>::infinity();
  if (format != nullptr && format->specials != FloatSpecials::kIeee) {
    // No infinity: the largest finite value.
    uint32_t all = (1u << (format->exponent_bits + format->mantissa_bits)) - 1;
    limit = DecodeFloat(*format, format->specials == FloatSpecials::kFinite ? all - 1 : all);
  }
  if (type == PrimitiveType::kF8E8M0FNU) return LiteralOf(scalar, lowest ? std::ldexp(1.0, -127) : std::ldexp(1.0, 127));
  return LiteralOf(scalar, lowest ? -limit : limit);
}
}  // namespace

Literal MinLiteral(PrimitiveType type) { return ExtremeLiteral(type, true); }
Literal MaxLiteral(PrimitiveType type) { return ExtremeLiteral(type, false); }

double ElementAsDouble(const Literal& literal, int64_t linear_index) {
  const PrimitiveType type = literal.shape().element_type();
  const std::byte* element = literal.bytes().data() + linear_index * ByteWidth(type);
  if (IsComplex(type)) return LoadElement<Complex>(type, element).real();
  if (IsFloating(type)) return LoadElement<double>(type, element);
  int64_t value = ElementAsInt64(literal, linear_index);
  return IsUnsignedIntegral(type) ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value);
}

int64_t ElementAsInt64(const Literal& literal, int64_t linear_index) {
  const PrimitiveType type = literal.shape().element_type();
  if (type == PrimitiveType::kPred || IsIntegral(type)) {
    return LoadElement<int64_t>(type, literal.bytes().data() + linear_index * ByteWidth(type));
  }
  double value = ElementAsDouble(literal, linear_index);
  if (!(value > -9223372036854775809.0 && value < 9223372036854775808.0)) return 0;
  return static_cast<int64_t>(value);
}

bool IsSplatOf(const Literal& literal, double value) {
  if (!literal.IsSplat()) return false;
  const PrimitiveType type = literal.shape().element_type();
  if (IsComplex(type)) {
    // Both parts: the literal must be the real number `value`.
    return literal == LiteralOf(literal.shape(), value);
  }
  return ElementAsDouble(literal, 0) == value;
}

}  // namespace kiln::hlo
