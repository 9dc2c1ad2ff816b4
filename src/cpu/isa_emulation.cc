#include "src/cpu/isa_emulation.h"

#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace kiln::cpu {
namespace {

using llvm::Type;
using llvm::Value;

llvm::FixedVectorType* VectorOf(Type* element, const Value* like) {
  return llvm::FixedVectorType::get(element, llvm::cast<llvm::FixedVectorType>(like->getType())->getNumElements());
}

Value* Integers(llvm::IRBuilder<>& b, Value* reals, int bits) {
  return b.CreateBitCast(reals, VectorOf(b.getIntNTy(bits), reals));
}

// Lanes whose bit is not set in the mask are `otherwise`.
Value* Masked(llvm::IRBuilder<>& b, Value* mask, Value* result, Value* otherwise) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(result->getType())->getNumElements();
  Value* bits = b.CreateBitCast(mask, llvm::FixedVectorType::get(b.getInt1Ty(), mask->getType()->getIntegerBitWidth()));
  if (mask->getType()->getIntegerBitWidth() != lanes) {
    bits = b.CreateShuffleVector(bits, llvm::to_vector(llvm::seq<int>(0, lanes)));
  }
  return b.CreateSelect(bits, result, otherwise);
}

// One divided by the root, but for the lowest bits: the most that the instruction may be wrong by.
Value* EstimateOfRoot(llvm::IRBuilder<>& b, Value* x) {
  Value* exact = b.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1), b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x));
  Value* code = Integers(b, exact, 32);
  return b.CreateBitCast(b.CreateAnd(code, llvm::ConstantInt::get(code->getType(), ~uint32_t{0x1ff})), x->getType());
}

// x 2^floor(n), rounded once, in products of which none but the last can be subnormal where x is about 1.
Value* Scaled(llvm::IRBuilder<>& b, Value* x, Value* n) {
  const bool f32 = x->getType()->getScalarType()->isFloatTy();
  Type* wide = VectorOf(b.getDoubleTy(), x);
  // Beyond these every result is zero or infinite.
  const double most = f32 ? 290 : 2100;
  Value* count = b.CreateFPExt(b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, n), wide);
  count = b.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, count, llvm::ConstantFP::get(wide, -most));
  count = b.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, count, llvm::ConstantFP::get(wide, most));
  Value* is_nan = b.CreateFCmpUNO(n, n);
  Type* codes = VectorOf(b.getInt64Ty(), x);
  Value* rest = b.CreateFPToSI(b.CreateSelect(is_nan, llvm::Constant::getNullValue(wide), count), codes);
  Value* result = b.CreateFPExt(x, wide);
  for (int left = 3; left > 0; --left) {
    Value* part = b.CreateSDiv(rest, llvm::ConstantInt::get(codes, left));
    rest = b.CreateSub(rest, part);
    Value* exponent = b.CreateAdd(part, llvm::ConstantInt::get(codes, 1023));
    result = b.CreateFMul(result, b.CreateBitCast(b.CreateShl(exponent, 52), wide));
  }
  return b.CreateSelect(is_nan, n, b.CreateFPTrunc(result, x->getType()));
}

