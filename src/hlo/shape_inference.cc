#include "src/hlo/shape_inference.h"

#include <utility>

#include "src/hlo/attribute_requirements.h"
#include "src/hlo/shape_inference_rules.h"

namespace kiln::hlo {
namespace {

absl::StatusOr<Shape> Dispatch(const InferenceQuery& query) {
  switch (KindOf(query.opcode)) {
    case OpKind::kElementwiseUnary:
    case OpKind::kElementwiseBinary:
    case OpKind::kElementwiseTernary:
      return InferElementwise(query);
    case OpKind::kSource:
    case OpKind::kRandom:
      return InferSource(query);
    case OpKind::kDataMovement:
      return InferDataMovement(query);
    case OpKind::kIndexed:
      return InferIndexed(query);
    case OpKind::kDynamicShape:
      return InferDynamicShape(query);
    case OpKind::kContraction:
      return InferContraction(query);
    case OpKind::kReduction:
      return InferReduction(query);
    case OpKind::kComposite:
      return InferComposite(query);
    case OpKind::kControl:
      return InferControl(query);
    case OpKind::kCommunication:
      return InferCommunication(query);
  }
  return Internal("opcode of unknown kind");
}

absl::Status CheckCalled(const InferenceQuery& query) {
  for (const Computation* computation : query.called) {
    if (computation == nullptr || computation->root() == nullptr) return query.Fail("calls an empty computation");
    for (const Instruction* parameter : computation->parameters()) {
      if (parameter == nullptr) return query.Fail("calls ", computation->name(), ", which lacks a parameter");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> InferShape(Opcode opcode, absl::Span<const Shape* const> operands, const Attributes& attributes,
                                 absl::Span<Computation* const> called, const Shape* declared) {
  const InferenceQuery query{opcode, operands, attributes, called, declared};
  const int expected = GetOpcodeInfo(opcode).operand_count;
  if (expected >= 0 && static_cast<int>(operands.size()) != expected) {
    return query.Fail("takes ", expected, expected == 1 ? " operand, got " : " operands, got ", operands.size());
  }
  KILN_RETURN_IF_ERROR(CheckAttributesPresent(opcode, attributes));
  KILN_RETURN_IF_ERROR(CheckCalledCount(opcode, called.size()));
  KILN_RETURN_IF_ERROR(CheckCalled(query));
  KILN_ASSIGN_OR_RETURN(Shape shape, Dispatch(query));
  if (declared == nullptr) {
    absl::Status valid = ValidateShape(shape);
    if (!valid.ok()) return query.Fail("the result is not a valid shape: ", valid.message());
    return shape;
  }
  if (!Shape::Compatible(shape, *declared)) {
    return query.Fail("result shape is ", shape.ToString(false), ", declared as ", declared->ToString(false));
  }
  return *declared;
}

absl::StatusOr<Shape> InferShape(const Instruction& instruction) {
  std::vector<const Shape*> shapes;
  for (const Instruction* operand : instruction.operands()) shapes.push_back(&operand->shape());
  return InferShape(instruction.opcode(), shapes, instruction.attributes(), instruction.called_computations(),
                    &instruction.shape());
}

}  // namespace kiln::hlo
