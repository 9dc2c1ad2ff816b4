#include "src/cpu/gemm_types.h"

#include <algorithm>
#include <utility>

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "src/base/status.h"
#include "src/cpu/host_isa.h"

namespace kiln::cpu {
namespace {

using hlo::PrimitiveType;
using hlo::TypeClass;

llvm::Type* WithLanes(llvm::Type* scalar, int lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

llvm::Type* LikeLanes(llvm::Type* scalar, llvm::Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? scalar : llvm::FixedVectorType::get(scalar, vector->getNumElements());
}

// Rounds to the nearest bfloat16, ties to even, in integers: the host's own instruction flushes subnormal numbers.
llvm::Value* RoundToBfloat16(llvm::IRBuilder<>& b, llvm::Value* value) {
  llvm::Type* i32 = LikeLanes(b.getInt32Ty(), value);
  llvm::Value* bits = b.CreateBitCast(value, i32);
  llvm::Value* high = b.CreateLShr(bits, 16);
  llvm::Value* odd = b.CreateAnd(high, 1);
  llvm::Value* rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(bits, llvm::ConstantInt::get(i32, 0x7fff)), odd), 16);
  llvm::Value* nan = b.CreateOr(high, llvm::ConstantInt::get(i32, 0x40));
  llvm::Value* chosen = b.CreateSelect(b.CreateFCmpUNO(value, value), nan, rounded);
  return b.CreateTrunc(chosen, LikeLanes(b.getInt16Ty(), value));
}

}  // namespace

bool IsProductType(PrimitiveType type) {
  return hlo::IsComplex(type) || (hlo::IsIntegral(type) && hlo::BitWidth(type) >= 8) ||
         (hlo::IsFloating(type) && hlo::BitWidth(type) >= 16);
}

llvm::Value* SplatLanes(llvm::IRBuilder<>& b, llvm::Value* scalar, int lanes) {
  return lanes == 1 ? scalar : b.CreateVectorSplat(lanes, scalar);
}

absl::StatusOr<GemmArithmetic> GemmArithmetic::Make(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result) {
  for (PrimitiveType type : {lhs, rhs, result}) {
    if (!IsProductType(type)) return Unimplemented("A matrix product of element type ", PrimitiveTypeName(type), ".");
  }
  const auto mixture = [&] {
    return InvalidArgument("A matrix product of ", PrimitiveTypeName(lhs), " and ", PrimitiveTypeName(rhs), " as ",
                           PrimitiveTypeName(result), ".");
  };
  GemmArithmetic arithmetic;
  switch (hlo::ClassOf(result)) {
    case TypeClass::kComplex:
      arithmetic.parts_ = 2;
      arithmetic.bytes_ = result == PrimitiveType::kC64 ? 4 : 8;
      if (lhs != result || rhs != result) return mixture();
      return arithmetic;
    case TypeClass::kFloat:
      if (hlo::IsComplex(lhs) || hlo::IsComplex(rhs)) return mixture();
      for (PrimitiveType type : {lhs, rhs, result}) {
        if (type == PrimitiveType::kF64) arithmetic.bytes_ = 8;
      }
      return arithmetic;
    default:
      if (!hlo::IsIntegral(lhs) || !hlo::IsIntegral(rhs)) return mixture();
      // Sums are taken modulo a power of two, so a wider sum wraps to the same result.
      arithmetic.is_float_ = false;
      arithmetic.bytes_ = hlo::BitWidth(result) > 32 ? 8 : 4;
      return arithmetic;
  }
}

bool GemmArithmetic::IsNative(PrimitiveType type) const {
  if (hlo::IsComplex(type) || parts_ == 2) return hlo::IsComplex(type) && parts_ == 2;
  return is_float_ ? type == native_type() : hlo::IsIntegral(type) && hlo::BitWidth(type) == 8 * bytes_;
}

PrimitiveType GemmArithmetic::native_type() const {
  if (is_float_) return bytes_ == 4 ? PrimitiveType::kF32 : PrimitiveType::kF64;
  return bytes_ == 4 ? PrimitiveType::kS32 : PrimitiveType::kS64;
}

llvm::Type* GemmArithmetic::PartType(llvm::LLVMContext& context, int lanes) const {
  llvm::Type* scalar = is_float_ ? (bytes_ == 4 ? llvm::Type::getFloatTy(context) : llvm::Type::getDoubleTy(context))
                                 : static_cast<llvm::Type*>(llvm::IntegerType::get(context, 8 * bytes_));
  return WithLanes(scalar, lanes);
}

