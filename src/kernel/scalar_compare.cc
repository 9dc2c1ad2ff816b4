// Compare, select, clamp, minimum and maximum.
#include <numeric>
#include <utility>

#include "llvm/IR/IntrinsicsX86.h"
#include "src/base/isa_level.h"
#include "src/hlo/elements.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::kernel {

using hlo::ComparisonDirection;
using hlo::ComparisonType;
using hlo::PrimitiveType;
using hlo::TypeClass;
using llvm::CmpInst;

namespace {

// By ComparisonDirection. Floats are ordered: false for NaN, but that it is not equal to anything.
constexpr CmpInst::Predicate kSigned[] = {CmpInst::ICMP_EQ,  CmpInst::ICMP_NE,  CmpInst::ICMP_SGE,
                                          CmpInst::ICMP_SGT, CmpInst::ICMP_SLE, CmpInst::ICMP_SLT};
constexpr CmpInst::Predicate kFloat[] = {CmpInst::FCMP_OEQ, CmpInst::FCMP_UNE, CmpInst::FCMP_OGE,
                                         CmpInst::FCMP_OGT, CmpInst::FCMP_OLE, CmpInst::FCMP_OLT};

CmpInst::Predicate IntegerPredicate(ComparisonDirection direction, bool is_signed) {
  const CmpInst::Predicate predicate = kSigned[static_cast<int>(direction)];
  return is_signed ? predicate : llvm::ICmpInst::getUnsignedPredicate(predicate);
}

CmpInst::Predicate FloatPredicate(ComparisonDirection direction) { return kFloat[static_cast<int>(direction)]; }

// Of f16 by its own instructions, but for those that compare: LLVM 19 exchanges the operands of one under a mask, to
// load the other one, and keeps the direction. A difference is below zero where the first operand is less, which no
// subnormal number is flushed for; that of equal infinities is NaN.
Mask LessOfHalves(Real a, Real b) {
  constexpr int64_t kBehindZero = 0x8001, kInfinity = 0x7c00;
  const Integer difference = (a - b).AsInteger();
  return (difference - kBehindZero).Below(difference.Constant(kInfinity));
}

Mask CompareHalves(ComparisonDirection direction, Real a, Real b) {
  switch (direction) {
    case ComparisonDirection::kEq:
      return a == b;
    case ComparisonDirection::kNe:
      return a != b;
    case ComparisonDirection::kLt:
      return LessOfHalves(a, b);
    case ComparisonDirection::kLe:
      return LessOfHalves(a, b) | (a == b);
    case ComparisonDirection::kGt:
      return LessOfHalves(b, a);
    case ComparisonDirection::kGe:
      break;
  }
  return LessOfHalves(b, a) | (a == b);
}

// The larger (or smaller) of two halves in one instruction; the second where one is NaN or both are zeros.
Real ExtremeOfHalves(Real a, Real b, bool is_max) {
  const VectorBuilder& builder = a.builder();
  const int lanes = builder.lanes > 16 ? 32 : builder.lanes > 8 ? 16 : 8;
  using namespace llvm::Intrinsic;  // NOLINT(build/namespaces)
  const ID id = lanes == 32   ? (is_max ? x86_avx512fp16_max_ph_512 : x86_avx512fp16_min_ph_512)
                : lanes == 16 ? (is_max ? x86_avx512fp16_max_ph_256 : x86_avx512fp16_min_ph_256)
                              : (is_max ? x86_avx512fp16_max_ph_128 : x86_avx512fp16_min_ph_128);
  constexpr uint32_t kRoundAsElsewhere = 4;
  return {builder, InPieces(builder, lanes, {a, b}, [&](llvm::ArrayRef<llvm::Value*> pieces) {
            llvm::SmallVector<llvm::Value*, 3> arguments(pieces);
            if (lanes == 32) arguments.push_back(builder.ir.getInt32(kRoundAsElsewhere));
            return builder.ir.CreateIntrinsic(id, {}, arguments);
          })};
}

// Whether `v` may come second where a tie gives the second operand: it is a constant other than the zero that loses.
bool SettlesTies(const llvm::Value* v, bool is_max) {
  const llvm::APFloat* number = ConstantOf(v);
  return number != nullptr && !number->isNaN() && !(number->isZero() && number->isNegative() == is_max);
}

Real MinMaxOfHalves(Real x, Real y, bool is_max) {
  if (SettlesTies(x, is_max)) std::swap(x, y);
  const Real best = ExtremeOfHalves(x, y, is_max);
  if (SettlesTies(y, is_max)) return kernel::Select(x.IsNan(), x, best);
  const Integer i = best.AsInteger(), j = ExtremeOfHalves(y, x, is_max).AsInteger();
  return kernel::Select(x.Compare(CmpInst::FCMP_UNO, y), x + y, (is_max ? i & j : i | j).AsReal());
}

// The bits of halves or of bf16. Of f16 that it sees through, LLVM makes class tests number by number, so vectors of it
// are fenced, and as pairs: infinity is nothing special there.
Integer BitsOf(const VectorBuilder& b, PrimitiveType type, llvm::Value* value) {
  if (type == PrimitiveType::kF16 && b.lanes > 1 && !llvm::isa<llvm::Constant>(value)) {
    const int pairs = b.lanes / 2;
    value = b.ir.CreateBitCast(value, llvm::FixedVectorType::get(b.ir.getFloatTy(), pairs));
    value = b.ir.CreateArithmeticFence(value, value->getType());
  }
  return {b, b.ir.CreateBitCast(value, b.IntType(16))};
}

// Compares bf16 or f16 by their bits where these tell: whether a number equals itself or a constant, or is on one side
// of zero. Null where both are to be compared in f32.
llvm::Value* CompareByBits(const VectorBuilder& b, PrimitiveType type, ComparisonDirection direction, llvm::Value* lhs,
                           llvm::Value* rhs) {
  constexpr int64_t kMagnitude = 0x7fff, kSign = 0x8000;
  const int64_t infinity = type == PrimitiveType::kF16 ? 0x7c00 : 0x7f80;
  const bool is_equality = direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe;
  const auto equal = [&](Mask mask) { return direction == ComparisonDirection::kEq ? mask : !mask; };
  if (lhs == rhs) {
    if (!is_equality) return nullptr;
    const Integer x = BitsOf(b, type, lhs);
    return equal((x & kMagnitude).Below(x.Constant(infinity + 1))).value();
  }
  if (is_equality && llvm::isa<llvm::Constant>(lhs)) std::swap(lhs, rhs);
  const auto* constant = llvm::dyn_cast<llvm::Constant>(BitsOf(b, type, rhs).value());
  if (constant != nullptr && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* code = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
  if (code == nullptr) return nullptr;
  const int64_t magnitude = static_cast<int64_t>(code->getZExtValue()) & kMagnitude;
  // Numbers from the smallest one to infinity, of one sign.
  const auto beyond = [&](int64_t zero) {
    const Integer x = BitsOf(b, type, lhs);
    return (x - (zero + 1)).Below(x.Constant(infinity)).value();
  };
  if (magnitude == 0 && direction == ComparisonDirection::kGt) return beyond(0);
  if (magnitude == 0 && direction == ComparisonDirection::kLt) return beyond(kSign);
  if (!is_equality || magnitude > infinity) return nullptr;
  const Integer x = BitsOf(b, type, lhs);
  return equal(magnitude == 0 ? (x & kMagnitude) == 0 : x == static_cast<int64_t>(code->getSExtValue())).value();
}

}  // namespace

Integer TotalOrder(const VectorBuilder& b, PrimitiveType type, llvm::Value* value) {
  const int bits = hlo::BitWidth(type) < 8 ? 8 : hlo::BitWidth(type);
  Integer code(b, b.ir.CreateBitCast(value, b.IntType(bits)));
  if (type == PrimitiveType::kF8E8M0FNU) return code ^ 0x80;  // no sign: unsigned order
  // The only NaN has the code that is -0 elsewhere.
  const FloatFormat* format = hlo::NarrowFormat(type);
  if (format != nullptr && format->specials == FloatSpecials::kUnsigned0) {
    return kernel::Select(code < 0, kernel::Select(code == -128, code, -(code & 0x7f)), code);
  }
  if (bits > hlo::BitWidth(type)) code = code.Shl(bits - hlo::BitWidth(type));
  // Negative: all bits but the sign are flipped, so that a larger magnitude is smaller. Of signs that fill lanes, if it
  // knew of them, LLVM would make masks, of which processors have few.
  return code ^ (code.Sar(bits - 1).Opaque() & (INT64_MAX >> (64 - bits)));
}

Value ScalarEmitter::Select(llvm::Value* predicate, const Value& on_true, const Value& on_false) {
  Value result = Of(on_true.type, b_.ir.CreateSelect(predicate, on_true.value, on_false.value));
  if (on_true.imaginary != nullptr) {
    result.imaginary = b_.ir.CreateSelect(predicate, on_true.imaginary, on_false.imaginary);
  }
  return result;
}

llvm::Value* ScalarEmitter::CompareComplex(ComparisonDirection direction, const Value& lhs, const Value& rhs) {
  auto compare = [&](ComparisonDirection how, llvm::Value* a, llvm::Value* b) {
    return b_.ir.CreateFCmp(FloatPredicate(how), a, b);
  };
  llvm::Value* imaginary = compare(direction, lhs.imaginary, rhs.imaginary);
  if (direction == ComparisonDirection::kNe) {
    return b_.ir.CreateOr(compare(direction, lhs.value, rhs.value), imaginary);
  }
  llvm::Value* result = b_.ir.CreateAnd(compare(ComparisonDirection::kEq, lhs.value, rhs.value), imaginary);
  if (direction == ComparisonDirection::kEq) return result;
  // By the real parts first.
  const bool less = direction == ComparisonDirection::kLt || direction == ComparisonDirection::kLe;
  return b_.ir.CreateOr(result,
                        compare(less ? ComparisonDirection::kLt : ComparisonDirection::kGt, lhs.value, rhs.value));
}

absl::StatusOr<Value> ScalarEmitter::Compare(const hlo::Instruction& instruction, const Value& lhs, const Value& rhs) {
  const hlo::CompareAttributes& attributes = instruction.comparison();
  const PrimitiveType type = lhs.type;
  auto pred = [&](llvm::Value* v) { return Of(PrimitiveType::kPred, v); };
  switch (hlo::ClassOf(type)) {
    case TypeClass::kPred:
    case TypeClass::kUnsigned:
      return pred(b_.ir.CreateICmp(IntegerPredicate(attributes.direction, false), lhs.value, rhs.value));
    case TypeClass::kSigned: {
      const bool is_signed = attributes.type != ComparisonType::kUnsigned;
      return pred(b_.ir.CreateICmp(IntegerPredicate(attributes.direction, is_signed), lhs.value, rhs.value));
    }
    case TypeClass::kFloat:
      if (attributes.type == ComparisonType::kTotalOrder) {
        return pred(b_.ir.CreateICmp(IntegerPredicate(attributes.direction, true), TotalOrder(b_, type, lhs.value),
                                     TotalOrder(b_, type, rhs.value)));
      }
      if (type == PrimitiveType::kF16 && b_.target == Target::kCpu && HasHalfArithmetic()) {
        return pred(CompareHalves(attributes.direction, {b_, lhs.value}, {b_, rhs.value}));
      }
      if (type == PrimitiveType::kBF16 || (type == PrimitiveType::kF16 && b_.target == Target::kCpu)) {
        llvm::Value* by_bits = CompareByBits(b_, type, attributes.direction, lhs.value, rhs.value);
        if (by_bits != nullptr) return pred(by_bits);
      }
      return pred(b_.ir.CreateFCmp(FloatPredicate(attributes.direction), Widen(lhs), Widen(rhs)));
    case TypeClass::kComplex:
      return pred(CompareComplex(attributes.direction, lhs, rhs));
    case TypeClass::kNone:
      break;
  }
  return Undefined(instruction, type);
}

Value ScalarEmitter::MinMax(const Value& a, const Value& b, bool is_max) {
  const PrimitiveType type = a.type;
  switch (hlo::ClassOf(type)) {
    case TypeClass::kPred:
      return Of(type, is_max ? b_.ir.CreateOr(a.value, b.value) : b_.ir.CreateAnd(a.value, b.value));
    case TypeClass::kSigned:
      return Of(type,
                b_.ir.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, a.value, b.value));
    case TypeClass::kUnsigned:
      return Of(type,
                b_.ir.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin, a.value, b.value));
    case TypeClass::kComplex: {
      auto nan = [&](const Value& z) -> Mask { return Real(b_, z.value).IsNan() | Real(b_, z.imaginary).IsNan(); };
      Mask better(b_, CompareComplex(is_max ? ComparisonDirection::kGt : ComparisonDirection::kLt, a, b));
      return Select(nan(a) | (better & !nan(b)), a, b);
    }
    default:
      break;
  }
  if (hlo::BitWidth(type) == 16 && b_.target == Target::kGpu) {
    const Real best(b_, b_.Call(is_max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, {Widen(a), Widen(b)}));
    // Exact as it is: bf16 is the upper half.
    if (type == PrimitiveType::kBF16) return Of(type, best.AsInteger().Shr(16).ZeroExtend(16));
    return Narrow(best, type);
  }
  if (type == PrimitiveType::kF16 && HasHalfArithmetic()) {
    return Of(type, MinMaxOfHalves({b_, a.value}, {b_, b.value}, is_max));
  }
  if (hlo::BitWidth(type) == 16) {
    // In 16 bits: as many lanes again as wider ones, and the order of the bits tells zeros apart.
    Integer i = TotalOrder(b_, type, a.value), j = TotalOrder(b_, type, b.value);
    const auto bits = [&](llvm::Value* v) { return Integer(b_, b_.ir.CreateBitCast(v, b_.IntType(16))); };
    const auto is_nan = [&](llvm::Value* v) {
      return (bits(v) & 0x7fff) > (type == PrimitiveType::kF16 ? 0x7c00 : 0x7f80);
    };
    const llvm::Intrinsic::ID id = is_max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin;
    const Integer best = bits(TotalOrder(b_, type, b_.ir.CreateBinaryIntrinsic(id, i, j)));
    const Integer number = kernel::Select(is_nan(b.value), bits(b.value), best);
    return Of(type, b_.ir.CreateBitCast(kernel::Select(is_nan(a.value), bits(a.value), number), RegisterType(type)));
  }
  Real x = Widen(a), y = Widen(b);
  if (type != PrimitiveType::kF32 && type != PrimitiveType::kF64) {
    // The order of the bits tells zeros apart.
    Integer i = TotalOrder(b_, type, a.value), j = TotalOrder(b_, type, b.value);
    return Select(((is_max ? i > j : i < j) & !y.IsNan()) | x.IsNan(), a, b);
  }
  if (b_.target == Target::kGpu) {
    return Of(type, b_.Call(is_max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, {x, y}));
  }
  // Of equal numbers only zeros differ, in the sign.
  if (SettlesTies(x, is_max)) std::swap(x, y);
  if (SettlesTies(y, is_max)) {
    // One comparison, true of a NaN: two, of which one is of a magnitude with zero, LLVM 19 joins to one without regard
    // to the sign.
    return Of(type, kernel::Select(x.Compare(is_max ? CmpInst::FCMP_UGT : CmpInst::FCMP_ULT, y), x, y));
  }
  // Either order gives the same bits but for zeros and NaN.
  Mask better = is_max ? x > y : x < y, reversed = is_max ? y > x : y < x;
  Integer i = kernel::Select(better, x, y).AsInteger(), j = kernel::Select(reversed, y, x).AsInteger();
  Mask unordered = x.Compare(CmpInst::FCMP_UNO, y);
  return Of(type, kernel::Select(unordered, x + y, (is_max ? i & j : i | j).AsReal()));
}

