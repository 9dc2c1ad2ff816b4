// Conversions between all element types, the narrow floats among them by integer operations that keep subnormals.
#include <cmath>

#include "llvm/IR/IntrinsicsX86.h"
#include "src/base/isa_level.h"
#include "src/hlo/elements.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::kernel {

using hlo::PrimitiveType;
using hlo::TypeClass;

namespace {

constexpr int64_t kF32Infinity = 0x7f800000;
constexpr int64_t kF32Nan = 0x7fc00000;

Real DecodeExponentOnly(Integer bits) {
  Integer wide = bits.ZeroExtend(32);
  // The code is f32's exponent field; code 0 is 2^-127, a subnormal.
  Integer value = Select(wide == 0, 0x00400000, wide.Shl(23));
  return Select(wide == 0xFF, kF32Nan, value).AsReal();
}

Integer EncodeExponentOnly(Real f32) {
  Integer u = f32.AsInteger();
  Integer exponent = u.Shr(23);
  Integer mantissa = u & 0x7fffff;
  // From halfway on up to the next power. The lowest one, 2^-127, is a subnormal f32, and what is above it goes up.
  Integer below_half = Select(exponent == 0, mantissa.Constant(0x400000), mantissa.Constant(0x3fffff));
  Integer code = exponent + Select(mantissa > below_half, mantissa.Constant(1), mantissa.Constant(0));
  Mask valid = f32 > 0.0;
  // Above 254 the power of two is past the format (infinity and NaN included).
  return Select(valid & (code < 255), code, 0xFF).ZeroExtend(8);
}

// Bits of an f8*, f4* or bf16 type (f8e8m0fnu included) as f32; exact.
Real DecodeSmallFloat(PrimitiveType type, Integer bits) {
  if (type == PrimitiveType::kBF16) return bits.ZeroExtend(32).Shl(16).AsReal();
  if (type == PrimitiveType::kF8E8M0FNU) return DecodeExponentOnly(bits);
  const FloatFormat format = *hlo::NarrowFormat(type);
  const int m = format.mantissa_bits;
  const int magnitude_bits = format.exponent_bits + m;
  const int64_t all = (1 << magnitude_bits) - 1;
  Integer wide = bits.ZeroExtend(32);
  Integer code = wide & all;
  Integer normal = code.Shl(23 - m) + (static_cast<int64_t>(127 - format.bias) << 23);
  // Subnormals count units of 2^(1 - bias - m): put below a power of two whose unit that is, then subtract it.
  const double unit_base = std::ldexp(1.0, 23 + 1 - format.bias - m);
  const int64_t unit_base_bits = static_cast<int64_t>(23 + 1 - format.bias - m + 127) << 23;
  Integer subnormal = ((code | unit_base_bits).AsReal() - unit_base).AsInteger();
  Integer value = Select(code < (1 << m), subnormal, normal);
  Integer sign = wide.Shr(magnitude_bits).Shl(31);
  switch (format.specials) {
    case FloatSpecials::kIeee: {
      const int64_t infinity = all - ((1 << m) - 1);
      value = Select(code < infinity, value, code.Shl(23 - m) | kF32Infinity);
      break;
    }
    case FloatSpecials::kFinite:
      value = Select(code == all, kF32Nan, value);
      break;
    case FloatSpecials::kUnsigned0:
      value = Select(wide == (1 << magnitude_bits), kF32Nan, value);
      break;
    case FloatSpecials::kNone:
      break;
  }
  return (value | sign).AsReal();
}

// f32 rounded to the upper half of its bits, the lower half zero but for NaN. Of a plain NaN it is zero before.
Integer RoundUpperHalf(Real f32, bool has_plain_nan) {
  const VectorBuilder& b = f32.builder();
  const Integer u = f32.AsInteger();
  // Half a unit, or a little less where the upper half is even. Masks make five instructions of all this instead of
  // seven: bf16 gelu takes 0.94 of the time.
  const bool has_masks = b.target == Target::kCpu && b.lanes >= 16 && HasAvx512();
  const Integer half =
      has_masks ? Select((u & 0x10000) == 0, u.Constant(0x7fff), u.Constant(0x8000)) : (u.Shr(16) & 1) + 0x7fff;
  const Integer rounded = (u + half) & ~int64_t{0xffff};
  return has_plain_nan ? rounded : Select(f32 == f32, rounded, u.Constant(kF32Nan));
}

// The same in one instruction, as 16 bits. It takes subnormals for zeros: these are rounded as numbers of the next
// exponent, whose mantissas mean the same.
Integer ConvertToBrain(Real f32, bool may_be_subnormal) {
  const VectorBuilder& b = f32.builder();
  const Integer u = f32.AsInteger();
  const Mask is_subnormal = (u & kF32Infinity) == 0;
  const Real number = may_be_subnormal ? Select(is_subnormal, u | 0x00800000, u).AsReal() : f32;
  llvm::Value* brain = b.ir.CreateFPTrunc(number, b.Vector(llvm::Type::getBFloatTy(b.context())));
  const Integer code(b, b.ir.CreateBitCast(brain, b.IntType(16)));
  return may_be_subnormal ? Select(is_subnormal, code - 0x80, code) : code;
}

Integer EncodeBrain(Real f32, bool is_whole, bool has_plain_nan) {
  // Single numbers go by other registers, beside what is done to vectors.
  const VectorBuilder& b = f32.builder();
  const bool has_conversion = b.target == Target::kCpu && b.lanes > 1 && HasBrainConversions();
  return has_conversion ? ConvertToBrain(f32, !b.flushes_subnormals && !is_whole)
                        : RoundUpperHalf(f32, has_plain_nan).Shr(16).ZeroExtend(16);
}

// f32 as bf16 and back, for ops that go on with it. One number is the first lane of a vector meanwhile: from a
// processor's vector registers to the others and back takes longer than what is done to it there.
Real RoundInPlace(Real f32, bool has_plain_nan) {
  constexpr int kLanes = 4;
  const VectorBuilder& b = f32.builder();
  if (b.target != Target::kCpu || b.lanes > 1 || llvm::isa<llvm::Constant>(f32.value())) {
    return RoundUpperHalf(f32, has_plain_nan).AsReal();
  }
  const VectorBuilder wide{b.ir, kLanes, b.target};
  llvm::Value* all = b.ir.CreateInsertElement(llvm::PoisonValue::get(wide.FloatType()), f32, uint64_t{0});
  return {b, b.ir.CreateExtractElement(RoundUpperHalf(Real(wide, all), has_plain_nan).AsReal(), uint64_t{0})};
}

// f32 to the bits of such a type other than bf16: to nearest even, special values as in base/small_float.h.
Integer EncodeSmallFloat(PrimitiveType type, Real f32) {
  if (type == PrimitiveType::kF8E8M0FNU) return EncodeExponentOnly(f32);
  Integer u = f32.AsInteger();
  const FloatFormat format = *hlo::NarrowFormat(type);
  const int m = format.mantissa_bits;
  const int magnitude_bits = format.exponent_bits + m;
  const int64_t all = (1 << magnitude_bits) - 1;
  const int64_t sign_bit = 1 << magnitude_bits;
  Integer magnitude = u & 0x7fffffff;
  Integer sign = u.Shr(31).Shl(magnitude_bits);
  // Normal: add just under half a unit plus the lowest kept bit, then rebias.
  Integer rounded = magnitude + (magnitude.Shr(23 - m) & 1) + ((1 << (22 - m)) - 1);
  Integer normal = rounded.Shr(23 - m) - (static_cast<int64_t>(127 - format.bias) << m);
  // Subnormal: adding a power of two whose unit is the format's smallest value lets the FPU round.
  const int base_exponent = 23 + 1 - format.bias - m;
  Integer subnormal = (magnitude.AsReal() + std::ldexp(1.0, base_exponent)).AsInteger() -
                      (static_cast<int64_t>(base_exponent + 127) << 23);
  Integer code = Select(magnitude < (static_cast<int64_t>(128 - format.bias) << 23), subnormal, normal);
  Mask nan = f32.IsNan();
  switch (format.specials) {
    case FloatSpecials::kIeee: {
      const int64_t infinity = all - ((1 << m) - 1);
      code = Select(code < infinity, code, infinity);
      code = Select(nan, infinity | (1 << (m - 1)), code) | sign;
      break;
    }
    case FloatSpecials::kFinite:
      code = Select(nan | !(code < all), all, code) | sign;
      break;
    case FloatSpecials::kUnsigned0: {
      Mask special = nan | (code > all);
      code = Select(code == 0, code, code | sign);
      code = Select(special, sign_bit, code);
      break;
    }
    case FloatSpecials::kNone:
      code = Select(code < all, code, all) | sign;
      code = Select(nan, sign_bit, code);
      break;
  }
  return code.ZeroExtend(8);
}

// f64 to f32 with the lowest bit set when inexact, so that rounding it again to fewer bits gives what rounding the f64
// directly would.
Real RoundToOddF32(Real f64) {
  Real nearest = f64.To(32);
  Real back = nearest.To(64);
  Integer bits = nearest.AsInteger();
  // Towards zero first: the magnitude's code is one less where rounding went up.
  Mask up = back.Abs() > f64.Abs();
  Integer truncated = Select(up, bits - 1, bits);
  Mask inexact = back.Compare(llvm::CmpInst::FCMP_ONE, f64);
  return Select(inexact, truncated | 1, truncated).AsReal();
}

constexpr uint32_t kTowardsZero = 11;

// The same of vectors, in fewer instructions, but for what is subnormal in f32: that is only rounded towards zero.
Real RoundToOddNormalF32(Real f64) {
  constexpr int kLanes = 8;
  const VectorBuilder& builder = f64.builder();
  const Real truncated(builder, InPieces(builder, kLanes, {f64}, [&](llvm::ArrayRef<llvm::Value*> pieces) {
                         llvm::IRBuilderBase& ir = builder.ir;
                         llvm::Type* floats = llvm::FixedVectorType::get(ir.getFloatTy(), kLanes);
                         return ir.CreateIntrinsic(
                             llvm::Intrinsic::x86_avx512_mask_cvtpd2ps_512, {},
                             {pieces[0], llvm::PoisonValue::get(floats), ir.getInt8(0xff), ir.getInt32(kTowardsZero)});
                       }));
  const Integer code = truncated.AsInteger();
  return Select((f64.AsInteger() & 0x1fffffff) != 0, code | 1, code).AsReal();
}

// `x` with bit `bit` set where a lower one was, and those cleared.
Integer FoldBelow(Integer x, int bit) {
  const int64_t lower = (int64_t{1} << bit) - 1;
  return (x & ~lower) | (((x & lower) + lower) & (lower + 1));
}

// `x` with at most `kept` significant bits, the lowest of which is set where the value is not exact.
Integer FoldInexact(Integer x, bool is_signed, int kept) {
  const int bits = x.bits(), lost = bits - kept - (is_signed ? 1 : 0);
  Integer top = is_signed ? x.Sar(kept) : x.Shr(kept);
  Mask fits = is_signed ? ((top == 0) | (top == -1)) : (top == 0);
  return Select(fits, x, FoldBelow(x, lost));
}

// An integer of 64 bits as f32, the lowest bit set when inexact: rounded towards zero, which the way back tells.
Real RoundToOddF32(Integer x, bool is_signed) {
  constexpr int kLanes = 8;
  const VectorBuilder& builder = x.builder();
  const llvm::Intrinsic::ID id =
      is_signed ? llvm::Intrinsic::x86_avx512_sitofp_round : llvm::Intrinsic::x86_avx512_uitofp_round;
  const Real truncated(
      builder, InPieces(builder, kLanes, {x}, [&](llvm::ArrayRef<llvm::Value*> pieces) {
        llvm::IRBuilderBase& ir = builder.ir;
        llvm::Type* floats = llvm::FixedVectorType::get(ir.getFloatTy(), kLanes);
        return ir.CreateIntrinsic(id, {floats, pieces[0]->getType()}, {pieces[0], ir.getInt32(kTowardsZero)});
      }));
  llvm::Value* back = is_signed ? builder.ir.CreateFPToSI(truncated, x.value()->getType())
                                : builder.ir.CreateFPToUI(truncated, x.value()->getType());
  const Integer code = truncated.AsInteger();
  return Select(Integer(builder, back) == x, code, code | 1).AsReal();
}

}  // namespace

