#include "src/hlo/shape_inference.h"

#include <optional>
#include <utility>
#include <variant>

#include "src/hlo/shape_inference_rules.h"

namespace kiln::hlo {
namespace {

// Whether attributes are those of a row of the opcode table; and such with nothing said.
template <typename T>
struct Carries {
  static Attributes Empty() { return T(); }
  static bool In(const Attributes& attributes) { return attributes.Holds<T>(); }
};
template <typename T>
struct Carries<std::optional<T>> {
  static Attributes Empty() { return T(); }
  static bool In(const Attributes& attributes) {
    return Carries<T>::In(attributes) || Carries<std::monostate>::In(attributes);
  }
};
using NoAttributes = std::monostate;
using MaybeCallAttributes = std::optional<CallAttributes>;
using MaybeAccuracyAttributes = std::optional<ResultAccuracyAttributes>;

struct OpcodeRules {
  Attributes (*empty)();
  bool (*carries)(const Attributes& attributes);
  absl::StatusOr<Shape> (*infer)(const InferenceQuery& query);
};
constexpr OpcodeRules kRules[] = {
#define KILN_OPCODE(enumerator, name, operands, kind, attributes, called, rule) \
  {Carries<attributes##Attributes>::Empty, Carries<attributes##Attributes>::In, Infer##rule},
#include "src/hlo/opcodes.inc"
#undef KILN_OPCODE
};
const OpcodeRules& RulesOf(Opcode opcode) { return kRules[static_cast<size_t>(opcode)]; }

bool TakesArrays(Opcode opcode) {
  const OpKind kind = KindOf(opcode);
  return kind != OpKind::kSource && kind != OpKind::kRandom && kind < OpKind::kControl && opcode != Opcode::kCopy;
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

Attributes EmptyAttributes(Opcode opcode) { return RulesOf(opcode).empty(); }

absl::Status CheckAttributesPresent(Opcode opcode, const Attributes& attributes) {
  if (RulesOf(opcode).carries(attributes)) return absl::OkStatus();
  return InvalidArgument(OpcodeName(opcode), ": carries the attributes of another opcode or lacks its own");
}

absl::Status CheckCalledCount(Opcode opcode, size_t count) {
  if (opcode == Opcode::kConditional && count == 0) return InvalidArgument("conditional: has no branch");
  const int expected = GetOpcodeInfo(opcode).called_count;
  if (expected < 0 || static_cast<int>(count) == expected) return absl::OkStatus();
  return InvalidArgument(OpcodeName(opcode), ": calls ", count, " computations, expected ", expected);
}

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
  if (TakesArrays(opcode)) KILN_RETURN_IF_ERROR(RequireArrays(query));
  KILN_ASSIGN_OR_RETURN(Shape shape, RulesOf(opcode).infer(query));
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