bool ScalarEmitter::HasExtremeLane(hlo::Opcode opcode, PrimitiveType type) {
  const bool is_extreme = opcode == hlo::Opcode::kMaximum || opcode == hlo::Opcode::kMinimum;
  return is_extreme && hlo::IsFloating(type) && hlo::BitWidth(type) >= 16;
}

bool ScalarEmitter::HasExtremeKeys(hlo::Opcode opcode, PrimitiveType type) const {
  // Without AVX-512 vectors of single bits are taken apart.
  if (type == PrimitiveType::kPred) {
    return b_.target == Target::kCpu && !HasAvx512() && (opcode == hlo::Opcode::kOr || opcode == hlo::Opcode::kAnd);
  }
  return b_.target == Target::kCpu && FloatsHaveExtremeKeys(opcode, type);
}

bool ScalarEmitter::FloatsHaveExtremeKeys(hlo::Opcode opcode, PrimitiveType type) {
  // Without AVX-512 there is no instruction for the larger of two integers of 64 bits.
  return HasExtremeLane(opcode, type) && (hlo::BitWidth(type) < 64 || HasAvx512());
}

PrimitiveType ScalarEmitter::TypeOfKey(PrimitiveType type) {
  const int bits = hlo::BitWidth(type);
  return bits == 16 ? PrimitiveType::kU16 : bits == 32 ? PrimitiveType::kU32 : PrimitiveType::kU64;
}