Integer ScalarEmitter::Wrap(PrimitiveType type, Integer value) const {
  const int bits = hlo::BitWidth(type);
  if (bits >= 8) return value;
  if (hlo::ClassOf(type) == TypeClass::kSigned) return value.Shl(8 - bits).Sar(8 - bits);
  return value & ((1 << bits) - 1);
}

Real ScalarEmitter::Widen(const Value& value) const {
  switch (value.type) {
    case PrimitiveType::kF32:
    case PrimitiveType::kF64:
      return {b_, value.value};
    case PrimitiveType::kF16: {
      llvm::Value* wide = b_.ir.CreateFPExt(value.value, b_.FloatType());
      // LLVM compares what was extended before it is extended: lane by lane on CPUs without arithmetic on halves, and
      // with operands exchanged by mistake on others (LessOfHalves).
      const bool is_fenced = b_.target == Target::kCpu && !llvm::isa<llvm::Constant>(wide);
      return {b_, is_fenced ? b_.ir.CreateArithmeticFence(wide, wide->getType()) : wide};
    }
    default:
      if (value.unrounded == nullptr) return DecodeSmallFloat(value.type, IntegerOf(value));
      return RoundInPlace({b_, value.unrounded}, value.has_plain_nan);
  }
}

Value ScalarEmitter::Narrow(Real value, PrimitiveType to, bool has_plain_nan) const {
  if (to == PrimitiveType::kF64) return Of(to, value.To(64));
  if (to == PrimitiveType::kF32) return Of(to, value.To(32));
  // All numbers of these that are not zero are normal in f32.
  const bool is_normal = to != PrimitiveType::kBF16 && to != PrimitiveType::kF8E8M0FNU;
  const bool in_vectors = b_.target == Target::kCpu && b_.lanes > 1 && HasAvx512();
  Real single = value.bits() == 32        ? value
                : is_normal && in_vectors ? RoundToOddNormalF32(value)
                                          : RoundToOddF32(value);
  // No code for zero: what is zero in f32 becomes NaN.
  if (to == PrimitiveType::kF8E8M0FNU && value.bits() == 64) single = kernel::Select(value.To(32) == 0.0, 0.0, single);
  if (to == PrimitiveType::kF16) return Of(to, b_.ir.CreateFPTrunc(single, b_.HalfType()));
  if (to != PrimitiveType::kBF16) return Of(to, EncodeSmallFloat(to, single));
  Value rounded = Of(to, EncodeBrain(single, /*is_whole=*/false, has_plain_nan));
  rounded.unrounded = single;
  rounded.has_plain_nan = has_plain_nan;
  return rounded;
}

