// Literals: the values of constants, and the arrays that the evaluator computes with.
#ifndef KILN_HLO_LITERAL_H_
#define KILN_HLO_LITERAL_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "src/hlo/shape.h"

namespace kiln::hlo {

// An array or a tuple of literals. Elements are stored in row-major order of the logical indices whatever the shape's
// layout says, little endian, one element at least one byte (pred is 0 or 1; sub-byte integers are sign- or
// zero-extended to the byte). Copies share their bytes until one of them is written. Not thread-safe for writing.
class Literal {
 public:
  Literal() = default;
  // Zeros of `shape`, which must be valid (ValidateShape) and small enough for memory.
  explicit Literal(Shape shape);
  // `bytes` must hold exactly shape.byte_count() bytes in the order above.
  static absl::StatusOr<Literal> FromBytes(Shape shape, absl::Span<const std::byte> bytes);
  static Literal Tuple(std::vector<Literal> elements);

  // A scalar or a vector of a native type: bool, intN_t, uintN_t, float, double.
  template <typename T>
  static Literal Scalar(T value);
  template <typename T>
  static Literal Vector(absl::Span<const T> values);

  const Shape& shape() const { return shape_; }
  int64_t element_count() const { return shape_.element_count(); }

  // Arrays: the raw elements. T's size must be that of the element type.
  absl::Span<const std::byte> bytes() const;
  absl::Span<std::byte> mutable_bytes();
  template <typename T>
  absl::Span<const T> data() const {
    return absl::Span<const T>(reinterpret_cast<const T*>(bytes().data()), static_cast<size_t>(element_count()));
  }
  template <typename T>
  absl::Span<T> mutable_data() {
    return absl::Span<T>(reinterpret_cast<T*>(mutable_bytes().data()), static_cast<size_t>(element_count()));
  }

  // Tuples.
  const std::vector<Literal>& elements() const { return elements_; }
  std::vector<Literal>* mutable_elements() { return &elements_; }

  // The same elements under another shape of as many elements and the same element type.
  Literal Reshaped(Shape shape) const;

  // True when all elements are bitwise equal to the first one (arrays with at least one element).
  bool IsSplat() const;

  // Bitwise equality of shape (up to layout) and elements.
  bool operator==(const Literal& other) const;

 private:
  Shape shape_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
  std::vector<Literal> elements_;
};

template <typename T>
constexpr PrimitiveType NativePrimitiveType() {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8);
  if (std::is_same_v<T, bool>) return PrimitiveType::kPred;
  if (std::is_floating_point_v<T>) return sizeof(T) == 4 ? PrimitiveType::kF32 : PrimitiveType::kF64;
  // The enumeration lists integers by size.
  const PrimitiveType smallest = std::is_signed_v<T> ? PrimitiveType::kS8 : PrimitiveType::kU8;
  return static_cast<PrimitiveType>(static_cast<int>(smallest) + std::countr_zero(sizeof(T)));
}

template <typename T>
Literal Literal::Scalar(T value) {
  Literal literal(Shape::Scalar(NativePrimitiveType<T>()));
  literal.mutable_data<T>()[0] = value;
  return literal;
}

template <typename T>
Literal Literal::Vector(absl::Span<const T> values) {
  Literal literal(Shape(NativePrimitiveType<T>(), {static_cast<int64_t>(values.size())}));
  absl::Span<T> data = literal.mutable_data<T>();
  for (size_t i = 0; i < values.size(); ++i) data[i] = values[i];
  return literal;
}

// Any type from an integer or a real value, rounded to nearest even and wrapped as a convert op does; complex types
// get a zero imaginary part. Used for identities and constants of rules. `shape` is a scalar or gets a splat.
Literal LiteralOf(const Shape& shape, double value);
Literal LiteralOf(const Shape& shape, int64_t value);

// The identity of add, multiply, minimum, maximum, and, or for `type`.
Literal ZeroLiteral(PrimitiveType type);
Literal OneLiteral(PrimitiveType type);
Literal MinLiteral(PrimitiveType type);  // -inf for floats with infinity
Literal MaxLiteral(PrimitiveType type);

// True when `literal` is a splat (or scalar) whose every element equals `value` numerically.
bool IsSplatOf(const Literal& literal, double value);

// An array element as a double or an int64 (real part of complex values); for rules and printing, not for arithmetic.
double ElementAsDouble(const Literal& literal, int64_t linear_index);
int64_t ElementAsInt64(const Literal& literal, int64_t linear_index);

}  // namespace kiln::hlo

#endif  // KILN_HLO_LITERAL_H_
