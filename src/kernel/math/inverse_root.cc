#include <algorithm>

#include "llvm/IR/IntrinsicsX86.h"
#include "src/base/isa_level.h"
#include "src/kernel/math/real_math.h"

namespace kiln::kernel::math {
namespace {

// 1 / sqrt(x) to 14 bits, in vectors of 16, 32 or 64 bytes.
llvm::Value* EstimateOfVector(llvm::IRBuilder<>& ir, llvm::Value* x) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  const llvm::Intrinsic::ID id = lanes == 4   ? llvm::Intrinsic::x86_avx512_rsqrt14_ps_128
                                 : lanes == 8 ? llvm::Intrinsic::x86_avx512_rsqrt14_ps_256
                                              : llvm::Intrinsic::x86_avx512_rsqrt14_ps_512;
  llvm::Value* all = llvm::Constant::getAllOnesValue(ir.getIntNTy(std::max(8u, lanes)));
  return ir.CreateIntrinsic(id, {}, {x, llvm::Constant::getNullValue(x->getType()), all});
}

}  // namespace

Real Rsqrt(Real x) {
  const VectorBuilder& b = x.builder();
  if (!IsF32(x) || b.target != Target::kCpu || !HasAvx512()) return 1.0 / Sqrt(x);
  // A root and a division keep the divider busy several times as long as this takes: with e = 1 - x y^2 for the
  // estimate y, the result is y / sqrt(1 - e), of which e < 2^-13 needs two terms.
  const int lanes = b.lanes > 8 ? 16 : b.lanes > 4 ? 8 : 4;
  const Real y(
      b, InPieces(b, lanes, {x}, [&](llvm::ArrayRef<llvm::Value*> piece) { return EstimateOfVector(b.ir, piece[0]); }));
  const Real e = Fma(-(x * y), y, x.Constant(1));
  const Real result = Fma(y * e, Fma(e, x.Constant(0.375), x.Constant(0.5)), y);
  // Of zero and infinity, of which y is the result, e is NaN.
  return Select(result.IsNan(), y, result);
}

}  // namespace kiln::kernel::math