int GemmArithmetic::StoredBytes(PrimitiveType type) {
  const PrimitiveType part = hlo::IsComplex(type) ? hlo::ComplexComponentType(type) : type;
  return hlo::ByteWidth(part);
}

llvm::Type* GemmArithmetic::StoredType(llvm::LLVMContext& context, PrimitiveType type, int lanes) {
  const PrimitiveType part = hlo::IsComplex(type) ? hlo::ComplexComponentType(type) : type;
  if (part == PrimitiveType::kF32) return WithLanes(llvm::Type::getFloatTy(context), lanes);
  if (part == PrimitiveType::kF64) return WithLanes(llvm::Type::getDoubleTy(context), lanes);
  return WithLanes(llvm::IntegerType::get(context, 8 * hlo::ByteWidth(part)), lanes);
}

llvm::Value* GemmArithmetic::FromStored(llvm::IRBuilder<>& b, PrimitiveType type, llvm::Value* stored) const {
  llvm::Type* to = LikeLanes(PartType(b.getContext(), 1), stored);
  switch (hlo::ClassOf(type)) {
    case TypeClass::kComplex:
      return stored;
    case TypeClass::kFloat: {
      llvm::Value* value = stored;
      if (type == PrimitiveType::kF16) {
        value = b.CreateBitCast(value, LikeLanes(b.getHalfTy(), stored));
      } else if (type == PrimitiveType::kBF16) {
        value = b.CreateShl(b.CreateZExt(value, LikeLanes(b.getInt32Ty(), stored)), 16);
        value = b.CreateBitCast(value, LikeLanes(b.getFloatTy(), stored));
      }
      return b.CreateFPCast(value, to);
    }
    default: {
      const bool is_signed = hlo::IsSignedIntegral(type);
      if (is_float_) return is_signed ? b.CreateSIToFP(stored, to) : b.CreateUIToFP(stored, to);
      return b.CreateIntCast(stored, to, is_signed);
    }
  }
}

kernel::Value GemmArithmetic::ToResult(llvm::IRBuilder<>& b, PrimitiveType result, const GemmValue& sum) const {
  kernel::Value value;
  value.type = result;
  llvm::Value* part = sum.part[0];
  switch (hlo::ClassOf(result)) {
    case TypeClass::kComplex:
      value.value = part;
      value.imaginary = sum.part[1];
      return value;
    case TypeClass::kFloat:
      if (result == PrimitiveType::kF32) value.value = b.CreateFPCast(part, LikeLanes(b.getFloatTy(), part));
      if (result == PrimitiveType::kF64) value.value = part;
      if (result == PrimitiveType::kF16) value.value = b.CreateFPCast(part, LikeLanes(b.getHalfTy(), part));
      if (result == PrimitiveType::kBF16) {
        value.value = RoundToBfloat16(b, b.CreateFPCast(part, LikeLanes(b.getFloatTy(), part)));
      }
      return value;
    default:
      value.value = b.CreateTrunc(part, LikeLanes(b.getIntNTy(hlo::BitWidth(result)), part));
      return value;
  }
}

llvm::Value* GemmArithmetic::ToStored(llvm::IRBuilder<>& b, PrimitiveType type, llvm::Value* part) {
  if (type == PrimitiveType::kPred) return b.CreateZExt(part, LikeLanes(b.getInt8Ty(), part));
  if (type == PrimitiveType::kF16) return b.CreateBitCast(part, LikeLanes(b.getInt16Ty(), part));
  return part;
}

int GemmArithmetic::MaxDepth(PrimitiveType lhs, PrimitiveType rhs) const {
  const bool brain = is_float_ && bytes_ == 4 && lhs == PrimitiveType::kBF16 && rhs == lhs;
  if (brain) return Host().brain_dot ? 2 : 1;
  const auto is_byte = [](PrimitiveType type) { return type == PrimitiveType::kS8 || type == PrimitiveType::kU8; };
  const bool bytes = !is_float_ && bytes_ == 4 && is_byte(lhs) && is_byte(rhs) &&
                     (lhs == PrimitiveType::kS8 || rhs == PrimitiveType::kS8);
  return bytes && (Host().byte_dot || Host().word_dot) ? 4 : 1;
}

bool GemmArithmetic::MultipliesWords(int depth) { return depth == 4 && !Host().byte_dot; }

