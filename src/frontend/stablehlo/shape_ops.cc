// Constants and ops that move data by a fixed rule: broadcast, reshape, slice, pad, ...
#include <algorithm>
#include <utility>

#include "src/frontend/stablehlo/op_import.h"
#include "src/frontend/stablehlo/shared_imports.h"

namespace kiln::stablehlo {
namespace {

using hlo::DimensionVector;
using hlo::Opcode;

absl::Status ImportConstant(OpImport& op) {
  const mlir::AttributeRef value = op.attribute("value");
  const auto* dense = mlir::As<mlir::DenseAttribute>(value);
  if (dense == nullptr) return op.Invalid("attribute value must be dense elements");
  absl::StatusOr<hlo::Shape> shape = ToShape(*dense->type);
  if (!shape.ok()) return Annotate(shape.status(), op.Describe());
  // A quantized constant gives the bytes of its storage, whose sign only the result's type knows.
  if (const auto* quantized = op.result_count() == 1 ? QuantizedElement(*op.operation().results[0]->type) : nullptr) {
    KILN_ASSIGN_OR_RETURN(const hlo::PrimitiveType storage, StoragePrimitive(*quantized));
    if (hlo::IsIntegral(shape->element_type()) && hlo::BitWidth(storage) == hlo::BitWidth(shape->element_type())) {
      shape->set_element_type(storage);
    }
  }
  // A splat becomes a broadcast scalar, so that its memory does not follow its shape.
  const bool broadcast = dense->splat && shape->rank() > 0;
  const hlo::Shape stored = broadcast ? hlo::Shape::Scalar(shape->element_type()) : *shape;
  absl::StatusOr<hlo::Literal> literal = ToLiteral(*dense, stored);
  if (!literal.ok()) return Annotate(literal.status(), op.Describe());
  hlo::Instruction* instruction = op.Add(Opcode::kConstant, stored, {}, hlo::ConstantAttributes{*std::move(literal)});
  if (broadcast) {
    instruction = op.Add(Opcode::kBroadcast, *std::move(shape), {instruction}, hlo::DimensionsAttributes{});
  }
  return op.Define(instruction);
}

absl::Status ImportIota(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const int64_t dimension, op.Integer("iota_dimension"));
  return op.Finish(Opcode::kIota, {}, hlo::DimensionsAttributes{{dimension}});
}

absl::Status ImportReshape(OpImport& op) { return op.Finish(op.row().opcode, op.operands()); }

// broadcast: new dimensions in front.
absl::Status ImportBroadcast(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  KILN_ASSIGN_OR_RETURN(const DimensionVector sizes, op.Integers("broadcast_sizes"));
  hlo::DimensionsAttributes broadcast;
  for (int64_t i = 0; i < op.operand_shape(0).rank(); ++i) {
    broadcast.dimensions.push_back(static_cast<int64_t>(sizes.size()) + i);
  }
  return op.Define(op.Add(Opcode::kBroadcast, std::move(shape), op.operands(), std::move(broadcast)));
}

absl::Status ImportTranspose(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(DimensionVector permutation, op.Integers("permutation"));
  return op.Finish(Opcode::kTranspose, op.operands(), hlo::DimensionsAttributes{std::move(permutation)});
}

absl::Status ImportReverse(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(DimensionVector dimensions, op.Integers("dimensions"));
  return op.Finish(Opcode::kReverse, op.operands(), hlo::DimensionsAttributes{std::move(dimensions)});
}

absl::Status ImportConcatenate(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const int64_t dimension, op.Integer("dimension"));
  return op.Finish(Opcode::kConcatenate, op.operands(), hlo::DimensionsAttributes{{dimension}});
}

absl::Status ImportSlice(OpImport& op) {
  const size_t rank = op.operand_shape(0).dimensions().size();
  hlo::SliceAttributes slice;
  KILN_ASSIGN_OR_RETURN(slice.start, op.IntegersOf("start_indices", rank));
  KILN_ASSIGN_OR_RETURN(slice.limit, op.IntegersOf("limit_indices", rank));
  KILN_ASSIGN_OR_RETURN(slice.stride, op.IntegersOf("strides", rank, 1));
  return op.Finish(Opcode::kSlice, op.operands(), std::move(slice));
}