namespace {

// The bits of infinity.
int64_t InfinityBits(PrimitiveType type) {
  const int bits = hlo::BitWidth(type);
  const int mantissa = type == PrimitiveType::kF16    ? 10
                       : type == PrimitiveType::kBF16 ? 7
                       : type == PrimitiveType::kF32  ? 23
                                                      : 52;
  return ((int64_t{1} << (bits - 1 - mantissa)) - 1) << mantissa;
}

// What total orders are moved by, so that NaNs of either sign are beyond the infinity that loses to them, together.
int64_t KeyOffset(PrimitiveType type, bool is_max) { return is_max ? -InfinityBits(type) - 1 : InfinityBits(type) + 1; }

}  // namespace

Value ScalarEmitter::ExtremeKey(const Value& value, bool is_max) {
  if (value.type == PrimitiveType::kPred) return {PrimitiveType::kU8, b_.ir.CreateSExt(value.value, b_.IntType(8))};
  return Of(TypeOfKey(value.type), TotalOrder(b_, value.type, value.value) - KeyOffset(value.type, is_max));
}

Value ScalarEmitter::OfExtremeKey(const Value& key, PrimitiveType type, bool is_max) {
  if (type == PrimitiveType::kPred) {
    return {type, b_.ir.CreateICmpSLT(key.value, llvm::Constant::getNullValue(key.value->getType()))};
  }
  // The order of the bits is its own inverse.
  const Integer order = IntegerOf(key) + KeyOffset(type, is_max);
  return Of(type, b_.ir.CreateBitCast(TotalOrder(b_, type, order), RegisterType(type)));
}

