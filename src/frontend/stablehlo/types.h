// Types and constants of the op tree as HLO shapes and literals.
#ifndef KILN_FRONTEND_STABLEHLO_TYPES_H_
#define KILN_FRONTEND_STABLEHLO_TYPES_H_

#include "absl/status/statusor.h"
#include "src/frontend/mlir/attribute.h"
#include "src/frontend/mlir/type.h"
#include "src/hlo/literal.h"
#include "src/hlo/shape.h"

namespace kiln::stablehlo {

// Integers of 1, 2, 4, 8, 16, 32 and 64 bits, floats and complex numbers that HLO has; of quantized types the storage.
absl::StatusOr<hlo::PrimitiveType> ToPrimitiveType(const mlir::Type& type);
absl::StatusOr<hlo::PrimitiveType> StoragePrimitive(const mlir::QuantizedType& type);

// Tensors (row-major; a bounded dimension has its bound as size and is dynamic), tokens and tuples. Always valid in the
// sense of hlo::ValidateShape.
absl::StatusOr<hlo::Shape> ToShape(const mlir::Type& type);

// The values of a dense attribute with at most one element stored per element of `shape`; splats are expanded, so call
// it for them only with small shapes. `shape` must be that of the attribute's type.
absl::StatusOr<hlo::Literal> ToLiteral(const mlir::DenseAttribute& dense, const hlo::Shape& shape);

}  // namespace kiln::stablehlo

#endif  // KILN_FRONTEND_STABLEHLO_TYPES_H_
