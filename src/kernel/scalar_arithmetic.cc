// Arithmetic of pred, integers, floats and complex numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "absl/algorithm/container.h"
#include "src/analysis/shifted_rows.h"
#include "src/analysis/value_range.h"
#include "src/base/isa_level.h"
#include "src/kernel/integer_division.h"
#include "src/kernel/math/complex_math.h"
#include "src/kernel/math/real_math.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::kernel {

using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::TypeClass;

namespace {

// Of bytes in vectors, which no processor counts: the bits below the highest one set become ones, which are counted.
// With AVX-512 LLVM widens each to 32 bits, which can be counted: that takes twice as long.
Integer LeadingZeros(Integer x) {
  const VectorBuilder& b = x.builder();
  constexpr int kByte = 8;
  if (b.target != Target::kCpu || !HasAvx512() || b.lanes == 1 || x.bits() != kByte) {
    return {b, b.ir.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, b.ir.getFalse())};
  }
  for (int shift : {1, 2, 4}) x = x | x.Shr(shift);
  return x.Constant(kByte) - Integer(b, b.Call(llvm::Intrinsic::ctpop, {x}));
}

// Bytes in vectors are shifted as numbers without a sign, of which the sign is made again: LLVM's own sequence takes
// twice as long.
Integer ShiftWithSign(Integer x, Integer amount) {
  if (x.builder().target != Target::kCpu || x.builder().lanes == 1 || x.bits() != 8) return x.Sar(amount);
  const Integer sign = x.Constant(0x80).Shr(amount);
  return (x.Shr(amount) ^ sign) - sign;
}

// Whether only sums and shifts read it, as in hashes. LLVM follows every bit of each sum and shift back through several
// rounds, all paths anew, to find nothing: a quarter of the time that a ThreeFry takes to compile.
bool IsMixedOn(const hlo::Instruction& exclusive_or) {
  const auto& users = exclusive_or.users();
  return !users.empty() && absl::c_all_of(users, [](const hlo::Instruction* user) {
    return user->opcode() == Opcode::kAdd || user->opcode() == Opcode::kShiftLeft ||
           user->opcode() == Opcode::kShiftRightLogical;
  });
}

}  // namespace

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
        return done(bits < 8 ? LeadingZeros(raw(a)) - (8 - bits) : LeadingZeros(raw(a)));
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
      return Of(type, IsMixedOn(instruction) ? (a ^ b).Opaque() : a ^ b);
    case Opcode::kShiftLeft:
      return done(kernel::Select(in_range(), a.Shl(raw(b)), int64_t{0}));
    case Opcode::kShiftRightLogical:
      return done(kernel::Select(in_range(), raw(a).Shr(raw(b)), int64_t{0}));
    case Opcode::kShiftRightArithmetic: {
      // For unsigned types narrower than a byte the sign is the value's own highest bit.
      Integer extended = bits < 8 ? raw(a).Shl(8 - bits).Sar(8 - bits) : a;
      Integer amount = kernel::Select(in_range(), raw(b), bits - 1);
      return done(ShiftWithSign(extended, amount));
    }
    default:
      return Undefined(instruction, type);
  }
}

namespace {

bool IsFieldOperation(Opcode opcode) {
  return opcode == Opcode::kAdd || opcode == Opcode::kSubtract || opcode == Opcode::kMultiply ||
         opcode == Opcode::kDivide || opcode == Opcode::kFma;
}

// Between 0 and 1, as e^-|x| is, or NaN.
bool IsOfUnit(const hlo::Instruction& x) {
  const analysis::ValueRange range = analysis::RangeOf(x);
  return range.IsNonNegative() && range.high <= 1;
}

constexpr int kMaxExponent = 40;  // of std::frexp

}  // namespace

bool HasReciprocal(double divisor, int mantissa_bits) {
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(divisor), &exponent);  // in [1/2, 1)
  return divisor != 0 && std::isfinite(divisor) && std::abs(exponent) <= kMaxExponent &&
         mantissa != 1 - std::ldexp(1.0, -mantissa_bits - 1);
}

