#include "src/analysis/combiner.h"

namespace kiln::analysis {

using hlo::Instruction;
using hlo::Opcode;

std::optional<Opcode> CombinerOpcode(const hlo::Computation& combiner) {
  if (combiner.parameter_count() != 2) return std::nullopt;
  const Instruction* root = combiner.root();
  switch (root->opcode()) {
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      break;
    default:
      return std::nullopt;
  }
  const Instruction* a = combiner.parameter(0);
  const Instruction* b = combiner.parameter(1);
  const bool both =
      (root->operand(0) == a && root->operand(1) == b) || (root->operand(0) == b && root->operand(1) == a);
  return both ? std::optional<Opcode>(root->opcode()) : std::nullopt;
}

bool IsIdentityOf(Opcode opcode, const hlo::Literal& value) {
  const hlo::PrimitiveType type = value.shape().element_type();
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kOr:
    case Opcode::kXor:
      return hlo::IsSplatOf(value, 0);
    case Opcode::kMultiply:
      return hlo::IsSplatOf(value, 1);
    case Opcode::kMaximum:
      return !hlo::IsComplex(type) && value == hlo::MinLiteral(type);
    case Opcode::kMinimum:
      return !hlo::IsComplex(type) && value == hlo::MaxLiteral(type);
    case Opcode::kAnd:
      return type == hlo::PrimitiveType::kPred || hlo::IsUnsignedIntegral(type) ? value == hlo::MaxLiteral(type)
                                                                                : hlo::IsSplatOf(value, -1);
    default:
      return false;
  }
}

}  // namespace kiln::analysis
