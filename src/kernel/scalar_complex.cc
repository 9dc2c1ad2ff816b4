// Dispatch of elementwise ops over complex elements.
#include "src/kernel/math/coefficients.h"
#include "src/kernel/math/complex_math.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::kernel {

using hlo::Opcode;
using hlo::PrimitiveType;
using math::Complex;

absl::StatusOr<Value> ScalarEmitter::ComplexUnary(const hlo::Instruction& instruction, const Value& operand) {
  const PrimitiveType type = operand.type;
  Complex z = {Real(b_, operand.value), Real(b_, operand.imaginary)};
  auto done = [&](Complex r) { return Value{type, r.re, r.im}; };
  const double ln2 = math::kLn2FullF64[0], log2e = math::kLog2EF64[0];
  switch (instruction.opcode()) {
    case Opcode::kAbs:
      return Of(hlo::ComplexComponentType(type), math::Abs(z));
    case Opcode::kIsFinite:
      return Of(PrimitiveType::kPred, (z.re.Abs() < z.re.Infinity()) & (z.im.Abs() < z.im.Infinity()));
    case Opcode::kNegate:
      return done(-z);
    case Opcode::kSign:
      return done(math::Sign(z));
    case Opcode::kExp:
      return done(math::Exp(z));
    case Opcode::kExp2:
      return done(math::Exp(z * ln2));
    case Opcode::kExpMinusOne:
      return done(math::Expm1(z));
    case Opcode::kLog:
      return done(math::Log(z));
    case Opcode::kLog2:
      return done(math::Log(z) * log2e);
    case Opcode::kLogPlusOne:
      return done(math::Log1p(z));
    case Opcode::kLogistic:
      return done(math::Logistic(z));
    case Opcode::kSqrt:
      return done(math::Sqrt(z));
    case Opcode::kRsqrt:
      return done(math::Rsqrt(z));
    case Opcode::kCbrt:
      return done(math::Cbrt(z));
    case Opcode::kSin:
      return done(math::Sin(z));
    case Opcode::kCos:
      return done(math::Cos(z));
    case Opcode::kTan:
      return done(math::Tan(z));
    case Opcode::kSinh:
      return done(math::Sinh(z));
    case Opcode::kCosh:
      return done(math::Cosh(z));
    case Opcode::kTanh:
      return done(math::Tanh(z));
    case Opcode::kAsin:
      return done(math::Asin(z));
    case Opcode::kAcos:
      return done(math::Acos(z));
    case Opcode::kAsinh:
      return done(math::Asinh(z));
    case Opcode::kAcosh:
      return done(math::Acosh(z));
    case Opcode::kAtanh:
      return done(math::Atanh(z));
    default:
      return Undefined(instruction, type);
  }
}

absl::StatusOr<Value> ScalarEmitter::ComplexBinary(const hlo::Instruction& instruction, const Value& lhs,
                                                   const Value& rhs) {
  const PrimitiveType type = lhs.type;
  Complex a = {Real(b_, lhs.value), Real(b_, lhs.imaginary)};
  Complex b = {Real(b_, rhs.value), Real(b_, rhs.imaginary)};
  auto done = [&](Complex r) { return Value{type, r.re, r.im}; };
  switch (instruction.opcode()) {
    case Opcode::kAdd:
      return done(a + b);
    case Opcode::kSubtract:
      return done(a - b);
    case Opcode::kMultiply:
      return done(math::Multiply(a, b));
    case Opcode::kDivide:
      return done(math::Divide(a, b));
    case Opcode::kPower:
      return done(math::Pow(a, b));
    case Opcode::kAtan2: {
      // The difference of squares needs more than single precision has.
      auto wide = [](Complex z) { return Complex{z.re.To(64), z.im.To(64)}; };
      const Complex angle = math::Atan2(wide(a), wide(b));
      return done({angle.re.To(a.re.bits()), angle.im.To(a.re.bits())});
    }
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      return MinMax(lhs, rhs, instruction.opcode() == Opcode::kMaximum);
    default:
      return Undefined(instruction, type);
  }
}

}  // namespace kiln::kernel
