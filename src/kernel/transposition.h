// Squares of lanes transposed in registers.
#ifndef KILN_KERNEL_TRANSPOSITION_H_
#define KILN_KERNEL_TRANSPOSITION_H_

#include <vector>

#include "llvm/IR/IRBuilder.h"

namespace kiln::kernel {

// `rows`: n vectors of a multiple of n lanes, n a power of two. In each stretch of n lanes element i of vector j
// becomes element j of vector i.
std::vector<llvm::Value*> Transposed(llvm::IRBuilder<>& b, std::vector<llvm::Value*> rows);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_TRANSPOSITION_H_
