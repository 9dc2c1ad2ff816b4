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
  const int64_t element = layout_.lhs.element_bytes;
  const int64_t stored = StoredElement(problem_.lhs_type);
  const llvm::Align from_align(static_cast<uint64_t>(stored)), to_align(static_cast<uint64_t>(element));
  const auto convert = [&](llvm::Value* value) {
    return problem_.depth > 1 ? value : arithmetic_.FromStored(b_, problem_.lhs_type, value);
  };
  if (row.dilation > 1) {
    b_.CreateMemSet(to, b_.getInt8(0), row.padded * element, to_align);
    const int64_t first = row.low >= 0 ? 0 : (-row.low + row.dilation - 1) / row.dilation;
    const int64_t end = std::clamp<int64_t>((row.padded - row.low + row.dilation - 1) / row.dilation, first, row.size);
    llvm::Value* begin = At(to, row.low * element);
    EmitLoop(b_, Int(first), Int(end), 1, "spread", [&](llvm::Value* i) {
      llvm::Type* type = GemmArithmetic::StoredType(b_.getContext(), problem_.lhs_type, 1);
      llvm::Value* value = convert(b_.CreateAlignedLoad(type, At(from, i, stored), from_align));
      b_.CreateAlignedStore(value, At(begin, i, row.dilation * element), to_align);
    });
    return;
  }
  const int lanes = static_cast<int>(std::max<int64_t>(64 / element, 1));
  llvm::Type* from_type = GemmArithmetic::StoredType(b_.getContext(), problem_.lhs_type, lanes);
  llvm::Value* source = At(from, -row.low * stored);
  const int64_t begin = std::clamp<int64_t>(row.low, 0, row.padded);
  const int64_t end = std::clamp<int64_t>(row.low + row.size, begin, row.padded);
  const auto lanes_between = [&](int64_t first, int64_t low, int64_t high) {
    std::vector<llvm::Constant*> mask;
    for (int64_t i = first; i < first + lanes; ++i) mask.push_back(b_.getInt1(i >= low && i < high));
    return llvm::ConstantVector::get(mask);
  };
  // `lanes` elements of the copy from a constant index on, some of which are zeros or do not exist.
  const auto edge = [&](int64_t first) {
    llvm::Value* value = b_.CreateMaskedLoad(from_type, At(source, first * stored), from_align,
                                             lanes_between(first, begin, end), llvm::Constant::getNullValue(from_type));
    if (first + lanes <= row.padded) {
      b_.CreateAlignedStore(convert(value), At(to, first * element), to_align);
    } else {
      b_.CreateMaskedStore(convert(value), At(to, first * element), to_align, lanes_between(first, 0, row.padded));
    }
  };
  const auto up = [&](int64_t value) { return (value + lanes - 1) / lanes * lanes; };
  const int64_t whole_begin = up(begin), whole_end = std::max(end / lanes * lanes, whole_begin);
  for (const bool behind : {false, true}) {
    // Zeros, whole vectors where there are many of them.
    const int64_t low = behind ? std::min(up(end), up(row.padded)) : 0;
    const int64_t high = behind ? row.padded : begin / lanes * lanes;
    if (behind && end % lanes != 0 && end / lanes * lanes >= whole_begin) edge(end / lanes * lanes);
    if (high > low) b_.CreateMemSet(At(to, low * element), b_.getInt8(0), (high - low) * element, to_align);
    if (behind) break;
    if (begin % lanes != 0) edge(begin / lanes * lanes);
    EmitLoop(b_, Int(whole_begin), Int(whole_end), lanes, "copy", [&](llvm::Value* i) {
      llvm::Value* value = b_.CreateAlignedLoad(from_type, At(source, i, stored), from_align);
      b_.CreateAlignedStore(convert(value), At(to, i, element), to_align);
    });
  }
}

}  // namespace kiln::cpu
