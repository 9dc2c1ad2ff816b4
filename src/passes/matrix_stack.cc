#include "src/passes/matrix_stack.h"

namespace kiln::passes {

ArrayValue AsStack(const ArrayValue& matrices) {
  const Shape& shape = matrices.shape();
  const int64_t rank = shape.rank();
  int64_t count = 1;
  for (int64_t d = 0; d < rank - 2; ++d) count *= shape.dimensions(d);
  const PrimitiveType type = hlo::BitWidth(matrices.type()) < 32 ? PrimitiveType::kF32 : matrices.type();
  return matrices.Reshape({count, shape.dimensions(rank - 2), shape.dimensions(rank - 1)}).Convert(type);
}

bool IsReal(const Shape& shape) {
  return shape.element_type() == PrimitiveType::kF32 || shape.element_type() == PrimitiveType::kF64;
}

ArrayValue FromStack(const ArrayValue& stack, const Shape& shape) {
  return stack.Convert(shape.element_type()).Reshape(shape.dimensions());
}

ArrayValue Transposed(const ArrayValue& stack) { return stack.Transpose({0, 2, 1}); }

ArrayValue Conjugate(const ArrayValue& value) {
  if (!hlo::IsComplex(value.type())) return value;
  const ArrayValue imaginary = value.Unary(Opcode::kImag).Unary(Opcode::kNegate);
  return {value.builder(), value.builder()->Add(Opcode::kComplex, value.shape(),
                                                {value.Unary(Opcode::kReal).instruction(), imaginary.instruction()})};
}

ArrayValue RealPart(const ArrayValue& value) {
  return hlo::IsComplex(value.type()) ? value.Unary(Opcode::kReal) : value;
}

ArrayValue Abs(const ArrayValue& value) {
  const PrimitiveType part = hlo::ComplexComponentType(value.type());
  return {value.builder(),
          value.builder()->Add(Opcode::kAbs, ChangeElementType(value.shape(), part), {value.instruction()})};
}

ArrayValue SquaredAbs(const ArrayValue& value) {
  if (!hlo::IsComplex(value.type())) return value * value;
  const ArrayValue real = value.Unary(Opcode::kReal), imaginary = value.Unary(Opcode::kImag);
  return real * real + imaginary * imaginary;
}

ArrayValue FromReal(const ArrayValue& real, const ArrayValue& like) { return real.Convert(like.type()); }

ArrayValue ZeroOf(const ArrayValue& like) {
  return {like.builder(), like.builder()->Constant(hlo::ZeroLiteral(like.type()))};
}

ArrayValue Triangle(const ArrayValue& stack, bool lower, bool strict) {
  const ArrayValue row = Iota(stack.builder(), PrimitiveType::kS32, stack.shape().dimensions(), 1);
  const ArrayValue column = Iota(stack.builder(), PrimitiveType::kS32, stack.shape().dimensions(), 2);
  const ComparisonDirection kept = strict ? (lower ? ComparisonDirection::kGt : ComparisonDirection::kLt)
                                          : (lower ? ComparisonDirection::kGe : ComparisonDirection::kLe);
  return Select(Compare(kept, row, column), stack, ZeroOf(stack));
}

ArrayValue OnDiagonal(const ArrayValue& stack) {
  return Iota(stack.builder(), PrimitiveType::kS32, stack.shape().dimensions(), 1) ==
         Iota(stack.builder(), PrimitiveType::kS32, stack.shape().dimensions(), 2);
}

ArrayValue Sum(const ArrayValue& value, absl::Span<const int64_t> dimensions) {
  return {value.builder(),
          value.builder()->Reduce(value.instruction(), ZeroOf(value).instruction(), dimensions, Opcode::kAdd)};
}

ArrayValue Diagonal(const ArrayValue& stack) { return Sum(Select(OnDiagonal(stack), stack, ZeroOf(stack)), {2}); }

}  // namespace kiln::passes