Value* TruncatedToF32(llvm::IRBuilder<>& b, Value* x) {
  Value* nearest = b.CreateFPTrunc(x, VectorOf(b.getFloatTy(), x));
  const auto magnitude = [&](Value* v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  Value* is_up = b.CreateFCmpOGT(magnitude(b.CreateFPExt(nearest, x->getType())), magnitude(x));
  Value* code = Integers(b, nearest, 32);
  code = b.CreateSelect(is_up, b.CreateSub(code, llvm::ConstantInt::get(code->getType(), 1)), code);
  return b.CreateBitCast(code, nearest->getType());
}

// An integer as a float, rounded towards zero: what it has no bits for is cleared before.
Value* TruncatedToFloat(llvm::IRBuilder<>& b, Value* x, Type* to, bool is_signed) {
  const unsigned bits = x->getType()->getScalarSizeInBits();
  const unsigned kept = to->getScalarType()->getFPMantissaWidth();
  Type* type = x->getType();
  const auto constant = [&](uint64_t number) { return llvm::ConstantInt::get(type, number); };
  Value* is_negative = b.CreateICmpSLT(x, constant(0));
  Value* magnitude = is_signed ? b.CreateSelect(is_negative, b.CreateNeg(x), x) : x;
  Value* zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, magnitude, b.getFalse());
  Value* lost =
      b.CreateSub(constant(bits > kept ? bits - kept : 0),
                  b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, zeros, constant(bits > kept ? bits - kept : 0)));
  Value* truncated = b.CreateUIToFP(b.CreateShl(b.CreateLShr(magnitude, lost), lost), to);
  return is_signed ? b.CreateSelect(is_negative, b.CreateFNeg(truncated), truncated) : truncated;
}

// Elements begin, begin + step, ... of a vector.
Value* Each(llvm::IRBuilder<>& b, Value* x, int begin, int step) {
  const int lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  llvm::SmallVector<int> which;
  for (int lane = begin; lane < lanes; lane += step) which.push_back(lane);
  return b.CreateShuffleVector(x, which);
}

// sum + the products of pairs of bf16, those of odd index first.
Value* BrainDot(llvm::IRBuilder<>& b, Value* sum, Value* x, Value* y) {
  for (const int part : {1, 0}) {
    const auto widened = [&](Value* v) {
      Value* code = b.CreateZExt(Integers(b, Each(b, v, part, 2), 16), VectorOf(b.getInt32Ty(), sum));
      return b.CreateBitCast(b.CreateShl(code, 16), sum->getType());
    };
    sum = b.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {widened(x), widened(y), sum});
  }
  return sum;
}

Value* WordDot(llvm::IRBuilder<>& b, Type* to, Value* x, Value* y) {
  Value* sum = llvm::Constant::getNullValue(to);
  for (const int part : {0, 1}) {
    const auto widened = [&](Value* v) { return b.CreateSExt(Each(b, v, part, 2), to); };
    sum = b.CreateAdd(sum, b.CreateMul(widened(x), widened(y)));
  }
  return sum;
}

// sum + the products of unsigned with signed bytes, four to a lane.
Value* ByteDot(llvm::IRBuilder<>& b, Value* sum, Value* x, Value* y) {
  const int lanes = llvm::cast<llvm::FixedVectorType>(sum->getType())->getNumElements();
  Type* bytes = llvm::FixedVectorType::get(b.getInt8Ty(), 4 * lanes);
  x = b.CreateBitCast(x, bytes);
  y = b.CreateBitCast(y, bytes);
  for (int part = 0; part < 4; ++part) {
    Value* product = b.CreateMul(b.CreateZExt(Each(b, x, part, 4), sum->getType()),
                                 b.CreateSExt(Each(b, y, part, 4), sum->getType()));
    sum = b.CreateAdd(sum, product);
  }
  return sum;
}

Value* LookedUp(llvm::IRBuilder<>& b, Value* table, Value* index) {
  const int lanes = llvm::cast<llvm::FixedVectorType>(table->getType())->getNumElements();
  Value* result = llvm::PoisonValue::get(table->getType());
  for (int lane = 0; lane < lanes; ++lane) {
    Value* which = b.CreateAnd(b.CreateExtractElement(index, lane), lanes - 1);
    result = b.CreateInsertElement(result, b.CreateExtractElement(table, which), lane);
  }
  return result;
}