namespace {

// a / b for b with HasReciprocal(), r = 1 / b rounded: the product, and the reciprocal of what that leaves added, is
// rounded as the quotient is (as Markstein shows for division by fused operations). Where what is left may not be a
// normal number (zeros and tiny a) or not be one at all (infinity), the product alone is the result.
Real DivideCorrected(Real a, Real b, Real r, bool is_moderate) {
  const Real quotient = a * r;
  const Real corrected = Fma(Fma(-quotient, b, a), r, quotient);
  // Integers know neither infinity nor tiny numbers.
  if (is_moderate || llvm::isa<llvm::SIToFPInst>(a.value()) || llvm::isa<llvm::UIToFPInst>(a.value())) return corrected;
  // Magnitudes, twice their bits, less those of the least such: half of all have no sign, which is what is selected by.
  const int64_t least = a.bits() == 32 ? -64 : -512;
  const Integer above = a.AsInteger().Shl(1) - ((least + a.exponent_bias()) << (a.mantissa_bits() + 1));
  const Mask inside = above.Constant(-1) < above;
  return Select(inside, corrected, quotient);
}

Real DivideReals(Real a, Real b, bool is_moderate) {
  const llvm::APFloat* divisor = HasFma() ? ConstantOf(b) : nullptr;
  if (divisor == nullptr || !HasReciprocal(divisor->convertToDouble(), a.mantissa_bits()) ||
      divisor->getExactInverse(nullptr)) {
    return a / b;
  }
  llvm::APFloat inverse(divisor->getSemantics(), 1);
  inverse.divide(*divisor, llvm::APFloat::rmNearestTiesToEven);
  return DivideCorrected(a, b, {a.builder(), llvm::ConstantFP::get(a.value()->getType(), inverse)}, is_moderate);
}

bool IsHalf(float x) {
  return (std::bit_cast<uint32_t>(x) & 0x1fff) == 0 && x * 0x1p24f == std::floor(x * 0x1p24f) && x <= 65504;
}

// Whether a product with the reciprocal in f32, rounded to the narrow type, is its quotient by `divisor` for every
// dividend. No quotient of two such numbers is nearer to the middle between two of them than what the product may be
// off by, nor is it such a middle, but amid the subnormal ones of f16.
bool IsDividedByProduct(float divisor, PrimitiveType type) {
  if (!HasReciprocal(divisor, 23)) return false;
  if (type == PrimitiveType::kBF16) return true;
  constexpr float kUnit = 0x1p-24f, kSubnormals = 1024;
  const float magnitude = std::abs(divisor), reciprocal = 1 / magnitude;
  for (float middle = 0.5f; middle < kSubnormals; middle += 1) {
    const float dividend = middle * kUnit * magnitude;
    if (IsHalf(dividend) && dividend * reciprocal != middle * kUnit) return false;
  }
  return true;
}

// Of numbers of a type of 16 bits.
Real DivideNarrow(Real a, Real b, PrimitiveType type) {
  const llvm::APFloat* divisor = ConstantOf(b);
  if (divisor == nullptr || !IsDividedByProduct(divisor->convertToFloat(), type)) return DivideReals(a, b, false);
  return a * (1 / divisor->convertToFloat());
}

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

// Of a float in registers; f16 in its own bits: what is denormal there is not in f32, where it would round otherwise or
// vanish.
Integer ReducePrecision(Integer bits, int own_mantissa, const hlo::Instruction& instruction) {
  const auto& attributes = instruction.Get<hlo::ReducePrecisionAttributes>();
  return ReducePrecision(bits, bits.bits(), own_mantissa, attributes.exponent_bits, attributes.mantissa_bits);
}

template <llvm::Intrinsic::ID id>
Real Rounded(Real x) {
  return {x.builder(), x.builder().Call(id, {x})};
}

// Functions of one and of two operands: of real numbers and, where there is one that gives one, of complex numbers.
struct UnaryFunction {
  Opcode opcode;
  Real (*real)(Real);
  math::Complex (*complex)(math::Complex) = nullptr;
};

struct BinaryFunction {
  Opcode opcode;
  Real (*real)(Real, Real);
  math::Complex (*complex)(math::Complex, math::Complex) = nullptr;
};

// clang-format off
constexpr UnaryFunction kUnaryFunctions[] = {
    {Opcode::kAbs,              [](Real x) { return x.Abs(); }},
    {Opcode::kAcos,             math::Acos,                      math::Acos},
    {Opcode::kAcosh,            math::Acosh,                     math::Acosh},
    {Opcode::kAsin,             math::Asin,                      math::Asin},
    {Opcode::kAsinh,            math::Asinh,                     math::Asinh},
    {Opcode::kAtanh,            math::Atanh,                     math::Atanh},
    {Opcode::kCbrt,             math::Cbrt,                      math::Cbrt},
    {Opcode::kCeil,             Rounded<llvm::Intrinsic::ceil>},
    {Opcode::kCos,              math::Cos,                       math::Cos},
    {Opcode::kCosh,             math::Cosh,                      math::Cosh},
    {Opcode::kErf,              math::Erf},
    {Opcode::kErfc,             math::Erfc},
    {Opcode::kExp,              math::Exp,                       math::Exp},
    {Opcode::kExp2,             math::Exp2,                      math::Exp2},
    {Opcode::kExpMinusOne,      math::Expm1,                     math::Expm1},
    {Opcode::kFloor,            Floor},
    {Opcode::kLog,              math::Log,                       math::Log},
    {Opcode::kLog2,             math::Log2,                      math::Log2},
    {Opcode::kLogPlusOne,       math::Log1p,                     math::Log1p},
    {Opcode::kLogistic,         math::Logistic,                  math::Logistic},
    {Opcode::kNegate,           [](Real x) { return -x; },       math::operator-},
    {Opcode::kRoundNearestAfz,  Rounded<llvm::Intrinsic::round>},
    {Opcode::kRoundNearestEven, RoundEven},
    {Opcode::kRsqrt,            math::Rsqrt,                     math::Rsqrt},
    {Opcode::kSign,             math::Sign,                      math::Sign},
    {Opcode::kSin,              math::Sin,                       math::Sin},
    {Opcode::kSinh,             math::Sinh,                      math::Sinh},
    {Opcode::kSqrt,             Sqrt,                            math::Sqrt},
    {Opcode::kTan,              math::Tan,                       math::Tan},
    {Opcode::kTanh,             math::Tanh,                      math::Tanh},
};

constexpr BinaryFunction kBinaryFunctions[] = {
    {Opcode::kAdd,       [](Real a, Real b) { return a + b; }, math::operator+},
    {Opcode::kAtan2,     math::Atan2,                          math::Atan2},
    {Opcode::kDivide,    [](Real a, Real b) { return a / b; }, math::Divide},
    {Opcode::kMultiply,  [](Real a, Real b) { return a * b; }, math::Multiply},
    {Opcode::kPower,     math::Pow,                            math::Pow},
    {Opcode::kRemainder, math::Fmod},
    {Opcode::kSubtract,  [](Real a, Real b) { return a - b; }, math::operator-},
};
// clang-format on

// The row of `opcode` in one of these tables, or null.
template <typename Table>
auto FunctionOf(Opcode opcode, const Table& table) -> decltype(&table[0]) {
  const auto row = std::find_if(std::begin(table), std::end(table), [&](const auto& r) { return r.opcode == opcode; });
  return row == std::end(table) ? nullptr : row;
}

}  // namespace