Value ScalarEmitter::IntegerToFloat(const Value& operand, PrimitiveType to) const {
  const bool is_signed = hlo::ClassOf(operand.type) == TypeClass::kSigned;
  Integer x = IntegerOf(operand);
  auto real = [&](Integer i, int bits) { return is_signed ? i.SignedToReal(bits) : i.UnsignedToReal(bits); };
  if (to == PrimitiveType::kF64) return Of(to, real(x, 64));
  if (to == PrimitiveType::kF32) return Of(to, real(x, 32));
  // Up to 16 bits are exact in f32; f16 overflows before f32 starts to round. f32 rounds no more where what is below
  // the bits that it keeps only tells that the value is not exact.
  const int bits = hlo::BitWidth(operand.type);
  const auto single = [&]() -> Real {
    if (bits <= 16 || to == PrimitiveType::kF16) return real(x, 32);
    if (bits == 32) return real(FoldInexact(x, is_signed, 24), 32);
    if (b_.target == Target::kCpu && b_.lanes > 1 && HasAvx512()) return RoundToOddF32(x, is_signed);
    return FoldBelow(real(FoldInexact(x, is_signed, 53), 64).AsInteger(), 29).AsReal().To(32);
  };
  const Real whole = single();
  if (to != PrimitiveType::kBF16) return Narrow(whole, to);
  Value rounded = Of(to, EncodeBrain(whole, /*is_whole=*/true, /*has_plain_nan=*/true));
  rounded.unrounded = whole;
  rounded.has_plain_nan = true;
  return rounded;
}

