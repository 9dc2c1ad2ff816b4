#include "src/kernel/math/scale.h"

#include <algorithm>
#include <vector>

#include "llvm/IR/IntrinsicsX86.h"
#include "src/base/cpu_tuning.h"
#include "src/base/isa_level.h"

namespace kiln::kernel::math {
namespace {

// Of vectors of 16, 32 or 64 bytes.
llvm::Value* ScaleVector(llvm::IRBuilder<>& ir, llvm::Value* x, llvm::Value* n) {
  const auto* type = llvm::cast<llvm::FixedVectorType>(x->getType());
  const bool f32 = type->getElementType()->isFloatTy();
  const unsigned bytes = type->getNumElements() * (f32 ? 4 : 8);
  const llvm::Intrinsic::ID id =
      bytes == 16
          ? (f32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_128 : llvm::Intrinsic::x86_avx512_mask_scalef_pd_128)
      : bytes == 32
          ? (f32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256 : llvm::Intrinsic::x86_avx512_mask_scalef_pd_256)
          : (f32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512 : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512);
  const unsigned mask_bits = std::max(8u, type->getNumElements());
  std::vector<llvm::Value*> arguments = {x, n, llvm::PoisonValue::get(x->getType()),
                                         llvm::Constant::getAllOnesValue(ir.getIntNTy(mask_bits))};
  constexpr uint32_t kRoundAsElsewhere = 4;
  if (bytes == 64) arguments.push_back(ir.getInt32(kRoundAsElsewhere));
  return ir.CreateIntrinsic(id, {}, arguments);
}

// Where the last product flushes what is subnormal, two of them are all there is to do.
bool ScalesInTwo(Real x) { return !IsF32(x) || (x.builder().flushes_subnormals && x.builder().target == Target::kCpu); }

}  // namespace

bool HasScaling(const VectorBuilder& b) {
  return b.target == Target::kCpu && HasAvx512() && (b.flushes_subnormals || Tuning().kernels.scales_to_subnormals);
}

Real ScaleByInstruction(Real x, Real n) {
  const VectorBuilder& b = x.builder();
  const int narrowest = 128 / x.bits(), widest = 512 / x.bits();
  const int lanes = b.lanes > widest / 2 ? widest : b.lanes > narrowest ? 2 * narrowest : narrowest;
  return {b, InPieces(b, lanes, {x, n},
                      [&](llvm::ArrayRef<llvm::Value*> pieces) { return ScaleVector(b.ir, pieces[0], pieces[1]); })};
}

int ScaleOffset(Real x) { return (ScalesInTwo(x) ? 2 : 1) * x.exponent_bias() - 1; }

double ScaleUnit(Real x) { return HasScaling(x.builder()) ? 1 : 2; }

Real Scale(Real significand, Real n, Integer rounded) {
  if (HasScaling(n.builder())) return ScaleByInstruction(significand, n);
  if (!IsF32(n)) return ScaleInTwo(Select(n < -1075.0, 0.0, significand), n, rounded);
  if (ScalesInTwo(n)) return ScaleInTwo(significand, n, rounded);
  if (n.builder().target == Target::kGpu) return ScaleInTwo(significand, n, rounded + n.exponent_bias());
  // Counts of the smallest subnormal number are the bits of the result, be it subnormal or just normal.
  Mask tiny = n < -125.0;
  Integer exponent = rounded + Select(tiny, rounded.Constant(149), 0);
  Real scaled = significand * exponent.Shl(n.mantissa_bits()).AsReal();
  // The largest number below 1/2: sums round to integers.
  Integer count = (scaled + 0x1.fffffep-2).ToSigned();
  return Select(tiny, count.AsReal(), scaled);
}

Real ScaleInTwo(Real significand, Real n, Integer rounded) {
  if (HasScaling(n.builder())) return ScaleByInstruction(significand, n);
  const int m = significand.mantissa_bits();
  Integer half = rounded.Shr(1);
  Integer rest = rounded - half;
  return significand * half.Shl(m).AsReal() * rest.Shl(m).AsReal();
}

}  // namespace kiln::kernel::math
