#include "src/kernel/op_cost.h"

#include <algorithm>

#include "src/base/isa_level.h"
#include "src/kernel/scalar_computation.h"

namespace kiln::kernel {

using hlo::Opcode;
using hlo::PrimitiveType;

namespace {

// Bytes that one lane takes in a register while computing.
int WidthOf(PrimitiveType type) {
  if (type == PrimitiveType::kPred) return 1;
  if (hlo::IsFloating(type)) return std::max(4, hlo::ByteWidth(type));
  if (hlo::IsComplex(type)) return hlo::ByteWidth(type) / 2;
  return hlo::ByteWidth(type);
}

// Of floats of 16 bits what is done in as many: on their bits, or where the processor has an instruction for it.
bool IsInHalfWidth(Target target, const Op& op) {
  if (op.kind != OpKind::kElementwise || !hlo::IsFloating(op.type) || hlo::BitWidth(op.type) != 16) return false;
  return op.opcode == Opcode::kMaximum || op.opcode == Opcode::kMinimum || op.opcode == Opcode::kNegate ||
         op.opcode == Opcode::kAbs || op.opcode == Opcode::kSelect || op.opcode == Opcode::kCopy ||
         op.opcode == Opcode::kClamp || HasHalfInstruction(target, op.opcode, op.type);
}

}  // namespace

int ComputeWidth(Target target, const Op& op) {
  return IsNarrowIndex(op) ? 4 : IsInHalfWidth(target, op) ? 2 : WidthOf(op.type);
}

bool IsNarrowIndex(const Op& op) {
  return op.kind == OpKind::kToIndex && op.clamp && op.range.low >= 0 && op.range.high < int64_t{1} << 30;
}

double OpCost(const Op& op) {
  if (op.kind == OpKind::kLoad) return 1;
  if (op.kind != OpKind::kElementwise) return 0.5;
  switch (op.opcode) {
    case Opcode::kExp:
    case Opcode::kExp2:
    case Opcode::kTanh:
    case Opcode::kLog:
    case Opcode::kLog2:
      return 15;
    case Opcode::kLogistic:
      return 20;
    case Opcode::kLogPlusOne:
    case Opcode::kExpMinusOne:
    case Opcode::kErf:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kCbrt:
    case Opcode::kAtan2:
      return 30;
    case Opcode::kErfc:
    case Opcode::kTan:
    case Opcode::kSinh:
    case Opcode::kCosh:
    case Opcode::kAsin:
    case Opcode::kAcos:
    case Opcode::kAsinh:
    case Opcode::kAcosh:
    case Opcode::kAtanh:
      return 50;
    case Opcode::kPower:
      return 130;
    case Opcode::kDivide:
    case Opcode::kRemainder:
      return hlo::IsIntegral(op.type) ? 30 : 5;
    case Opcode::kSqrt:
    case Opcode::kRsqrt:
      return 6;
    default:
      return 1;
  }
}

double RoundingCost(Target target, const Op& op) {
  constexpr double kOfRounding = 5;
  const bool rounds = op.kind == OpKind::kElementwise && hlo::IsFloating(op.type) && hlo::BitWidth(op.type) < 32;
  return rounds && !IsInHalfWidth(target, op) ? kOfRounding : 0;
}

double ConversionCost(const Kernel& kernel, Target target, const Op& op) {
  if (op.kind != OpKind::kElementwise || op.opcode != Opcode::kConvert) return 0;
  if (target != Target::kCpu || HasAvx512()) return 0;
  const PrimitiveType from = kernel.ops[op.operands[0]].type;
  const auto is_long = [](PrimitiveType type) { return hlo::IsIntegral(type) && hlo::BitWidth(type) == 64; };
  if (hlo::IsFloating(from) && is_long(op.type)) return 24;
  if (is_long(from) && hlo::IsFloating(op.type)) return hlo::BitWidth(op.type) == 64 ? 6 : 12;
  return from == PrimitiveType::kF64 && hlo::IsFloating(op.type) && hlo::BitWidth(op.type) < 32 ? 12 : 0;
}

}  // namespace kiln::kernel
