// Arrays under construction, with operators: what expanders write formulas in.
#ifndef KILN_PASSES_ARRAY_VALUE_H_
#define KILN_PASSES_ARRAY_VALUE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "src/passes/ir.h"

namespace kiln::passes {

// The integer type of so many bits: 8, 16, 32 or 64, and 4 for unsigned ones.
PrimitiveType UnsignedOf(int bits);
PrimitiveType SignedOf(int bits);

// An instruction with the builder that new ones go to. Binary operators take operands of one type; a scalar beside an
// array is spread over it, and a number becomes a constant of the other side's type. Shifts are logical.
class ArrayValue {
 public:
  ArrayValue() = default;
  ArrayValue(Builder* builder, Instruction* instruction) : builder_(builder), instruction_(instruction) {}

  Builder* builder() const { return builder_; }
  Instruction* instruction() const { return instruction_; }
  const Shape& shape() const { return instruction_->shape(); }
  PrimitiveType type() const { return shape().element_type(); }

  // A constant of this type and these dimensions.
  ArrayValue Number(double value) const;
  ArrayValue Number(int64_t value) const;
  ArrayValue Unary(Opcode opcode) const;
  ArrayValue Binary(Opcode opcode, const ArrayValue& other) const;
  ArrayValue Convert(PrimitiveType type) const;
  // Between types of one width; of twice or half the width, dropping or adding a last dimension of size 2.
  ArrayValue BitcastConvert(PrimitiveType type) const;
  ArrayValue Reshape(absl::Span<const int64_t> dimensions) const;
  ArrayValue Transpose(absl::Span<const int64_t> permutation) const;
  ArrayValue Broadcast(absl::Span<const int64_t> dimensions, absl::Span<const int64_t> map) const;
  // Elements [start, limit) along one dimension, all of the others.
  ArrayValue Slice(int64_t dimension, int64_t start, int64_t limit) const;
  // Element `index` of a vector, as a scalar.
  ArrayValue Element(int64_t index) const;
  // Adds elements of `value` (a scalar) after the last of each dimension.
  ArrayValue PadHigh(absl::Span<const int64_t> dimensions, const ArrayValue& value) const;
  ArrayValue DynamicSlice(absl::Span<const ArrayValue> starts, absl::Span<const int64_t> sizes) const;
  ArrayValue DynamicUpdate(const ArrayValue& update, absl::Span<const ArrayValue> starts) const;

 private:
  Builder* builder_ = nullptr;
  Instruction* instruction_ = nullptr;
};

ArrayValue operator+(const ArrayValue& a, const ArrayValue& b);
ArrayValue operator-(const ArrayValue& a, const ArrayValue& b);
ArrayValue operator*(const ArrayValue& a, const ArrayValue& b);
ArrayValue operator/(const ArrayValue& a, const ArrayValue& b);
ArrayValue operator|(const ArrayValue& a, const ArrayValue& b);
ArrayValue operator&(const ArrayValue& a, const ArrayValue& b);
ArrayValue operator^(const ArrayValue& a, const ArrayValue& b);
ArrayValue operator<<(const ArrayValue& a, int64_t bits);
ArrayValue operator>>(const ArrayValue& a, int64_t bits);

// pred, element by element.
ArrayValue Compare(ComparisonDirection direction, const ArrayValue& a, const ArrayValue& b);
inline ArrayValue operator==(const ArrayValue& a, const ArrayValue& b) {
  return Compare(ComparisonDirection::kEq, a, b);
}
inline ArrayValue operator!=(const ArrayValue& a, const ArrayValue& b) {
  return Compare(ComparisonDirection::kNe, a, b);
}
inline ArrayValue operator<(const ArrayValue& a, const ArrayValue& b) {
  return Compare(ComparisonDirection::kLt, a, b);
}
inline ArrayValue operator<=(const ArrayValue& a, const ArrayValue& b) {
  return Compare(ComparisonDirection::kLe, a, b);
}
inline ArrayValue operator>(const ArrayValue& a, const ArrayValue& b) {
  return Compare(ComparisonDirection::kGt, a, b);
}
inline ArrayValue operator>=(const ArrayValue& a, const ArrayValue& b) {
  return Compare(ComparisonDirection::kGe, a, b);
}
// All of one shape, except that scalars among them are spread over the largest.
ArrayValue Select(const ArrayValue& predicate, const ArrayValue& on_true, const ArrayValue& on_false);
ArrayValue Iota(Builder* builder, PrimitiveType type, absl::Span<const int64_t> dimensions, int64_t dimension);
ArrayValue Concatenate(absl::Span<const ArrayValue> values, int64_t dimension);
// The product of stacks of matrices: leading dimensions are batch dimensions. Contracts dimension `lhs_dimension` of a
// with dimension `rhs_dimension` of b; the result has what remains, a's first. At the highest precision.
ArrayValue BatchedDot(const ArrayValue& a, const ArrayValue& b, int64_t batch_dimensions, int64_t lhs_dimension,
                      int64_t rhs_dimension);

// Runs `body` on values that start as `initial` for as long as `condition` gives true (a pred scalar); gives what they
// are in the end. Both get the current values; `body` returns the next ones, of the same shapes, with the builder of
// its arguments.
std::vector<ArrayValue> WhileLoop(
    const std::vector<ArrayValue>& initial,
    const std::function<ArrayValue(const std::vector<ArrayValue>& values)>& condition,
    const std::function<std::vector<ArrayValue>(const std::vector<ArrayValue>& values)>& body);

// Runs `body` for i = 0 .. count - 1 on values that start as `initial`; gives what they are in the end. `body` gets the
// s32 scalar i and the current values, and returns the next ones, of the same shapes, with the builder of its
// arguments.
std::vector<ArrayValue> CountedLoop(
    const std::vector<ArrayValue>& initial, int64_t count,
    const std::function<std::vector<ArrayValue>(const ArrayValue& i, const std::vector<ArrayValue>& values)>& body);

}  // namespace kiln::passes

#endif  // KILN_PASSES_ARRAY_VALUE_H_
