// Arithmetic of pred, integers and floats.
#include <cmath>

#include "src/base/status.h"
#include "src/kernel/integer_division.h"
#include "src/kernel/math/erf.h"
#include "src/kernel/math/exp_log.h"
#include "src/kernel/math/hyperbolic.h"
#include "src/kernel/math/inverse_trigonometric.h"
#include "src/kernel/math/power_root.h"
#include "src/kernel/math/remainder.h"
#include "src/kernel/math/trigonometric.h"
#include "src/kernel/scalar_emitter.h"
#include "src/kernel/small_float_codec.h"

namespace kiln::kernel {

using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::TypeClass;

absl::StatusOr<Value> ScalarEmitter::Pred(const hlo::Instruction& instruction, absl::Span<const Value> operands) {
  Mask a(b_, operands[0].value);
  if (operands.size() == 1) {
    if (instruction.opcode() == Opcode::kNot) return Of(PrimitiveType::kPred, !a);
    return Undefined(instruction, PrimitiveType::kPred);
  }
  Mask b(b_, operands[1].value);
  switch (instruction.opcode()) {
    case Opcode::kAdd:
    case Opcode::kOr:
    case Opcode::kMaximum:
      return Of(PrimitiveType::kPred, a | b);
    case Opcode::kMultiply:
    case Opcode::kAnd:
    case Opcode::kMinimum:
      return Of(PrimitiveType::kPred, a & b);
    case Opcode::kXor:
      return Of(PrimitiveType::kPred, a ^ b);
    default:
      return Undefined(instruction, PrimitiveType::kPred);
  }
}

absl::StatusOr<Value> ScalarEmitter::Integral(const hlo::Instruction& instruction, absl::Span<const Value> operands) {
  const PrimitiveType type = operands[0].type;
  const bool is_signed = hlo::ClassOf(type) == TypeClass::kSigned;
  const int bits = hlo::BitWidth(type);
  Integer a = IntegerOf(operands[0]);
  // The value without its extension, for types narrower than a byte.
  auto raw = [&](Integer x) { return bits < 8 ? x & ((1 << bits) - 1) : x; };
  auto done = [&](Integer x) { return Of(type, Wrap(type, x)); };
  if (operands.size() == 1) {
    switch (instruction.opcode()) {
      case Opcode::kAbs:
        return is_signed ? done(kernel::Select(a < 0, -a, a)) : operands[0];
      case Opcode::kNegate:
        return done(-a);
      case Opcode::kNot:
        return done(~a);
      case Opcode::kSign: {
        Integer one = kernel::Select(a == 0, a, 1);
        return done(is_signed ? kernel::Select(a < 0, -1, one) : one);
      }
      case Opcode::kPopcnt:
        return done(Integer(b_, b_.Call(llvm::Intrinsic::ctpop, {raw(a)})));
      case Opcode::kCountLeadingZeros: {
        Integer zeros(b_, b_.ir.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, raw(a), b_.ir.getFalse()));
        return done(bits < 8 ? zeros - (8 - bits) : zeros);
      }
      default:
        return Undefined(instruction, type);
    }
  }
  if (operands.size() == 3) {
    if (instruction.opcode() != Opcode::kFma) return Undefined(instruction, type);
    return done(a * IntegerOf(operands[1]) + IntegerOf(operands[2]));
  }
  Integer b = IntegerOf(operands[1]);
  // Shift amounts are unsigned; at or past the width everything is shifted out.
  auto in_range = [&] { return raw(b).Below(b.Constant(bits)); };
  switch (instruction.opcode()) {
    case Opcode::kAdd:
      return done(a + b);
    case Opcode::kSubtract:
      return done(a - b);
    case Opcode::kMultiply:
      return done(a * b);
    case Opcode::kMulhi: {
      const int wide = bits < 8 ? 16 : 2 * bits;
      auto extend = [&](Integer x) { return is_signed ? x.SignExtend(wide) : x.ZeroExtend(wide); };
      Integer product = (extend(a) * extend(b)).Shr(bits);
      return done(product.ZeroExtend(bits < 8 ? 8 : bits));
    }
    case Opcode::kDivide:
      return done(Divide(a, b, is_signed));
    case Opcode::kRemainder:
      return done(Remainder(a, b, is_signed));
    case Opcode::kPower:
      return done(Power(a, b, is_signed));
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      return MinMax(operands[0], operands[1], instruction.opcode() == Opcode::kMaximum);
    case Opcode::kAnd:
      return Of(type, a & b);
    case Opcode::kOr:
      return Of(type, a | b);
    case Opcode::kXor:
      return Of(type, a ^ b);
    case Opcode::kShiftLeft:
      return done(kernel::Select(in_range(), a.Shl(raw(b)), int64_t{0}));
    case Opcode::kShiftRightLogical:
      return done(kernel::Select(in_range(), raw(a).Shr(raw(b)), int64_t{0}));
    case Opcode::kShiftRightArithmetic: {
      // For unsigned types narrower than a byte the sign is the value's own highest bit.
      Integer extended = bits < 8 ? raw(a).Shl(8 - bits).Sar(8 - bits) : a;
      Integer amount = kernel::Select(in_range(), raw(b), bits - 1);
      return done(extended.Sar(amount));
    }
    default:
      return Undefined(instruction, type);
  }
}