bool ScalarEmitter::HasExtremeBits(PrimitiveType type) {
  return hlo::IsFloating(type) && (hlo::BitWidth(type) == 16 || hlo::BitWidth(type) == 32);
}

std::vector<Value> ScalarEmitter::ExtremeBits(const Value& value) const {
  const Value bits = Of(TypeOfKey(value.type), b_.ir.CreateBitCast(value.value, b_.IntType(hlo::BitWidth(value.type))));
  return {bits, bits, bits};
}

std::vector<Value> ScalarEmitter::KeepExtremeBits(const std::vector<Value>& a, const std::vector<Value>& b) const {
  constexpr llvm::Intrinsic::ID kKeeps[] = {llvm::Intrinsic::smax, llvm::Intrinsic::umax, llvm::Intrinsic::umin};
  std::vector<Value> kept;
  for (size_t i = 0; i < a.size(); ++i) {
    kept.push_back(Of(a[i].type, b_.ir.CreateBinaryIntrinsic(kKeeps[i], a[i].value, b[i].value)));
  }
  return kept;
}

Value ScalarEmitter::OfExtremeBits(const std::vector<Value>& kept, PrimitiveType type, bool is_max) const {
  llvm::Value *largest = kept[0].value, *largest_magnitude = kept[1].value, *smallest_magnitude = kept[2].value;
  const auto constant = [&](int64_t bits) { return llvm::ConstantInt::getSigned(largest->getType(), bits); };
  llvm::Value* result;
  if (is_max) {
    result = b_.ir.CreateSelect(b_.ir.CreateICmpSLT(largest, constant(0)), smallest_magnitude, largest);
    // Of a NaN with a sign.
    const int64_t sign = int64_t{-1} << (hlo::BitWidth(type) - 1);
    llvm::Value* is_nan = b_.ir.CreateICmpUGT(largest_magnitude, constant(sign | InfinityBits(type)));
    result = b_.ir.CreateSelect(is_nan, largest_magnitude, result);
  } else {
    result =
        b_.ir.CreateSelect(b_.ir.CreateICmpSLT(largest_magnitude, constant(0)), largest_magnitude, smallest_magnitude);
    result = b_.ir.CreateSelect(b_.ir.CreateICmpSGT(largest, constant(InfinityBits(type))), largest, result);
  }
  return Of(type, b_.ir.CreateBitCast(result, RegisterType(type)));
}

Value ScalarEmitter::ExtremeLane(const Value& key, bool is_max) {
  const int bits = hlo::BitWidth(key.type);
  llvm::Value* keys = key.value;
  for (int half = b_.lanes / 2; half > 0; half /= 2) {
    // Vectors as wide as the smallest register keep their lanes.
    const bool shrinks = half * bits >= 128;
    llvm::SmallVector<int, 64> low(shrinks ? half
                                           : llvm::cast<llvm::FixedVectorType>(keys->getType())->getNumElements());
    llvm::SmallVector<int, 64> high(low.size(), -1);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.begin() + half, half);
    keys = b_.ir.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin,
                                       shrinks ? b_.ir.CreateShuffleVector(keys, low) : keys,
                                       b_.ir.CreateShuffleVector(keys, high));
  }
  return {key.type, b_.ir.CreateExtractElement(keys, b_.ir.getInt64(0))};
}

}  // namespace kiln::kernel