absl::Status ImportPad(OpImport& op) {
  const size_t rank = op.operand_shape(0).dimensions().size();
  hlo::PadAttributes pad;
  KILN_ASSIGN_OR_RETURN(pad.low, op.IntegersOf("edge_padding_low", rank));
  KILN_ASSIGN_OR_RETURN(pad.high, op.IntegersOf("edge_padding_high", rank));
  KILN_ASSIGN_OR_RETURN(pad.interior, op.IntegersOf("interior_padding", rank));
  return op.Finish(Opcode::kPad, op.operands(), std::move(pad));
}

absl::Status ImportBroadcastInDim(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const DimensionVector dims,
                        op.IntegersOf("broadcast_dimensions", op.operand_shape(0).dimensions().size()));
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  if (IsOpen(shape)) return op.Invalid("the result of a broadcast_in_dim must have static dimensions");
  KILN_ASSIGN_OR_RETURN(hlo::Instruction * result, BroadcastTo(op, dims, std::move(shape)));
  return op.Define(result);
}

constexpr OpRow kShapeOpsOps[] = {
    {"stablehlo.constant", ImportConstant, 0},
    {"stablehlo.iota", ImportIota, 0},
    {"stablehlo.reshape", ImportReshape, 1, 1, 0, Opcode::kReshape},
    {"stablehlo.bitcast_convert", ImportReshape, 1, 1, 0, Opcode::kBitcastConvert},
    {"stablehlo.broadcast", ImportBroadcast, 1},
    {"stablehlo.broadcast_in_dim", ImportBroadcastInDim, 1},
    {"stablehlo.transpose", ImportTranspose, 1},
    {"stablehlo.reverse", ImportReverse, 1},
    {"stablehlo.concatenate", ImportConcatenate},
    {"stablehlo.slice", ImportSlice, 1},
    {"stablehlo.pad", ImportPad, 2},
};

}  // namespace

absl::StatusOr<hlo::Instruction*> BroadcastTo(OpImport& op, const DimensionVector& dims, hlo::Shape shape) {
  hlo::Instruction* operand = op.operand(0);
  const hlo::Shape& from = operand->shape();
  if (!from.IsArray() || !shape.IsArray()) return op.Invalid("operand and result must be tensors");
  // HLO broadcasts equal sizes only: dimensions of size one that grow are reshaped away first.
  DimensionVector kept_sizes;
  hlo::DimensionsAttributes broadcast;
  for (int64_t i = 0; i < from.rank(); ++i) {
    if (dims[i] < 0 || dims[i] >= shape.rank()) {
      return op.Invalid("broadcast dimension ", dims[i], " is outside the result's rank ", shape.rank());
    }
    if (std::count(dims.begin(), dims.end(), dims[i]) != 1) return op.Invalid("broadcast dimensions repeat ", dims[i]);
    const int64_t size = from.dimensions(i);
    const int64_t result_size = shape.dimensions(dims[i]);
    if (size != result_size && size != 1) {
      return op.Invalid("operand dimension ", i, " of size ", size, " cannot become ", result_size);
    }
    if (size != result_size) continue;
    kept_sizes.push_back(size);
    broadcast.dimensions.push_back(dims[i]);
  }
  if (static_cast<int64_t>(kept_sizes.size()) != from.rank()) {
    operand = op.Add(Opcode::kReshape, hlo::Shape(from.element_type(), kept_sizes), {operand});
  }
  // A broadcast with descending dimensions would transpose as well: that is a transpose of its own.
  if (!std::is_sorted(broadcast.dimensions.begin(), broadcast.dimensions.end())) {
    DimensionVector order(broadcast.dimensions.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return broadcast.dimensions[a] < broadcast.dimensions[b]; });
    DimensionVector sizes;
    DimensionVector sorted;
    for (int64_t i : order) {
      sizes.push_back(kept_sizes[i]);
      sorted.push_back(broadcast.dimensions[i]);
    }
    operand =
        op.Add(Opcode::kTranspose, hlo::Shape(from.element_type(), sizes), {operand}, hlo::DimensionsAttributes{order});
    broadcast.dimensions = sorted;
  }
  return op.Add(Opcode::kBroadcast, std::move(shape), {operand}, std::move(broadcast));
}

absl::Span<const OpRow> ShapeOps() { return kShapeOpsOps; }

}  // namespace kiln::stablehlo