namespace {

// Rounds the mantissa to nearest even, then the exponent's range: too large becomes infinity, too small a signed zero.
// The bits of an IEEE number with `own_mantissa` mantissa bits.
Integer ReducePrecision(Integer bits, int width, int64_t own_mantissa, int64_t exponent_bits, int64_t mantissa_bits) {
  const int64_t own_exponent = width - 1 - own_mantissa;
  const int64_t infinity = ((int64_t{1} << own_exponent) - 1) << own_mantissa;
  const int64_t sign_mask = static_cast<int64_t>(uint64_t{1} << (width - 1));
  Integer sign = bits & sign_mask;
  const Integer own_magnitude = bits & ~sign_mask;
  Integer magnitude = own_magnitude;
  if (mantissa_bits < own_mantissa) {
    const int64_t drop = own_mantissa - mantissa_bits;
    Integer lowest = magnitude.Shr(drop) & 1;
    magnitude = (magnitude + lowest + ((int64_t{1} << (drop - 1)) - 1)) & ~((int64_t{1} << drop) - 1);
  }
  if (exponent_bits < own_exponent) {
    const int64_t bias = (int64_t{1} << (own_exponent - 1)) - 1;
    const int64_t reduced_bias = (int64_t{1} << (exponent_bits - 1)) - 1;
    // One past the largest exponent field, and the smallest normal one.
    const int64_t overflow = (bias + reduced_bias + 1) << own_mantissa;
    const int64_t smallest = (bias + 1 - reduced_bias) << own_mantissa;
    magnitude = Select(magnitude < overflow, magnitude, infinity);
    magnitude = Select(magnitude < smallest, int64_t{0}, magnitude);
  }
  return Select(own_magnitude > own_magnitude.Constant(infinity), bits, magnitude | sign);
}

absl::Status CheckPrecision(const hlo::Instruction& instruction, const hlo::ReducePrecisionAttributes& attributes) {
  if (attributes.exponent_bits >= 1 && attributes.mantissa_bits >= 0) return absl::OkStatus();
  return InvalidArgument(instruction.Describe(), ": reduce-precision to ", attributes.exponent_bits,
                         " exponent bits and ", attributes.mantissa_bits, " mantissa bits, expected at least 1 and 0");
}

}  // namespace