bool HasHalfInstruction(Target target, Opcode opcode, PrimitiveType type) {
  // Quotients and roots take 1.5 to 1.8 times as long as in f32 (Emerald Rapids).
  constexpr Opcode kInstructions[] = {Opcode::kAdd,     Opcode::kSubtract,        Opcode::kMultiply,
                                      Opcode::kMaximum, Opcode::kMinimum,         Opcode::kFloor,
                                      Opcode::kCeil,    Opcode::kRoundNearestEven};
  return target == Target::kCpu && type == PrimitiveType::kF16 && HasHalfArithmetic() &&
         absl::c_linear_search(kInstructions, opcode);
}

llvm::Value* ScalarEmitter::HasReciprocalNow(const Value& divisor) const {
  const Real b = Widen(divisor);
  const int width = b.mantissa_bits();
  const int64_t mantissa = (int64_t{1} << width) - 1;
  const auto least = [&](int exponent) { return int64_t{exponent - 1 + b.exponent_bias()} << width; };
  const Integer bits = b.AsInteger(), magnitude = bits.Shl(1).Shr(1);
  const int64_t low = least(-kMaxExponent), high = least(kMaxExponent + 1);
  return (magnitude - low).Below(magnitude.Constant(high - low)) & ((bits & mantissa) != bits.Constant(mantissa));
}

Value ScalarEmitter::ReciprocalOf(const Value& divisor) const {
  const Real b = Widen(divisor);
  return Of(b.bits() == 64 ? PrimitiveType::kF64 : PrimitiveType::kF32, 1.0 / b);
}

