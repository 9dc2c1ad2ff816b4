#ifndef KILN_PASSES_VECTOR_PRODUCTS_H_
#define KILN_PASSES_VECTOR_PRODUCTS_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// A vector times a matrix that is made elementwise for this alone, as weights that are stored in bytes, becomes a sum
// of products: its kernel makes the matrix where it reads it, element by element. So does a vector of few elements
// times long rows, whose kernel others are merged with that read the rows, a vector times a matrix that comes from
// memory, and vectors times matrices (or vectors) that are batches side by side in memory.
absl::StatusOr<bool> ExpandVectorProducts(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_VECTOR_PRODUCTS_H_
