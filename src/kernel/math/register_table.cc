#include "src/kernel/math/register_table.h"

#include "llvm/IR/IntrinsicsX86.h"
#include "src/base/isa_level.h"

namespace kiln::kernel::math {
namespace {

// Looks up what the table has of a number's interval. One number is a lane of a vector for that: on its way to the
// processor's other registers and back a loop would wait for it.
class LookUp {
 public:
  LookUp(Real x, const Pieces& pieces)
      : b_(x.builder()), wide_{b_.ir, b_.lanes == 1 ? 4 : b_.lanes, b_.target}, pieces_(pieces), index_(nullptr) {
    llvm::Value* all = x;
    if (b_.lanes == 1) {
      all = b_.ir.CreateInsertElement(llvm::PoisonValue::get(wide_.FloatType()), all, uint64_t{0});
    }
    index_ = pieces.IntervalOf(wide_, all);
  }

  Real operator()(size_t row) const {
    const absl::Span<const float> table = pieces_.row(row);
    llvm::Constant* entries =
        llvm::ConstantDataVector::get(b_.context(), llvm::ArrayRef<float>(table.data(), table.size()));
    const int lanes = static_cast<int>(table.size());
    llvm::Value* found = InPieces(wide_, lanes, {index_}, [&](llvm::ArrayRef<llvm::Value*> pieces) -> llvm::Value* {
      if (lanes == 8) return b_.ir.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {}, {entries, pieces[0]});
      return b_.ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {entries, pieces[0]});
    });
    return {b_, b_.lanes == 1 ? b_.ir.CreateExtractElement(found, uint64_t{0}) : found};
  }

 private:
  const VectorBuilder& b_;
  const VectorBuilder wide_;
  const Pieces& pieces_;
  llvm::Value* index_;
};

// (p(r) - p(0) - p'(0) r) / r^2, two coefficients at a time: fewer steps wait for each other so.
Real Rest(Real r, const LookUp& look_up, size_t rows) {
  constexpr size_t kFirst = 3;
  const auto pair = [&](size_t i) {
    Real low = look_up(i);
    return i + 1 < rows ? MulAdd(look_up(i + 1), r, low) : low;
  };
  Real square = r * r;
  size_t i = kFirst + (rows - kFirst - 1) / 2 * 2;
  Real rest = pair(i);
  for (; i > kFirst; i -= 2) rest = MulAdd(rest, square, pair(i - 2));
  return rest;
}

}  // namespace

int RegisterTableSize(const VectorBuilder& b) {
  return b.target != Target::kCpu ? 0 : HasAvx512() ? 16 : HasAvx2() ? 8 : 0;
}

Integer Pieces::IntervalOf(const VectorBuilder& b, llvm::Value* x) const {
  const Real number(b, x);
  // Adding that rounds a multiple of x to an integer and leaves it in the lowest bits of the sum.
  if (spacing_ == Spacing::kEven) return MulAdd(number, step_, number.Constant(0x1.8p23)).AsInteger();
  // The lowest bits of the exponent, and the highest of the fraction.
  const int bits = intervals_ == 16 ? 2 : 1;
  return MulAdd(number, step_, number.Constant(1)).AsInteger().Shr(number.mantissa_bits() - bits);
}

Real PieceAt(Real x, const Pieces& pieces) {
  const LookUp look_up(x, pieces);
  Real r = x - look_up(0);
  // Waited for, the linear term goes with the value, which rounds it once more: not where it is the result and inexact.
  const bool is_exact = pieces.row(1)[0] != 0 || pieces.row(2)[0] == 1;
  if (x.builder().few_elements && is_exact) {
    return MulAdd(Rest(r, look_up, pieces.rows()), r * r, MulAdd(r, look_up(2), look_up(1)));
  }
  // The linear term is rounded with those above: next to a zero it is the result, and elsewhere smaller than that.
  Real slope = MulAdd(r, look_up(2), Rest(r, look_up, pieces.rows()) * (r * r));
  return look_up(1) + slope;
}

ExactPiece ExactPieceAt(Real x, const Pieces& pieces) {
  const LookUp look_up(x, pieces);
  Real r = x - look_up(0);
  Real first = look_up(1);
  Real others = MulAdd(Rest(r, look_up, pieces.rows()), r, look_up(2)) * r;
  Real value = first + others;
  return {value, others - (value - first)};
}

}  // namespace kiln::kernel::math
