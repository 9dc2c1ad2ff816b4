#include "src/kernel/math/register_table.h"

#include "llvm/IR/IntrinsicsX86.h"
#include "src/base/isa_level.h"

namespace kiln::kernel::math {
namespace {

Real LookUp(Integer index, absl::Span<const float> table) {
  const VectorBuilder& b = index.builder();
  llvm::Constant* entries =
      llvm::ConstantDataVector::get(b.context(), llvm::ArrayRef<float>(table.data(), table.size()));
  const int lanes = static_cast<int>(table.size());
  return {b, InPieces(b, lanes, {index}, [&](llvm::ArrayRef<llvm::Value*> pieces) -> llvm::Value* {
            if (lanes == 8) return b.ir.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {}, {entries, pieces[0]});
            return b.ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {entries, pieces[0]});
          })};
}

// (p(r) - p(0) - p'(0) r) / r^2
Real Rest(Real r, Integer index, const Pieces& pieces) {
  Real rest = LookUp(index, pieces.row(pieces.rows() - 1));
  for (size_t i = pieces.rows() - 2; i > 2; --i) rest = MulAdd(rest, r, LookUp(index, pieces.row(i)));
  return rest;
}

}  // namespace

int RegisterTableSize(const VectorBuilder& b) {
  return b.target != Target::kCpu ? 0 : HasAvx512() ? 16 : HasAvx2() ? 8 : 0;
}

Integer PartOfOctave(Real x, double step, int bits) {
  return MulAdd(x, step, x.Constant(1)).AsInteger().Shr(x.mantissa_bits() - bits);
}

Real PieceAt(Real x, Integer index, const Pieces& pieces) {
  Real r = x - LookUp(index, pieces.row(0));
  // The linear term is rounded with those above: next to a zero it is the result, and elsewhere smaller than that.
  Real slope = MulAdd(r, LookUp(index, pieces.row(2)), Rest(r, index, pieces) * (r * r));
  return LookUp(index, pieces.row(1)) + slope;
}

ExactPiece ExactPieceAt(Real x, Integer index, const Pieces& pieces) {
  Real r = x - LookUp(index, pieces.row(0));
  Real first = LookUp(index, pieces.row(1));
  Real others = MulAdd(Rest(r, index, pieces), r, LookUp(index, pieces.row(2))) * r;
  Real value = first + others;
  return {value, others - (value - first)};
}

}  // namespace kiln::kernel::math
