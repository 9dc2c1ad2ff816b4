// Values without operands, and random numbers.
#include <utility>

#include "src/hlo/shape_inference_rules.h"

namespace kiln::hlo {

absl::StatusOr<Shape> InferParameter(const InferenceQuery& query) {
  if (query.Get<ParameterAttributes>().number < 0) return query.Fail("negative parameter number");
  return RequireDeclared(query);
}

absl::StatusOr<Shape> InferConstant(const InferenceQuery& query) {
  return query.Get<ConstantAttributes>().literal.shape();
}

absl::StatusOr<Shape> InferDeviceNumber(const InferenceQuery&) { return Shape::Scalar(PrimitiveType::kU32); }

absl::StatusOr<Shape> InferIota(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(Shape shape, RequireDeclaredArray(query));
  if (shape.rank() == 0) return query.Fail("a scalar has no dimension to count along");
  KILN_RETURN_IF_ERROR(OnlyDimension(query, shape.rank(), "iota_dimension").status());
  if (shape.element_type() == PrimitiveType::kPred) return query.Fail("does not give pred");
  return shape;
}

absl::StatusOr<Shape> InferRng(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(Shape shape, RequireDeclaredArray(query));
  if (query.operands.size() != 2) return query.Fail("takes 2 operands, got ", query.operands.size());
  for (const Shape* operand : query.operands) {
    if (!operand->IsScalar() || operand->element_type() != shape.element_type()) {
      return query.Fail("parameters must be scalars of type ", PrimitiveTypeName(shape.element_type()), ", got ",
                        operand->ToString(false));
    }
  }
  if (query.Get<RngAttributes>().distribution == RngDistribution::kNormal && !IsFloating(shape.element_type())) {
    return query.Fail("the normal distribution gives floating-point numbers only");
  }
  return shape;
}

// (state', bits), or the bits alone.
absl::StatusOr<Shape> InferRngBitGenerator(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(Shape shape, RequireDeclared(query));
  KILN_RETURN_IF_ERROR(RequireArrays(query));
  const PrimitiveType state_type = query.operand(0).element_type();
  if (!IsUnsignedIntegral(state_type) || query.operand(0).rank() > 1) {
    return query.Fail("the state must be a vector of unsigned integers, got ", query.operand(0).ToString(false));
  }
  const Shape* bits = &shape;
  if (shape.IsTuple()) {
    if (shape.tuple_shapes().size() != 2 || !Shape::Compatible(shape.tuple_shapes(0), query.operand(0))) {
      return query.Fail("the result must be (state, bits) with a state ", query.operand(0).ToString(false),
                        ", declared as ", shape.ToString(false));
    }
    bits = &shape.tuple_shapes(1);
  }
  if (!IsIntegral(bits->element_type()) && !IsFloating(bits->element_type())) {
    return query.Fail("bits must be an array of numbers, declared as ", bits->ToString(false));
  }
  return shape;
}

absl::StatusOr<Shape> InferState(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(Shape shape, RequireDeclaredArray(query));
  if (!IsIntegral(shape.element_type())) return query.Fail("gives integers, declared as ", shape.ToString(false));
  return shape;
}

}  // namespace kiln::hlo
