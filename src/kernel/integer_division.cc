#include "src/kernel/integer_division.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace kiln::kernel {
namespace {

struct SafeOperands {
  Integer divisor;  // 1 where y is 0 or the quotient overflows
  Mask by_zero;
};

SafeOperands Guard(Integer x, Integer y, bool is_signed) {
  Mask by_zero = y == 0, by_minus_one = y == -1;
  const auto* known = llvm::dyn_cast<llvm::Constant>(by_minus_one.value());
  if (!is_signed || (known != nullptr && known->isNullValue())) return {Select(by_zero, 1, y), by_zero};
  Mask overflow = (x == static_cast<int64_t>(uint64_t{1} << (x.bits() - 1))) & by_minus_one;
  return {Select(by_zero | overflow, 1, y), by_zero};
}

// 1 / divisor, or next to it on the side that makes products with multiples of the divisor no smaller than they are.
double Reciprocal(double divisor, int float_bits) {
  const double up = std::copysign(std::numeric_limits<double>::infinity(), divisor);
  if (float_bits == 64) {
    const double value = 1 / divisor;
    return std::fma(value, divisor, -1) < 0 ? std::nextafter(value, up) : value;
  }
  const float value = 1 / static_cast<float>(divisor);
  return value * divisor < 1 ? std::nextafter(value, static_cast<float>(up)) : value;
}

// Quotient for guarded operands.
Integer Quotient(Integer x, Integer y, bool is_signed) {
  const VectorBuilder& b = x.builder();
  const int bits = x.bits();
  // Scalars have an instruction; so have GPUs, in effect.
  if (b.lanes == 1 || b.target == Target::kGpu || bits > 32) {
    return {b, is_signed ? b.ir.CreateSDiv(x, y) : b.ir.CreateUDiv(x, y)};
  }
  // The quotient of n-bit integers is at least 2^-n (relatively) below the next integer when it is none itself, so a
  // float with more than n bits rounds to the right side of it and truncation is exact. So is the product with a
  // reciprocal that is too large by one rounding at most.
  const int float_bits = bits > 16 ? 64 : 32;
  auto real = [&](Integer i) { return is_signed ? i.SignedToReal(float_bits) : i.UnsignedToReal(float_bits); };
  const auto* constant = llvm::dyn_cast<llvm::Constant>(y.value());
  const auto* divisor = constant == nullptr ? nullptr : llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getSplatValue());
  Real quotient = divisor == nullptr ? real(x) / real(y)
                                     : real(x) * Reciprocal(is_signed ? static_cast<double>(divisor->getSExtValue())
                                                                      : static_cast<double>(divisor->getZExtValue()),
                                                            float_bits);
  llvm::Type* type = b.IntType(32);
  Integer result(b, is_signed ? b.ir.CreateFPToSI(quotient, type) : b.ir.CreateFPToUI(quotient, type));
  return {b, b.ir.CreateTrunc(result, b.IntType(bits))};
}

}  // namespace

Integer Divide(Integer x, Integer y, bool is_signed) {
  SafeOperands safe = Guard(x, y, is_signed);
  return Select(safe.by_zero, -1, Quotient(x, safe.divisor, is_signed));
}

Integer Remainder(Integer x, Integer y, bool is_signed) {
  SafeOperands safe = Guard(x, y, is_signed);
  Integer remainder = x - Quotient(x, safe.divisor, is_signed) * safe.divisor;
  return Select(safe.by_zero, x, remainder);
}

Integer Power(Integer x, Integer y, bool is_signed) {
  const VectorBuilder& outer = x.builder();
  return {outer,
          outer.CallHelper(absl::StrCat("power.", is_signed ? "s" : "u", x.bits()), x.value()->getType(), {x, y},
                           [is_signed](VectorBuilder& b, llvm::ArrayRef<llvm::Value*> arguments) -> llvm::Value* {
                             Integer base(b, arguments[0]), exponent(b, arguments[1]);
                             llvm::Type* type = base.value()->getType();
                             llvm::Function* function = b.ir.GetInsertBlock()->getParent();
                             llvm::BasicBlock* entry = b.ir.GetInsertBlock();
                             auto* loop = llvm::BasicBlock::Create(b.context(), "loop", function);
                             auto* done = llvm::BasicBlock::Create(b.context(), "done", function);
                             b.ir.CreateBr(loop);
                             b.ir.SetInsertPoint(loop);
                             llvm::PHINode* result_phi = b.ir.CreatePHI(type, 2);
                             llvm::PHINode* square_phi = b.ir.CreatePHI(type, 2);
                             llvm::PHINode* rest_phi = b.ir.CreatePHI(type, 2);
                             Integer result(b, result_phi), square(b, square_phi), rest(b, rest_phi);
                             Integer next = result * Select((rest & 1) == 1, square, 1);
                             Integer next_square = square * square;
                             Integer next_rest = rest.Shr(1);
                             result_phi->addIncoming(base.Constant(1), entry);
                             square_phi->addIncoming(base, entry);
                             rest_phi->addIncoming(exponent, entry);
                             result_phi->addIncoming(next, loop);
                             square_phi->addIncoming(next_square, loop);
                             rest_phi->addIncoming(next_rest, loop);
                             b.ir.CreateCondBr(b.Any(next_rest != 0), loop, done);
                             b.ir.SetInsertPoint(done);
                             if (!is_signed) return next;
                             Integer unit = Select((exponent & 1) == 1, base, 1);
                             Integer inverse = Select((base == 1) | (base == -1), unit, int64_t{0});
                             return Select(exponent < 0, inverse, next);
                           })};
}

}  // namespace kiln::kernel
