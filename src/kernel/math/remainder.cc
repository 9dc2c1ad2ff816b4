#include <cmath>

#include "src/kernel/math/real_math.h"

namespace kiln::kernel::math {
namespace {

Integer Exponent(Real x) {
  const int scale = x.mantissa_bits() + 2;
  Mask tiny = x < std::ldexp(1.0, 1 - x.exponent_bias());
  Integer field = Select(tiny, x * std::ldexp(1.0, scale), x).AsInteger().Shr(x.mantissa_bits());
  return field - Select(tiny, field.Constant(scale), field.Constant(0));
}

Real PowerOfTwo(Integer exponent, const Real& like) {
  return (exponent + like.exponent_bias()).Shl(like.mantissa_bits()).AsReal();
}

// What is left of `rest` once `divisor` is taken off as often as the quotient says, which fits the mantissa but may
// have been rounded up to the next integer. The result fits the format, so that FMA gives it exactly.
Real RestOf(Real rest, Real quotient, Real divisor) {
  Real next = Fma(-Trunc(quotient), divisor, rest);
  return Select(next < 0.0, next + divisor, next);
}

// Long division, where quotients do not fit the mantissa as many bits of them at a time as leave room for what the
// exponents do not tell.
llvm::Value* EmitFmod(VectorBuilder& b, Real x, Real y) {
  const double most = std::ldexp(1.0, x.mantissa_bits());  // of a quotient
  Real dividend = x.Abs(), divisor = y.Abs();
  Mask divisible = (divisor > 0.0) & (dividend < x.Infinity());
  llvm::Function* function = b.ir.GetInsertBlock()->getParent();
  llvm::BasicBlock* entry = b.ir.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(b.context(), "loop", function);
  auto* done = llvm::BasicBlock::Create(b.context(), "done", function);
  Real ratio = dividend / divisor;
  Real at_once = Select(dividend >= divisor, RestOf(dividend, ratio, divisor), dividend);
  b.ir.CreateCondBr(b.Any(divisible & !(ratio < most)), loop, done);

  b.ir.SetInsertPoint(loop);
  llvm::PHINode* phi = b.ir.CreatePHI(x.value()->getType(), 2);
  phi->addIncoming(dividend, entry);
  Real rest(b, phi);
  Mask active = divisible & (rest >= divisor);
  Mask far = !(rest / divisor < most);
  Integer gap = Exponent(rest) - Exponent(divisor) - (x.mantissa_bits() - 2);
  Integer shift = Select(far, gap, int64_t{0});
  Integer half = shift.Shr(1);
  Real scaled = divisor * PowerOfTwo(half, x) * PowerOfTwo(half, x) * PowerOfTwo(shift & 1, x);
  Real next = Select(active, RestOf(rest, rest / scaled, scaled), rest);
  phi->addIncoming(next, loop);
  b.ir.CreateCondBr(b.Any(divisible & (next >= divisor)), loop, done);

  b.ir.SetInsertPoint(done);
  llvm::PHINode* result_phi = b.ir.CreatePHI(x.value()->getType(), 2);
  result_phi->addIncoming(at_once, entry);
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
  return {outer, outer.CallHelper(IsF32(x) ? "fmod.f32" : "fmod.f64", x.value()->getType(), {x, y},
                                  [](VectorBuilder& b, llvm::ArrayRef<llvm::Value*> arguments) {
                                    return EmitFmod(b, Real(b, arguments[0]), Real(b, arguments[1]));
                                  })};
}

}  // namespace kiln::kernel::math
