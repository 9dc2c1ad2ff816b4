// From the op tree's flat attributes back to those of StableHLO.
#ifndef KILN_FRONTEND_MLIR_STRUCTURED_ATTRIBUTES_H_
#define KILN_FRONTEND_MLIR_STRUCTURED_ATTRIBUTES_H_

#include <vector>

#include "src/frontend/mlir/context.h"

namespace kiln::mlir {

// The inherent attributes of `operation` as StableHLO defines them, sorted by name: dimension numbers, channel handles
// and dot algorithms as one attribute each, lists of dimensions as array<i64>, flags as units where the op has them so.
// What says nothing (no channel, empty layouts) is left out. New attributes live in `context`.
std::vector<NamedAttribute> StructuredAttributes(const Operation& operation, Context& context);

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_STRUCTURED_ATTRIBUTES_H_