Value ScalarEmitter::FloatToInteger(Real x, PrimitiveType to) const {
  const int to_bits = hlo::BitWidth(to);
  const bool is_signed = hlo::ClassOf(to) == TypeClass::kSigned;
  const double limit = std::ldexp(1.0, is_signed ? to_bits - 1 : to_bits);  // one past the largest
  const double low = is_signed ? -limit : 0.0;
  auto cast = [&](Real r, int bits, bool signed_cast) {
    llvm::Value* v = signed_cast ? b_.ir.CreateFPToSI(r, b_.IntType(bits)) : b_.ir.CreateFPToUI(r, b_.IntType(bits));
    return Integer(b_, v);
  };
  if (to_bits < 32 || (to_bits == 32 && x.bits() == 64)) {
    // The bounds are exact: clamp first, cast through i32, which processors have in vectors.
    const Real above = is_signed ? AtLeast(x, low) : kernel::Select(x > 0.0, x, 0.0);
    const Real clamped = AtMost(above, limit - 1);
    const Real number = is_signed ? kernel::Select(x.IsNan(), 0.0, clamped) : clamped;
    if (to_bits < 32) return Of(to, cast(number, 32, true).SignExtend(hlo::ByteWidth(to) * 8));
    // Where only signed casts are in vectors: in the lowest bits of a sum.
    const bool is_sum = !is_signed && b_.target == Target::kCpu && b_.lanes > 1 && !HasAvx512();
    return Of(to, is_sum ? (Trunc(number) + 0x1p52).AsInteger().ZeroExtend(32) : cast(number, 32, is_signed));
  }
  // Out of range the cast gives anything; freeze makes that harmless, and the selects replace it.
  Integer any = cast(x, to_bits, is_signed);
  Integer result(b_, b_.ir.CreateFreeze(any));
  const int64_t largest = static_cast<int64_t>(is_signed ? (~uint64_t{0} >> (65 - to_bits)) : ~uint64_t{0});
  const int64_t smallest = is_signed ? static_cast<int64_t>(uint64_t{1} << (to_bits - 1)) : 0;
  result = kernel::Select(x >= limit, largest, result);
  if (is_signed) {
    result = kernel::Select(x < low, smallest, result);
    return Of(to, kernel::Select(x.IsNan(), int64_t{0}, result));
  }
  return Of(to, kernel::Select(x >= 0.0, result, int64_t{0}));
}

