#include "src/kernel/transposition.h"

#include <utility>

#include "llvm/IR/DerivedTypes.h"

namespace kiln::kernel {

std::vector<llvm::Value*> Transposed(llvm::IRBuilder<>& b, std::vector<llvm::Value*> rows) {
  const int size = static_cast<int>(rows.size());
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(rows[0]->getType())->getNumElements());
  // Each round interleaves the halves of the rows.
  for (int round = 1; round < size; round *= 2) {
    std::vector<llvm::Value*> next(size);
    for (int i = 0; i < size; ++i) {
      std::vector<int> interleave(lanes);
      for (int lane = 0; lane < lanes; ++lane) {
        const int at = lane % size;
        interleave[lane] = lane % 2 * lanes + (lane - at) + (i % 2 * size + at) / 2;
      }
      next[i] = b.CreateShuffleVector(rows[i / 2], rows[i / 2 + size / 2], interleave);
    }
    rows = std::move(next);
  }
  return rows;
}

}  // namespace kiln::kernel