Value ScalarEmitter::DivideByReciprocal(const Value& dividend, const Value& divisor, const Value& reciprocal) const {
  const Real a = Widen(dividend), r(b_, reciprocal.value);
  // IsDividedByProduct says why.
  if (dividend.type == PrimitiveType::kBF16) {
    return Narrow(a * r, dividend.type, /*has_plain_nan=*/b_.target == Target::kCpu);
  }
  return Narrow(DivideCorrected(a, Widen(divisor), r, dividend.is_moderate), dividend.type);
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
  const bool changes_sign = opcode == Opcode::kNegate || opcode == Opcode::kAbs;
  if ((changes_sign && (type == PrimitiveType::kBF16 || type == PrimitiveType::kF16)) ||
      (opcode == Opcode::kReducePrecision && type == PrimitiveType::kF16)) {
    // In 16 bits.
    Integer bits(b_, b_.ir.CreateBitCast(operands[0].value, b_.IntType(16)));
    Integer changed = opcode == Opcode::kNegate ? bits ^ 0x8000
                      : opcode == Opcode::kAbs  ? bits & 0x7fff
                                                : ReducePrecision(bits, 10, instruction);
    return Of(type, b_.ir.CreateBitCast(changed, RegisterType(type)));
  }
  const bool in_half = HasHalfInstruction(b_.target, opcode, type);
  const auto real = [&](const Value& value) { return in_half ? Real(b_, value.value) : Widen(value); };
  Real a = real(operands[0]);
  if (opcode == Opcode::kReducePrecision) {
    return Narrow(ReducePrecision(a.AsInteger(), a.mantissa_bits(), instruction).AsReal(), type);
  }
  const bool has_plain_nan = b_.target == Target::kCpu && (operands.size() == 1 || IsFieldOperation(opcode));
  const auto rounded = [&](Real result) { return Narrow(result, type, has_plain_nan); };
  if (type == PrimitiveType::kF16 && opcode == Opcode::kExp) return rounded(math::ExpOfHalf(a));
  if (opcode == Opcode::kExp && analysis::RangeOf(*instruction.operand(0)).high <= 0) {
    return rounded(math::ExpFlushed(a, /*may_be_large=*/false));
  }
  if (opcode == Opcode::kExp && analysis::RowShiftOf(*instruction.operand(0)) != analysis::RowShift::kNone) {
    return rounded(math::ExpFlushed(a, /*may_be_large=*/true));
  }
  if (opcode == Opcode::kLogPlusOne && IsOfUnit(*instruction.operand(0))) return rounded(math::Log1pOfUnit(a));
  if (type == PrimitiveType::kF16 && opcode == Opcode::kLogistic) return rounded(math::LogisticOfHalf(a));
  if (opcode == Opcode::kErf && hlo::BitWidth(type) == 16) return rounded(math::ErfOf16Bits(a));
  const auto narrow = [&](Real result) { return in_half ? Of(type, result) : rounded(result); };
  if (const UnaryFunction* unary = FunctionOf(opcode, kUnaryFunctions)) return narrow(unary->real(a));
  if (opcode == Opcode::kDivide && operands.size() == 3 && HasFma()) {
    return rounded(DivideCorrected(a, Widen(operands[1]), Widen(operands[2]), operands[0].is_moderate));
  }
  if (opcode == Opcode::kDivide && hlo::BitWidth(type) == 16) {
    return rounded(DivideNarrow(a, Widen(operands[1]), type));
  }
  if (opcode == Opcode::kDivide) return rounded(DivideReals(a, Widen(operands[1]), operands[0].is_moderate));
  if (const BinaryFunction* binary = FunctionOf(opcode, kBinaryFunctions)) {
    return narrow(binary->real(a, real(operands[1])));
  }
  if (opcode != Opcode::kFma) return Undefined(instruction, type);
  return rounded(Fma(a, Widen(operands[1]), Widen(operands[2])));
}

absl::StatusOr<Value> ScalarEmitter::Complex(const hlo::Instruction& instruction, absl::Span<const Value> operands) {
  const PrimitiveType type = operands[0].type;
  const Opcode opcode = instruction.opcode();
  auto number = [&](const Value& value) { return math::Complex{Real(b_, value.value), Real(b_, value.imaginary)}; };
  const math::Complex z = number(operands[0]);
  if (opcode == Opcode::kAbs) return Of(hlo::ComplexComponentType(type), math::Abs(z));
  if (opcode == Opcode::kIsFinite) {
    return Of(PrimitiveType::kPred, (z.re.Abs() < z.re.Infinity()) & (z.im.Abs() < z.im.Infinity()));
  }
  if (opcode == Opcode::kMaximum || opcode == Opcode::kMinimum) {
    return MinMax(operands[0], operands[1], opcode == Opcode::kMaximum);
  }
  auto done = [&](math::Complex r) { return Value{type, r.re, r.im}; };
  const UnaryFunction* unary = FunctionOf(opcode, kUnaryFunctions);
  if (unary != nullptr && unary->complex != nullptr) return done(unary->complex(z));
  const BinaryFunction* binary = FunctionOf(opcode, kBinaryFunctions);
  if (binary != nullptr && binary->complex != nullptr) return done(binary->complex(z, number(operands[1])));
  return Undefined(instruction, type);
}

}  // namespace kiln::kernel
