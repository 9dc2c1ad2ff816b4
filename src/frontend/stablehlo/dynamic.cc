// Ops of dynamic shapes: bounded sizes, and ops whose sizes are operands. The latter are imported when what they need
// is constant and their result is static, which is what remains of them once a program has been given static shapes.
#include <utility>

#include "src/frontend/stablehlo/op_import.h"
#include "src/frontend/stablehlo/shared_imports.h"

namespace kiln::stablehlo {
namespace {

using hlo::DimensionVector;
using hlo::Opcode;

absl::StatusOr<DimensionVector> ConstantOperand(const OpImport& op, size_t index, absl::string_view what) {
  const mlir::Operation* definition = op.operation().operands[index]->operation;
  std::optional<std::vector<int64_t>> values;
  if (definition != nullptr && definition->name == "stablehlo.constant") {
    values = mlir::AsIntegers(definition->Get("value"));
  }
  if (!values.has_value()) return op.Unsupported(what, " must be constant");
  return DimensionVector(values->begin(), values->end());
}

absl::StatusOr<hlo::Shape> StaticResult(const OpImport& op) {
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  if (shape.has_dynamic_dimensions()) return op.Unsupported("a dynamic result is not supported");
  return shape;
}

absl::Status ImportGetDimensionSize(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const int64_t dimension, op.Integer("dimension"));
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  return op.Define(op.Add(op.row().opcode, std::move(shape), op.operands(), hlo::DimensionsAttributes{{dimension}}));
}

absl::Status ImportDynamicReshape(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, StaticResult(op));
  return op.Define(op.Add(Opcode::kReshape, std::move(shape), {op.operand(0)}));
}

absl::Status ImportDynamicBroadcastInDim(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const DimensionVector dims,
                        op.IntegersOf("broadcast_dimensions", op.operand_shape(0).dimensions().size()));
  KILN_RETURN_IF_ERROR(StaticResult(op).status());
  return ImportBroadcastTo(op, dims);
}

absl::Status ImportDynamicIota(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const int64_t dimension, op.Integer("iota_dimension"));
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, StaticResult(op));
  return op.Define(op.Add(Opcode::kIota, std::move(shape), {}, hlo::DimensionsAttributes{{dimension}}));
}

absl::Status ImportDynamicPad(OpImport& op) {
  const size_t rank = op.operand_shape(0).dimensions().size();
  hlo::PadAttributes pad;
  KILN_ASSIGN_OR_RETURN(pad.low, ConstantOperand(op, 2, "edge_padding_low"));
  KILN_ASSIGN_OR_RETURN(pad.high, ConstantOperand(op, 3, "edge_padding_high"));
  KILN_ASSIGN_OR_RETURN(pad.interior, ConstantOperand(op, 4, "interior_padding"));
  if (pad.low.size() != rank || pad.high.size() != rank || pad.interior.size() != rank) {
    return op.Invalid("the paddings must have ", rank, " entries");
  }
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, StaticResult(op));
  return op.Define(op.Add(Opcode::kPad, std::move(shape), {op.operand(0), op.operand(1)}, std::move(pad)));
}

absl::Status ImportRealDynamicSlice(OpImport& op) {
  const size_t rank = op.operand_shape(0).dimensions().size();
  hlo::SliceAttributes slice;
  KILN_ASSIGN_OR_RETURN(slice.start, ConstantOperand(op, 1, "start_indices"));
  KILN_ASSIGN_OR_RETURN(slice.limit, ConstantOperand(op, 2, "limit_indices"));
  KILN_ASSIGN_OR_RETURN(slice.stride, ConstantOperand(op, 3, "strides"));
  if (slice.start.size() != rank || slice.limit.size() != rank || slice.stride.size() != rank) {
    return op.Invalid("the indices must have ", rank, " entries");
  }
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, StaticResult(op));
  return op.Define(op.Add(Opcode::kSlice, std::move(shape), {op.operand(0)}, std::move(slice)));
}

absl::Status ImportDynamicGather(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const DimensionVector sizes, ConstantOperand(op, 2, "slice_sizes"));
  KILN_RETURN_IF_ERROR(StaticResult(op).status());
  return ImportGatherWith(op, sizes);
}

absl::Status ImportDynamicConv(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const DimensionVector flat, ConstantOperand(op, 2, "padding"));
  KILN_ASSIGN_OR_RETURN(const DimensionVector spatial, op.Integers("input_spatial_dimensions"));
  if (flat.size() != 2 * spatial.size()) {
    return op.Invalid("padding has ", flat.size(), " entries, expected ", 2 * spatial.size());
  }
  std::vector<std::pair<int64_t, int64_t>> padding;
  for (size_t i = 0; i < flat.size(); i += 2) padding.emplace_back(flat[i], flat[i + 1]);
  KILN_RETURN_IF_ERROR(StaticResult(op).status());
  return ImportConvolutionWith(op, padding);
}

constexpr OpRow kRows[] = {
    {"stablehlo.get_dimension_size", ImportGetDimensionSize, 1, 1, 0, Opcode::kGetDimensionSize},
    {"stablehlo.set_dimension_size", ImportGetDimensionSize, 2, 1, 0, Opcode::kSetDimensionSize},
    {"stablehlo.dynamic_broadcast_in_dim", ImportDynamicBroadcastInDim, 2},
    {"stablehlo.dynamic_conv", ImportDynamicConv, 3},
    {"stablehlo.dynamic_gather", ImportDynamicGather, 3},
    {"stablehlo.dynamic_iota", ImportDynamicIota, 1},
    {"stablehlo.dynamic_pad", ImportDynamicPad, 5},
    {"stablehlo.dynamic_reshape", ImportDynamicReshape, 2},
    {"stablehlo.real_dynamic_slice", ImportRealDynamicSlice, 4},
};

}  // namespace

absl::Span<const OpRow> DynamicOps() { return kRows; }

}  // namespace kiln::stablehlo