Value ScalarEmitter::Convert(const Value& operand, PrimitiveType to) {
  const PrimitiveType from = operand.type;
  if (from == to) return operand;
  const TypeClass from_class = hlo::ClassOf(from), to_class = hlo::ClassOf(to);
  if (to_class == TypeClass::kComplex) {
    const PrimitiveType part = hlo::ComplexComponentType(to);
    if (from_class == TypeClass::kComplex) {
      const PrimitiveType from_part = hlo::ComplexComponentType(from);
      return Value{to, Convert(Of(from_part, operand.value), part).value,
                   Convert(Of(from_part, operand.imaginary), part).value};
    }
    return Value{to, Convert(operand, part).value, Zero(part).value};
  }
  if (from_class == TypeClass::kComplex) {
    const PrimitiveType part = hlo::ComplexComponentType(from);
    if (to_class != TypeClass::kPred) return Convert(Of(part, operand.value), to);
    Mask real(b_, Convert(Of(part, operand.value), to).value);
    Mask imaginary(b_, Convert(Of(part, operand.imaginary), to).value);
    return Of(to, real | imaginary);
  }
  if (to_class == TypeClass::kPred) {
    if (from_class == TypeClass::kFloat) return Of(to, Widen(operand) != 0.0);
    return Of(to, IntegerOf(operand) != 0);
  }
  if (from_class == TypeClass::kFloat) {
    return to_class == TypeClass::kFloat ? Narrow(Widen(operand), to) : FloatToInteger(Widen(operand), to);
  }
  if (to_class == TypeClass::kFloat) {
    if (from_class != TypeClass::kPred) return IntegerToFloat(operand, to);
    Real one(b_, llvm::ConstantFP::get(b_.FloatType(to == PrimitiveType::kF64 ? 64 : 32), 1.0));
    Value on = Narrow(one, to), off = Narrow(one.Constant(0.0), to);
    return Select(operand.value, on, off);
  }
  const int bits = hlo::ByteWidth(to) * 8;
  const Integer x = IntegerOf(operand);
  return Of(to, Wrap(to, from_class == TypeClass::kSigned ? x.SignExtend(bits) : x.ZeroExtend(bits)));
}

