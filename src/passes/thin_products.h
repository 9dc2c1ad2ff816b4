#ifndef KILN_PASSES_THIN_PRODUCTS_H_
#define KILN_PASSES_THIN_PRODUCTS_H_

#include "absl/status/statusor.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// A product of matrices whose sums have a few terms each, as of points in space times directions, takes no longer than
// it takes to write the result. It becomes those terms, elementwise, which what reads the result joins:
//
//   dot(a, b)  ->  add(multiply(a[:,0], b[0,:]), multiply(a[:,1], b[1,:]))
//
// One that another product reads stays: both may be made block by block of rows (row_chain_fusion.h).
absl::StatusOr<bool> ExpandThinProducts(Module* module);

}  // namespace kiln::passes

#endif  // KILN_PASSES_THIN_PRODUCTS_H_
