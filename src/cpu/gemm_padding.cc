// The padded copy of lhs: zeros around and between its elements, which are converted to the sum's type on the way.
#include <algorithm>

#include "llvm/IR/Constants.h"
#include "src/cpu/gemm_emitter.h"
#include "src/cpu/llvm_loop.h"

namespace kiln::cpu {

void GemmEmitter::PadRow(const std::vector<GemmPadding>& padding, const Entry& entry, llvm::Value* row,
                         llvm::Value* slot) {
  const int64_t element = layout_.lhs.element_bytes;
  const GemmPadding& inner = padding.back();
  llvm::Value* to = At(At(entry.scratch, layout_.lhs.scratch_offset), slot, inner.padded * element);
  // Where the row comes from, if it is no row of zeros.
  llvm::Value* offset = Int(0);
  llvm::Value* exists = b_.getTrue();
  llvm::Value* rest = row;
  int64_t stride = inner.size;
  for (size_t i = padding.size() - 1; i-- > 0;) {
    const GemmPadding& d = padding[i];
    llvm::Value* position = i == 0 ? rest : b_.CreateURem(rest, Int(d.padded));
    if (i > 0) rest = b_.CreateUDiv(rest, Int(d.padded));
    position = b_.CreateSub(position, Int(d.low));
    if (d.low > 0 || d.padded - d.low > (d.size - 1) * d.dilation + 1) {
      exists = b_.CreateAnd(exists, b_.CreateICmpULT(position, Int((d.size - 1) * d.dilation + 1)));
    }
    if (d.dilation > 1) {
      exists = b_.CreateAnd(exists, b_.CreateICmpEQ(b_.CreateURem(position, Int(d.dilation)), Int(0)));
      position = b_.CreateUDiv(position, Int(d.dilation));
    }
    offset = b_.CreateAdd(offset, Scale(position, stride));
    stride *= d.size;
  }
  llvm::Value* from = At(entry.lhs, offset, StoredElement(problem_.lhs_type));
  EmitIf(b_, exists, "row", [&] { CopyPaddedRow(inner, from, to); });
  if (llvm::isa<llvm::Constant>(exists)) return;
  EmitIf(b_, b_.CreateNot(exists), "zeros",
         [&] { b_.CreateMemSet(to, b_.getInt8(0), inner.padded * element, llvm::Align(1)); });
}

void GemmEmitter::CopyPaddedRow(const GemmPadding& row, llvm::Value* from, llvm::Value* to) {
  const int64_t element = layout_.lhs.element_bytes, stored = StoredElement(problem_.lhs_type);
  const llvm::Align from_align(static_cast<uint64_t>(stored)), to_align(static_cast<uint64_t>(element));
  const int lanes = row.dilation > 1 ? 1 : static_cast<int>(std::max<int64_t>(64 / element, 1));
  llvm::Type* type = GemmArithmetic::StoredType(b_.getContext(), problem_.lhs_type, lanes);
  const auto convert = [&](llvm::Value* value) { return arithmetic_.FromStored(b_, problem_.lhs_type, value); };
  const auto clear = [&](int64_t begin, int64_t end) {
    if (begin < end) b_.CreateMemSet(At(to, begin * element), b_.getInt8(0), (end - begin) * element, to_align);
  };
  // The elements that have a place, and the places before and behind theirs.
  const int64_t first = row.low >= 0 ? 0 : CeilDivide(-row.low, row.dilation);
  const int64_t end = std::clamp<int64_t>(CeilDivide(row.padded - row.low, row.dilation), first, row.size);
  const auto place = [&](int64_t i) { return std::clamp<int64_t>(row.low + i * row.dilation, 0, row.padded); };
  clear(0, row.dilation > 1 ? row.padded : place(first));
  if (row.dilation == 1) clear(place(end), row.padded);
  llvm::Value* start = At(to, row.low * element);
  const int64_t whole = first + (end - first) / lanes * lanes;
  EmitLoop(b_, Int(first), Int(whole), lanes, "copy", [&](llvm::Value* i) {
    llvm::Value* value = convert(b_.CreateAlignedLoad(type, At(from, i, stored), from_align));
    b_.CreateAlignedStore(value, At(start, i, row.dilation * element), to_align);
  });
  if (whole == end) return;
  llvm::Constant* mask = LaneMask(lanes, end - whole);
  llvm::Value* value =
      b_.CreateMaskedLoad(type, At(from, whole * stored), from_align, mask, llvm::Constant::getNullValue(type));
  b_.CreateMaskedStore(convert(value), At(start, whole * element), to_align, mask);
}

}  // namespace kiln::cpu
