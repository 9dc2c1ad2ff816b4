// Imports that several op families share, with what the op may give as attribute or as operand already read.
#ifndef KILN_FRONTEND_STABLEHLO_SHARED_IMPORTS_H_
#define KILN_FRONTEND_STABLEHLO_SHARED_IMPORTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "src/frontend/stablehlo/op_import.h"

namespace kiln::stablehlo {

// Operand 0 broadcast to `shape`; dims[i] is the result dimension of operand dimension i. `dims` has the operand's
// rank.
absl::StatusOr<hlo::Instruction*> BroadcastTo(OpImport& op, const hlo::DimensionVector& dims, hlo::Shape shape);
// A window of `sizes` with the op's strides and reversal, and its dilations by these names.
absl::StatusOr<hlo::Window> ReadWindow(const OpImport& op, const hlo::DimensionVector& sizes,
                                       const std::vector<std::pair<int64_t, int64_t>>& padding,
                                       absl::string_view base_dilation, absl::string_view window_dilation);
// Operands 0 and 1 convolved; `padding` has an entry per spatial dimension.
absl::Status ImportConvolutionWith(OpImport& op, const std::vector<std::pair<int64_t, int64_t>>& padding);
// Groups of rows of the left operand, each with a matrix of its own; `attribute` gives lists of dimensions by name,
// null for empty ones.
absl::Status ImportRaggedDotWith(OpImport& op, absl::FunctionRef<mlir::AttributeRef(absl::string_view)> attribute,
                                 std::vector<hlo::Precision> precision);
// Slices of operand 0 at indices of operand 1.
absl::Status ImportGatherWith(OpImport& op, const hlo::DimensionVector& slice_sizes);

// The first 2 * count operands: inputs and init values reduced over windows.
absl::Status ImportReduceWindowWith(OpImport& op, size_t count, hlo::WindowAttributes window, hlo::Computation* body);
// Layouts (minor to major) for `shapes`, one each, from the list `name`; false when the op leaves them out.
absl::StatusOr<bool> ReadLayouts(const OpImport& op, absl::string_view name, absl::Span<hlo::Shape> shapes);
// The state, and the shape of the bits as second operand where that is one.
absl::Status ImportRngBitGenerator(OpImport& op);
// Custom calls in which JAX exports ops whose sizes are operands; true when `target` names one.
absl::StatusOr<bool> ImportDynamicCall(OpImport& op, absl::string_view target);

// False for a composite that HLO has an opcode for: its decomposition is not called.
bool NeedsDecomposition(const mlir::Operation& composite);

}  // namespace kiln::stablehlo

#endif  // KILN_FRONTEND_STABLEHLO_SHARED_IMPORTS_H_