// The float rounded to bf16, ties to even, NaNs to quiet ones.
Value* RoundedToBrain(llvm::IRBuilder<>& b, Value* x, Type* to) {
  const auto like = [&](Type* element) { return to->getWithNewType(element); };
  const auto constant = [&](uint32_t number) { return llvm::ConstantInt::get(like(b.getInt32Ty()), number); };
  Value* code = b.CreateBitCast(x, like(b.getInt32Ty()));
  Value* odd = b.CreateAnd(b.CreateLShr(code, 16), constant(1));
  Value* rounded = b.CreateAdd(code, b.CreateAdd(odd, constant(0x7fff)));
  rounded = b.CreateSelect(b.CreateFCmpUNO(x, x), b.CreateOr(code, constant(0x400000)), rounded);
  return b.CreateBitCast(b.CreateTrunc(b.CreateLShr(rounded, 16), like(b.getInt16Ty())), to);
}

// What does the same as the instruction; null where this processor has it, or nothing here does.
Value* Replacement(llvm::IRBuilder<>& b, llvm::Instruction& instruction) {
  if (auto* cast = llvm::dyn_cast<llvm::FPTruncInst>(&instruction)) {
    const bool is_brain = cast->getType()->getScalarType()->isBFloatTy();
    if (!is_brain || !cast->getSrcTy()->getScalarType()->isFloatTy()) return nullptr;
    return RoundedToBrain(b, cast->getOperand(0), cast->getType());
  }
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return nullptr;
  const auto operand = [&](unsigned i) { return call->getArgOperand(i); };
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::x86_avx512_rsqrt14_ps_128:
    case llvm::Intrinsic::x86_avx512_rsqrt14_ps_256:
    case llvm::Intrinsic::x86_avx512_rsqrt14_ps_512:
      return Masked(b, operand(2), EstimateOfRoot(b, operand(0)), operand(1));
    case llvm::Intrinsic::x86_avx512_mask_scalef_ps_128:
    case llvm::Intrinsic::x86_avx512_mask_scalef_ps_256:
    case llvm::Intrinsic::x86_avx512_mask_scalef_ps_512:
    case llvm::Intrinsic::x86_avx512_mask_scalef_pd_128:
    case llvm::Intrinsic::x86_avx512_mask_scalef_pd_256:
    case llvm::Intrinsic::x86_avx512_mask_scalef_pd_512:
      return Masked(b, operand(3), Scaled(b, operand(0), operand(1)), operand(2));
    case llvm::Intrinsic::x86_avx512_mask_cvtpd2ps_512:
      return Masked(b, operand(2), TruncatedToF32(b, operand(0)), operand(1));
    case llvm::Intrinsic::x86_avx512_sitofp_round:
      return TruncatedToFloat(b, operand(0), call->getType(), /*is_signed=*/true);
    case llvm::Intrinsic::x86_avx512_uitofp_round:
      return TruncatedToFloat(b, operand(0), call->getType(), /*is_signed=*/false);
    case llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128:
    case llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256:
    case llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512:
      return BrainDot(b, operand(0), operand(1), operand(2));
    case llvm::Intrinsic::x86_avx512_pmaddw_d_512:
      return WordDot(b, call->getType(), operand(0), operand(1));
    case llvm::Intrinsic::x86_avx512_vpdpbusd_128:
    case llvm::Intrinsic::x86_avx512_vpdpbusd_256:
    case llvm::Intrinsic::x86_avx512_vpdpbusd_512:
      return ByteDot(b, operand(0), operand(1), operand(2));
    case llvm::Intrinsic::x86_avx512_permvar_sf_512:
      return LookedUp(b, operand(0), operand(1));
    default:
      return nullptr;
  }
}

}  // namespace

absl::Status ReplaceForeignInstructions(llvm::Module* module) {
  for (llvm::Function& function : *module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      llvm::IRBuilder<> b(&instruction);
      Value* replacement = Replacement(b, instruction);
      if (replacement == nullptr) {
        const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (call == nullptr || !call->getCalledFunction()->getName().starts_with("llvm.x86.avx512")) continue;
        return Internal("Nothing does the same as ", std::string(call->getCalledFunction()->getName()), " here.");
      }
      instruction.replaceAllUsesWith(replacement);
      instruction.eraseFromParent();
    }
  }
  return absl::OkStatus();
}

}  // namespace kiln::cpu
