#include <iterator>

#include "absl/strings/str_cat.h"
#include "src/kernel/math/coefficients.h"
#include "src/kernel/math/large_reduction.h"
#include "src/kernel/math/memory_table.h"
#include "src/kernel/math/real_math.h"

namespace kiln::kernel::math {
namespace {

// x = quadrant * pi/2 + high + low, |high| <= pi/4 and a little.
struct Reduced {
  Integer quadrant;  // only its two lowest bits count
  Real high, low;
};

// pi/2 in three parts. Good while x * 2/pi, rounded, is within a small fraction of the true quotient.
Reduced ReduceModerate(Real x) {
  const bool f32 = IsF32(x);
  const double* half_pi = f32 ? kHalfPiF32 : kHalfPiF64;
  const double rounder = f32 ? 0x1.8p23 : 0x1.8p52;
  Real z = MulAdd(x, kTwoOverPi[0], x.Constant(rounder));
  Real n = z - rounder;
  // Exact: the result's lowest bit is not below that of the product.
  Real first = Fma(n, -half_pi[0], x);
  // The second part as a product with its error, and the difference with its error: either may cancel.
  Real product = n * half_pi[1];
  Real product_low = Fma(n, half_pi[1], -product);
  Real high = first - product;
  Real subtracted = first - high;
  Real lost = ((first - (high + subtracted)) + (subtracted - product)) - product_low;
  return {z.AsInteger(), high, MulAdd(n, -half_pi[2], lost)};
}

// Payne and Hanek's reduction of one f64, |x| >= 2^10: multiplies the significand with those bits of 2/pi that matter
// for the quotient modulo 4. Gives {quadrant, high, low}; high is NaN for infinity and NaN.
llvm::Value* EmitLargeReduction(VectorBuilder& b, Real x) {
  llvm::IRBuilder<>& ir = b.ir;
  Integer bits = x.AsInteger();
  Integer field = bits.Shr(52) & 0x7ff;
  Integer significand = (bits & ((int64_t{1} << 52) - 1)) | (int64_t{1} << 52);
  // x = significand * 2^E. Bits of 2/pi above 2^(2-E) give multiples of 4; the table begins with 64 zeros.
  Integer start = field + (62 - 1075);
  // Anything in the table for infinity and NaN.
  start = Select(field == 0x7ff, int64_t{64}, start);
  Integer word_index = start.Shr(6), bit_index = start & 63;
  auto word = [&](int offset) {
    return LoadFromTable<uint64_t>(b, "kiln.two_over_pi", kTwoOverPiBits, word_index + offset);
  };
  llvm::Value* words[4] = {word(0), word(1), word(2), word(3)};
  auto window = [&](int i) {
    return Integer(b, ir.CreateIntrinsic(llvm::Intrinsic::fshl, {ir.getInt64Ty()}, {words[i], words[i + 1], bit_index}))
        .ZeroExtend(128);
  };
  // The product modulo 2^192, in units of 2^-190.
  Integer wide = significand.ZeroExtend(128);
  Integer low = wide * window(2);
  Integer middle = wide * window(1) + low.Shr(64);
  Integer top = wide * window(0) + middle.Shr(64);
  Integer product = top.Shl(64) | middle.ZeroExtend(64).ZeroExtend(128);
  Integer high_word = product.Shr(64).ZeroExtend(64);
  Integer quadrant = high_word.Shr(62) + (high_word.Shr(61) & 1);
  // The signed fraction of the quotient, in units of 2^-128.
  Integer fraction = product.Shl(2) | low.ZeroExtend(64).Shr(62).ZeroExtend(128);
  Mask negative = fraction < 0;
  Integer size = Select(negative, -fraction, fraction) | 1;
  Integer zeros(b, ir.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, size, ir.getFalse()));
  Integer normalized = size.Shl(zeros);
  // The highest 53 bits, and the next 64.
  Real head = normalized.Shr(75).ZeroExtend(64).SignedToReal(64) * 0x1p-53;
  Real tail = normalized.Shr(11).ZeroExtend(64).UnsignedToReal(64) * 0x1p-117;
  Real unit = (zeros.ZeroExtend(64) * -1 + 1023).Shl(52).AsReal();
  Real sign = Select(negative, x.Constant(-1.0), x.Constant(1.0)) * unit;
  head = head * sign;
  tail = tail * sign;
  Real high = head * kHalfPiF64[0];
  Real rest = Fma(head, kHalfPiF64[0], -high) + MulAdd(head, kHalfPiF64[1], tail * kHalfPiF64[0]);
  Real sum = high + rest;
  rest = rest - (sum - high);
  high = sum;
  Mask flip = bits < 0;
  high = Select(flip, -high, high);
  rest = Select(flip, -rest, rest);
  quadrant = Select(flip, -quadrant, quadrant);
  high = Select(field == 0x7ff, x.Nan(), high);
  auto* type = llvm::StructType::get(ir.getInt64Ty(), ir.getDoubleTy(), ir.getDoubleTy());
  llvm::Value* result = llvm::PoisonValue::get(type);
  result = ir.CreateInsertValue(result, quadrant, 0);
  result = ir.CreateInsertValue(result, high, 1);
  return ir.CreateInsertValue(result, rest, 2);
}

// The same as a call: to code compiled with Kiln where there is such code.
llvm::Value* ReduceLargeScalar(const VectorBuilder& scalar, Real x) {
  llvm::IRBuilder<>& ir = scalar.ir;
  auto* type = llvm::StructType::get(ir.getInt64Ty(), ir.getDoubleTy(), ir.getDoubleTy());
  if (scalar.target == Target::kGpu) {
    return scalar.CallHelper("reduce_large.f64", type, {x}, [](VectorBuilder& inner, llvm::ArrayRef<llvm::Value*> a) {
      return EmitLargeReduction(inner, Real(inner, a[0]));
    });
  }
  llvm::BasicBlock& entry = ir.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::Value* slot = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
  llvm::FunctionCallee callee =
      scalar.module()->getOrInsertFunction(kReduceLargeName, ir.getVoidTy(), ir.getDoubleTy(), ir.getPtrTy());
  ir.CreateCall(callee, {x, slot});
  return ir.CreateLoad(type, slot);
}

// The moderate reduction, and lane by lane the large one where any lane needs it.
Reduced Reduce(const VectorBuilder& b, Real x) {
  const bool f32 = IsF32(x);
  llvm::IRBuilder<>& ir = b.ir;
  Reduced moderate = ReduceModerate(x);
  Mask large = !(x.Abs() < (f32 ? 0x1p20 : 1e9));
  llvm::Function* function = ir.GetInsertBlock()->getParent();
  llvm::BasicBlock* entry = ir.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(b.context(), "large.lane", function);
  auto* work = llvm::BasicBlock::Create(b.context(), "large", function);
  auto* next = llvm::BasicBlock::Create(b.context(), "large.next", function);
  auto* done = llvm::BasicBlock::Create(b.context(), "reduced", function);
  ir.CreateCondBr(b.Any(large), loop, done);

  auto extract = [&](llvm::Value* v, llvm::Value* lane) { return b.lanes == 1 ? v : ir.CreateExtractElement(v, lane); };
  auto insert = [&](llvm::Value* v, llvm::Value* scalar, llvm::Value* lane) {
    return b.lanes == 1 ? scalar : ir.CreateInsertElement(v, scalar, lane);
  };
  ir.SetInsertPoint(loop);
  llvm::PHINode* lane = ir.CreatePHI(ir.getInt32Ty(), 2);
  llvm::Value* start[3] = {moderate.quadrant, moderate.high, moderate.low};
  llvm::PHINode* parts[3];
  for (int i = 0; i < 3; ++i) {
    parts[i] = ir.CreatePHI(start[i]->getType(), 2);
    parts[i]->addIncoming(start[i], entry);
  }
  lane->addIncoming(ir.getInt32(0), entry);
  ir.CreateCondBr(extract(large, lane), work, next);

  ir.SetInsertPoint(work);
  VectorBuilder scalar{ir, 1, b.target};
  Real one = Real(scalar, extract(x, lane)).To(64);
  llvm::Value* reduced = ReduceLargeScalar(scalar, one);
  Integer quadrant(scalar, ir.CreateExtractValue(reduced, 0));
  Real high(scalar, ir.CreateExtractValue(reduced, 1)), low(scalar, ir.CreateExtractValue(reduced, 2));
  if (f32) {
    quadrant = quadrant.ZeroExtend(32);
    Real rounded = high.To(32);
    low = (high - rounded.To(64)).To(32);
    high = rounded;
  }
  llvm::Value* changed[3] = {insert(parts[0], quadrant, lane), insert(parts[1], high, lane),
                             insert(parts[2], low, lane)};
  ir.CreateBr(next);

  ir.SetInsertPoint(next);
  llvm::PHINode* merged[3];
  for (int i = 0; i < 3; ++i) {
    merged[i] = ir.CreatePHI(start[i]->getType(), 2);
    merged[i]->addIncoming(parts[i], loop);
    merged[i]->addIncoming(changed[i], work);
    parts[i]->addIncoming(merged[i], next);
  }
  llvm::Value* next_lane = ir.CreateAdd(lane, ir.getInt32(1));
  lane->addIncoming(next_lane, next);
  ir.CreateCondBr(ir.CreateICmpULT(next_lane, ir.getInt32(b.lanes)), loop, done);

  ir.SetInsertPoint(done);
  llvm::PHINode* results[3];
  for (int i = 0; i < 3; ++i) {
    results[i] = ir.CreatePHI(start[i]->getType(), 2);
    results[i]->addIncoming(start[i], entry);
    results[i]->addIncoming(merged[i], next);
  }
  return {Integer(b, results[0]), Real(b, results[1]), Real(b, results[2])};
}

// sin(high + low) = high + the rest that is returned.
Real SinRest(const Reduced& r) {
  Real z = r.high * r.high;
  Real p = Polynomial(z, kSinF32, kSinF64);
  return MulAdd(r.high * z, p, r.low);
}

// cos(high + low) = head + rest.
struct CosParts {
  Real head, rest;
};

CosParts Cosine(const Reduced& r) {
  Real z = r.high * r.high;
  Real p = Polynomial(z, kCosF32, kCosF64);
  Real half = z * 0.5;
  Real head = 1.0 - half;
  return {head, ((1.0 - head) - half) + MulAdd(z * z, p, -(r.high * r.low))};
}

llvm::Value* EmitSinCos(VectorBuilder& b, Real x, bool is_cos) {
  Reduced r = Reduce(b, x);
  Integer quadrant = is_cos ? r.quadrant + 1 : r.quadrant;
  CosParts cosine = Cosine(r);
  Real result = Select((quadrant & 1) == 1, cosine.head + cosine.rest, r.high + SinRest(r));
  result = Select((quadrant & 2) == 2, -result, result);
  return is_cos ? result : Select(x == 0.0, x, result);
}

llvm::Value* EmitTan(VectorBuilder& b, Real x) {
  Reduced r = Reduce(b, x);
  Real sine_rest = SinRest(r);
  Real sine = r.high + sine_rest;
  Real sine_low = sine_rest - (sine - r.high);
  CosParts parts = Cosine(r);
  Real cosine = parts.head + parts.rest;
  Real cosine_low = parts.rest - (cosine - parts.head);
  // Odd quadrants: -cos / sin.
  Mask odd = (r.quadrant & 1) == 1;
  Real numerator = Select(odd, -cosine, sine), numerator_low = Select(odd, -cosine_low, sine_low);
  Real denominator = Select(odd, sine, cosine), denominator_low = Select(odd, sine_low, cosine_low);
  // The quotient of two sums, corrected by its residual.
  Real inverse = 1.0 / denominator;
  Real quotient = numerator * inverse;
  Real residual = Fma(-quotient, denominator, numerator) + (numerator_low - quotient * denominator_low);
  Real result = MulAdd(residual, inverse, quotient);
  return Select(x == 0.0, x, result);
}

template <typename Emit>
Real Call(const char* name, Real x, Emit emit) {
  const VectorBuilder& outer = x.builder();
  return {outer, outer.CallHelper(absl::StrCat(name, IsF32(x) ? ".f32" : ".f64"), x.value()->getType(), {x},
                                  [&](VectorBuilder& b, llvm::ArrayRef<llvm::Value*> arguments) {
                                    return emit(b, Real(b, arguments[0]));
                                  })};
}

}  // namespace

Real Sin(Real x) {
  return Call("sin", x, [](VectorBuilder& b, Real r) { return EmitSinCos(b, r, false); });
}

Real Cos(Real x) {
  return Call("cos", x, [](VectorBuilder& b, Real r) { return EmitSinCos(b, r, true); });
}

Real Tan(Real x) { return Call("tan", x, EmitTan); }

}  // namespace kiln::kernel::math
