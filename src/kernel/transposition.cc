#include "src/kernel/transposition.h"

#include <utility>

#include "llvm/IR/DerivedTypes.h"
#include "src/kernel/vector_builder.h"

namespace kiln::kernel {

std::vector<llvm::Value*> Transposed(llvm::IRBuilder<>& b, std::vector<llvm::Value*> rows) {
  const int size = static_cast<int>(rows.size()), half = size / 2;
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(rows[0]->getType())->getNumElements());
  const int bits = static_cast<int>(rows[0]->getType()->getScalarSizeInBits()), width = size * bits;
  if (width == 256 && lanes == size) {
    // The low halves of two rows side by side, and the high ones: then all stays within halves of registers.
    std::vector<llvm::Value*> columns;
    for (int part : {0, half}) {
      std::vector<int> halves(lanes);
      for (int lane = 0; lane < lanes; ++lane) halves[lane] = part + lane % half + (lane < half ? 0 : lanes);
      std::vector<llvm::Value*> pairs(half);
      for (int i = 0; i < half; ++i) pairs[i] = Fenced(b, b.CreateShuffleVector(rows[i], rows[i + half], halves));
      for (llvm::Value* column : Transposed(b, std::move(pairs))) columns.push_back(column);
    }
    return columns;
  }
  // Each round interleaves the halves of the rows.
  for (int round = 1; round < size; round *= 2) {
    std::vector<llvm::Value*> next(size);
    for (int i = 0; i < size; ++i) {
      std::vector<int> interleave(lanes);
      for (int lane = 0; lane < lanes; ++lane) {
        const int at = lane % size;
        interleave[lane] = lane % 2 * lanes + (lane - at) + (i % 2 * size + at) / 2;
      }
      next[i] = b.CreateShuffleVector(rows[i / 2], rows[i / 2 + half], interleave);
      if (width <= 128 && lanes * bits % 128 == 0 && 2 * round < size) next[i] = Fenced(b, next[i]);
    }
    rows = std::move(next);
  }
  return rows;
}

}  // namespace kiln::kernel