absl::StatusOr<Real> ScalarEmitter::FloatingUnary(const hlo::Instruction& instruction, Real x) {
  switch (instruction.opcode()) {
    case Opcode::kAbs:
      return x.Abs();
    case Opcode::kNegate:
      return -x;
    case Opcode::kCeil:
      return Real(b_, b_.Call(llvm::Intrinsic::ceil, {x}));
    case Opcode::kFloor:
      return Floor(x);
    case Opcode::kRoundNearestAfz:
      return Real(b_, b_.Call(llvm::Intrinsic::round, {x}));
    case Opcode::kRoundNearestEven:
      return RoundEven(x);
    case Opcode::kSign:
      // Zeros of either sign and NaN are their own sign.
      return kernel::Select(x.Compare(llvm::CmpInst::FCMP_UEQ, x.Constant(0.0)), x, CopySign(x.Constant(1.0), x));
    case Opcode::kReducePrecision: {
      const auto& attributes = instruction.Get<hlo::ReducePrecisionAttributes>();
      KILN_RETURN_IF_ERROR(CheckPrecision(instruction, attributes));
      return ReducePrecision(x.AsInteger(), x.bits(), x.mantissa_bits(), attributes.exponent_bits,
                             attributes.mantissa_bits)
          .AsReal();
    }
    case Opcode::kSqrt:
      return Sqrt(x);
    case Opcode::kRsqrt:
      return math::Rsqrt(x);
    case Opcode::kCbrt:
      return math::Cbrt(x);
    case Opcode::kExp:
      return math::Exp(x);
    case Opcode::kExp2:
      return math::Exp2(x);
    case Opcode::kExpMinusOne:
      return math::Expm1(x);
    case Opcode::kLog:
      return math::Log(x);
    case Opcode::kLog2:
      return math::Log2(x);
    case Opcode::kLogPlusOne:
      return math::Log1p(x);
    case Opcode::kLogistic:
      return math::Logistic(x);
    case Opcode::kSin:
      return math::Sin(x);
    case Opcode::kCos:
      return math::Cos(x);
    case Opcode::kTan:
      return math::Tan(x);
    case Opcode::kAsin:
      return math::Asin(x);
    case Opcode::kAcos:
      return math::Acos(x);
    case Opcode::kSinh:
      return math::Sinh(x);
    case Opcode::kCosh:
      return math::Cosh(x);
    case Opcode::kTanh:
      return math::Tanh(x);
    case Opcode::kAsinh:
      return math::Asinh(x);
    case Opcode::kAcosh:
      return math::Acosh(x);
    case Opcode::kAtanh:
      return math::Atanh(x);
    case Opcode::kErf:
      return math::Erf(x);
    case Opcode::kErfc:
      return math::Erfc(x);
    default:
      return Undefined(instruction, instruction.shape().element_type());
  }
}

absl::StatusOr<Real> ScalarEmitter::FloatingBinary(const hlo::Instruction& instruction, Real a, Real b) {
  switch (instruction.opcode()) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return a * b;
    case Opcode::kDivide:
      return a / b;
    case Opcode::kRemainder:
      return math::Fmod(a, b);
    case Opcode::kPower:
      return math::Pow(a, b);
    case Opcode::kAtan2:
      return math::Atan2(a, b);
    default:
      return Undefined(instruction, instruction.shape().element_type());
  }
}

absl::StatusOr<Value> ScalarEmitter::Floating(const hlo::Instruction& instruction, absl::Span<const Value> operands) {
  const PrimitiveType type = operands[0].type;
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kIsFinite) {
    Real magnitude = Widen(operands[0]).Abs();
    return Of(PrimitiveType::kPred, magnitude < magnitude.Infinity());
  }
  if (opcode == Opcode::kMaximum || opcode == Opcode::kMinimum) {
    return MinMax(operands[0], operands[1], opcode == Opcode::kMaximum);
  }
  if ((opcode == Opcode::kNegate || opcode == Opcode::kAbs) &&
      (type == PrimitiveType::kBF16 || type == PrimitiveType::kF16)) {
    // The sign bit alone.
    Integer bits(b_, b_.ir.CreateBitCast(operands[0].value, b_.IntType(16)));
    Integer changed = opcode == Opcode::kNegate ? bits ^ 0x8000 : bits & 0x7fff;
    return Of(type, b_.ir.CreateBitCast(changed, RegisterType(type)));
  }
  if (opcode == Opcode::kReducePrecision && type == PrimitiveType::kF16) {
    // In its own bits: what is denormal in f16 is not in f32, where it would round otherwise or vanish.
    const auto& attributes = instruction.Get<hlo::ReducePrecisionAttributes>();
    KILN_RETURN_IF_ERROR(CheckPrecision(instruction, attributes));
    Integer bits(b_, b_.ir.CreateBitCast(operands[0].value, b_.IntType(16)));
    Integer reduced = ReducePrecision(bits, 16, 10, attributes.exponent_bits, attributes.mantissa_bits);
    return Of(type, b_.ir.CreateBitCast(reduced, RegisterType(type)));
  }
  Real a = Widen(operands[0]);
  if (operands.size() == 1) {
    KILN_ASSIGN_OR_RETURN(Real result, FloatingUnary(instruction, a));
    return Narrow(result, type);
  }
  if (operands.size() == 2) {
    KILN_ASSIGN_OR_RETURN(Real result, FloatingBinary(instruction, a, Widen(operands[1])));
    return Narrow(result, type);
  }
  if (opcode != Opcode::kFma) return Undefined(instruction, type);
  return Narrow(Fma(a, Widen(operands[1]), Widen(operands[2])), type);
}

}  // namespace kiln::kernel