namespace {

struct FloatRange {
  int mantissa_bits;
  double least_normal, largest;
};

// Of a type with fewer digits than a float of `bits`, or nothing.
std::optional<FloatRange> RangeOf(PrimitiveType type, int bits) {
  if (type == PrimitiveType::kF32) {
    return bits == 64 ? std::optional<FloatRange>({23, 0x1p-126, 0x1.fffffep127}) : std::nullopt;
  }
  const FloatFormat* format = hlo::NarrowFormat(type);
  if (format == nullptr) return std::nullopt;
  uint32_t code = (uint32_t{1} << (format->exponent_bits + format->mantissa_bits)) - 1;
  if (format->specials == FloatSpecials::kIeee) code -= uint32_t{1} << format->mantissa_bits;
  if (format->specials == FloatSpecials::kFinite) --code;
  return FloatRange{format->mantissa_bits, std::ldexp(1.0, 1 - format->bias), DecodeFloat(*format, code)};
}

}  // namespace

absl::StatusOr<Value> ScalarEmitter::StochasticConvert(const hlo::Instruction& instruction, const Value& operand,
                                                       const Value& random) {
  const PrimitiveType to = instruction.shape().element_type();
  const bool to_float = hlo::ClassOf(to) == TypeClass::kFloat && to != PrimitiveType::kF8E8M0FNU;
  if (hlo::ClassOf(operand.type) != TypeClass::kFloat || (!hlo::IsSignedIntegral(to) && !to_float) ||
      !hlo::IsUnsignedIntegral(random.type) || hlo::BitWidth(random.type) < 8) {
    return Undefined(instruction, operand.type);
  }
  Real x = Widen(operand);
  const std::optional<FloatRange> range = to_float ? RangeOf(to, x.bits()) : std::nullopt;
  if (to_float && !range.has_value()) return Convert(operand, to);
  // In units of the result's last place. Away from zero by one with the probability of the fraction: random bits are
  // the fraction's threshold.
  Real magnitude = x.Abs();
  Real unit = x.Constant(1.0);
  if (to_float) {
    Real power = (magnitude.AsInteger() & ~((int64_t{1} << x.mantissa_bits()) - 1)).AsReal();
    unit = kernel::Select(power > range->least_normal, power, x.Constant(range->least_normal)) *
           std::ldexp(1.0, -range->mantissa_bits);
  }
  Real units = magnitude / unit;
  Real whole = Trunc(units);
  const int random_bits = hlo::BitWidth(random.type);
  Real scaled = (units - whole) * std::ldexp(1.0, random_bits);
  Integer threshold(b_, FloatToInteger(scaled, random.type).value);
  Mask up = IntegerOf(random).Below(threshold) & (magnitude < magnitude.Infinity());
  Real rounded = CopySign(whole + kernel::Select(up, whole.Constant(1.0), whole.Constant(0.0)), x);
  if (!to_float) return FloatToInteger(rounded, to);
  return Narrow(kernel::Select(magnitude <= range->largest, rounded * unit, x), to);
}

}  // namespace kiln::kernel
