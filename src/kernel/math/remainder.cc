#include "src/kernel/math/real_math.h"

namespace kiln::kernel::math {
namespace {

Integer Exponent(Real x) {
  Mask tiny = x < 0x1p-1022;
  Integer field = Select(tiny, x * 0x1p54, x).AsInteger().Shr(52);
  return field - Select(tiny, field.Constant(54), field.Constant(0));
}

Real PowerOfTwo(Integer exponent) { return (exponent + 1023).Shl(52).AsReal(); }

// Long division, 50 bits of the quotient at a time: each partial remainder fits the format, so FMA gives it exactly.
llvm::Value* EmitFmod(VectorBuilder& b, Real x, Real y) {
  Real dividend = x.Abs(), divisor = y.Abs();
  Mask divisible = (divisor > 0.0) & (dividend < x.Infinity());
  llvm::Function* function = b.ir.GetInsertBlock()->getParent();
  llvm::BasicBlock* entry = b.ir.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(b.context(), "loop", function);
  auto* done = llvm::BasicBlock::Create(b.context(), "done", function);
  b.ir.CreateCondBr(b.Any(divisible & (dividend >= divisor)), loop, done);

  b.ir.SetInsertPoint(loop);
  llvm::PHINode* phi = b.ir.CreatePHI(x.value()->getType(), 2);
  phi->addIncoming(dividend, entry);
  Real rest(b, phi);
  Mask active = divisible & (rest >= divisor);
  Mask far = !(rest / divisor < 0x1p52);
  Integer gap = Exponent(rest) - Exponent(divisor) - 50;
  Integer shift = Select(far, gap, int64_t{0});
  Integer half = shift.Shr(1);
  Real scaled = divisor * PowerOfTwo(half) * PowerOfTwo(half) * PowerOfTwo(shift & 1);
  Real quotient = Trunc(rest / scaled);
  Real next = Fma(-quotient, scaled, rest);
  // The quotient may have been rounded up to the next integer.
  next = Select(next < 0.0, next + scaled, next);
  next = Select(active, next, rest);
  phi->addIncoming(next, loop);
  b.ir.CreateCondBr(b.Any(divisible & (next >= divisor)), loop, done);

  b.ir.SetInsertPoint(done);
  llvm::PHINode* result_phi = b.ir.CreatePHI(x.value()->getType(), 2);
  result_phi->addIncoming(dividend, entry);
  result_phi->addIncoming(next, loop);
  Mask valid = divisible & !y.IsNan();
  return Select(valid, CopySign(Real(b, result_phi), x), x.Nan());
}

// Whether y is a constant power of two of 1 and more: quotients then end exactly, or below 1.
bool IsWholePowerOfTwo(const Real& y) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(y.value());
  if (constant != nullptr && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  if (number == nullptr || !number->getValueAPF().isFinite()) return false;
  const int exponent = number->getValueAPF().getExactLog2();
  return exponent >= 0;
}

}  // namespace

Real Fmod(Real x, Real y) {
  if (IsWholePowerOfTwo(y)) return CopySign(x - Trunc(x / y) * y, x);
  const VectorBuilder& outer = x.builder();
  Real wide_x = x.To(64), wide_y = y.To(64);
  Real result(outer, outer.CallHelper("fmod.f64", wide_x.value()->getType(), {wide_x, wide_y},
                                      [](VectorBuilder& b, llvm::ArrayRef<llvm::Value*> arguments) {
                                        return EmitFmod(b, Real(b, arguments[0]), Real(b, arguments[1]));
                                      }));
  return result.To(x.bits());
}

}  // namespace kiln::kernel::math
