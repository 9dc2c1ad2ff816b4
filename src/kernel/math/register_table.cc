#include "src/kernel/math/register_table.h"

#include "llvm/IR/IntrinsicsX86.h"
#include "src/base/isa_level.h"

namespace kiln::kernel::math {
namespace {

Real LookUp(Integer index, const float (&table)[16]) {
  const VectorBuilder& b = index.builder();
  llvm::Constant* entries = llvm::ConstantDataVector::get(b.context(), llvm::ArrayRef<float>(table));
  return {b, InPieces(b, 16, {index}, [&](llvm::ArrayRef<llvm::Value*> pieces) {
            return b.ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {entries, pieces[0]});
          })};
}

// (p(r) - p(0) - p'(0) r) / r^2
Real Rest(Real r, Integer index, absl::Span<const float[16]> pieces) {
  Real rest = LookUp(index, pieces[pieces.size() - 1]);
  for (size_t i = pieces.size() - 2; i > 2; --i) rest = MulAdd(rest, r, LookUp(index, pieces[i]));
  return rest;
}

}  // namespace

bool HasRegisterTables(const VectorBuilder& b) { return b.target == Target::kCpu && HasAvx512(); }

Integer QuarterOfOctave(Real x, double step) {
  return MulAdd(x, step, x.Constant(1)).AsInteger().Shr(x.mantissa_bits() - 2);
}

Real PieceAt(Real x, Integer index, absl::Span<const float[16]> pieces) {
  Real r = x - LookUp(index, pieces[0]);
  // The linear term is rounded with those above: next to a zero it is the result, and elsewhere smaller than that.
  Real slope = MulAdd(r, LookUp(index, pieces[2]), Rest(r, index, pieces) * (r * r));
  return LookUp(index, pieces[1]) + slope;
}

ExactPiece ExactPieceAt(Real x, Integer index, absl::Span<const float[16]> pieces) {
  Real r = x - LookUp(index, pieces[0]);
  Real first = LookUp(index, pieces[1]);
  Real others = MulAdd(Rest(r, index, pieces), r, LookUp(index, pieces[2])) * r;
  Real value = first + others;
  return {value, others - (value - first)};
}

}  // namespace kiln::kernel::math