bool GemmArithmetic::AddsOffset(PrimitiveType lhs, PrimitiveType rhs, int depth) {
  return depth == 4 && lhs == PrimitiveType::kS8 && rhs == PrimitiveType::kS8 && !MultipliesWords(depth);
}

namespace {

// The bytes of even or odd index among those of vectors of 32-bit lanes, as words.
llvm::Value* WordsOf(llvm::IRBuilder<>& b, PrimitiveType type, llvm::Value* bytes, bool odd) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(bytes->getType())->getNumElements();
  llvm::Value* words = b.CreateBitCast(bytes, llvm::FixedVectorType::get(b.getInt16Ty(), 2 * lanes));
  if (type == PrimitiveType::kU8) return odd ? b.CreateLShr(words, 8) : b.CreateAnd(words, 0xff);
  return b.CreateAShr(odd ? words : b.CreateShl(words, 8), 8);
}

}  // namespace

llvm::Value* GemmArithmetic::MultiplyAddGroups(llvm::IRBuilder<>& b, PrimitiveType lhs, PrimitiveType rhs,
                                               llvm::Value* x, llvm::Value* y, llvm::Value* sum) const {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(sum->getType())->getNumElements();
  const auto pick = [&](llvm::Intrinsic::ID narrow, llvm::Intrinsic::ID middle, llvm::Intrinsic::ID wide) {
    return lanes == 4 ? narrow : lanes == 8 ? middle : wide;
  };
  if (is_float_) {
    llvm::Type* pairs = llvm::FixedVectorType::get(b.getBFloatTy(), 2 * lanes);
    return b.CreateIntrinsic(
        pick(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128, llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256,
             llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512),
        {}, {sum, b.CreateBitCast(x, pairs), b.CreateBitCast(y, pairs)});
  }
  if (MultipliesWords(4)) {
    for (const bool odd : {false, true}) {
      llvm::Value* products =
          b.CreateIntrinsic(pick(llvm::Intrinsic::x86_sse2_pmadd_wd, llvm::Intrinsic::x86_avx2_pmadd_wd,
                                 llvm::Intrinsic::x86_avx512_pmaddw_d_512),
                            {}, {WordsOf(b, lhs, x, odd), WordsOf(b, rhs, y, odd)});
      sum = b.CreateAdd(sum, products);
    }
    return sum;
  }
  // The instruction takes unsigned bytes first, signed ones second.
  if (lhs == PrimitiveType::kS8 && rhs == PrimitiveType::kU8) std::swap(x, y);
  if (lhs == PrimitiveType::kS8 && rhs == PrimitiveType::kS8) {
    x = b.CreateXor(x, llvm::ConstantInt::get(x->getType(), 0x80808080u));
  }
  return b.CreateIntrinsic(pick(llvm::Intrinsic::x86_avx512_vpdpbusd_128, llvm::Intrinsic::x86_avx512_vpdpbusd_256,
                                llvm::Intrinsic::x86_avx512_vpdpbusd_512),
                           {}, {sum, x, y});
}

llvm::Value* GemmArithmetic::Zero(llvm::LLVMContext& context, int lanes) const {
  return llvm::Constant::getNullValue(PartType(context, lanes));
}

llvm::Value* GemmArithmetic::MultiplyAdd(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, llvm::Value* sum) const {
  if (!is_float_) return b.CreateAdd(sum, b.CreateMul(x, y));
  // Without the instruction the intrinsic would be a library call per lane.
  if (!Host().fma) return b.CreateFAdd(sum, b.CreateFMul(x, y));
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, sum});
}

llvm::Value* GemmArithmetic::Add(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y) const {
  return is_float_ ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
}

GemmValue GemmArithmetic::MultiplyAdd(llvm::IRBuilder<>& b, const GemmValue& x, const GemmValue& y,
                                      const GemmValue& sum) const {
  GemmValue result;
  result.part[0] = MultiplyAdd(b, x.part[0], y.part[0], sum.part[0]);
  if (parts_ == 1) return result;
  result.part[0] = MultiplyAdd(b, b.CreateFNeg(x.part[1]), y.part[1], result.part[0]);
  result.part[1] = MultiplyAdd(b, x.part[0], y.part[1], sum.part[1]);
  result.part[1] = MultiplyAdd(b, x.part[1], y.part[0], result.part[1]);
  return result;
}

}  // namespace kiln::cpu
