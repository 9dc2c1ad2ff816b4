// Ops of dynamic shapes: bounded sizes, and ops whose sizes are operands. The latter are imported when those are
// constant, which they are once a program has been given static shapes.
#include <utility>

#include "src/frontend/stablehlo/op_import.h"
#include "src/frontend/stablehlo/shared_imports.h"

namespace kiln::stablehlo {
namespace {

using hlo::DimensionVector;
using hlo::Opcode;

// The result's shape: as declared, or from the sizes in operand `index` where that is open.
absl::StatusOr<hlo::Shape> SizedResult(OpImport& op, size_t index, absl::string_view what) {
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  if (!IsOpen(shape)) return shape;
  KILN_ASSIGN_OR_RETURN(const DimensionVector sizes, op.ConstantOperand(index, what));
  return op.ResultOfSizes(sizes);
}

// Entry `i` of a vector of sizes as s32[].
hlo::Instruction* SizeEntry(OpImport& op, hlo::Instruction* sizes, int64_t i) {
  const hlo::PrimitiveType type = sizes->shape().element_type();
  hlo::Instruction* entry =
      op.Add(Opcode::kSlice, hlo::Shape(type, {1}), {sizes}, hlo::SliceAttributes{{i}, {i + 1}, {1}});
  entry = op.Add(Opcode::kReshape, hlo::Shape::Scalar(type), {entry});
  return op.Add(Opcode::kConvert, hlo::Shape::Scalar(hlo::PrimitiveType::kS32), {entry});
}

absl::Status CheckSizes(const OpImport& op, const hlo::Instruction* sizes, const hlo::Shape& shape) {
  if (sizes->shape().IsArray() && sizes->shape().rank() == 1 && sizes->shape().dimensions(0) == shape.rank()) {
    return absl::OkStatus();
  }
  return op.Invalid("has sizes ", sizes->shape().ToString(false), " for a result of rank ", shape.rank());
}

// `value` with the sizes that a vector holds in the dimensions in which `shape` is dynamic.
absl::StatusOr<hlo::Instruction*> WithSizes(OpImport& op, hlo::Instruction* value, hlo::Instruction* sizes,
                                            const hlo::Shape& shape) {
  if (!shape.has_dynamic_dimensions()) return value;
  KILN_RETURN_IF_ERROR(CheckSizes(op, sizes, shape));
  hlo::Shape sized = value->shape();
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (!shape.is_dynamic_dimension(i)) continue;
    sized.set_dynamic_dimension(i, true);
    value = op.Add(Opcode::kSetDimensionSize, sized, {value, SizeEntry(op, sizes, i)}, hlo::DimensionsAttributes{{i}});
  }
  return value;
}

absl::StatusOr<hlo::Shape> StaticResult(const OpImport& op) {
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  if (shape.has_dynamic_dimensions()) return op.Unsupported("a bounded dynamic result is not supported");
  return shape;
}

// get_dimension_size and set_dimension_size; sizes that are static are constants, which other shapes may depend on.
absl::Status ImportDimensionSize(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const int64_t dimension, op.Integer("dimension"));
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
  const hlo::Shape& operand = op.operand_shape(0);
  if (!operand.IsArray() || dimension < 0 || dimension >= operand.rank()) {
    return op.Invalid("dimension ", dimension, " is outside ", operand.ToString(false));
  }
  if (op.row().opcode == Opcode::kGetDimensionSize && !operand.is_dynamic_dimension(dimension)) {
    return op.Define(op.Add(Opcode::kConstant, shape, {},
                            hlo::ConstantAttributes{hlo::LiteralOf(shape, operand.dimensions(dimension))}));
  }
  // A size that is known makes a smaller static array.
  if (op.row().opcode == Opcode::kSetDimensionSize && shape.IsArray() && !shape.is_dynamic_dimension(dimension) &&
      shape.rank() == operand.rank() && shape.dimensions(dimension) <= operand.dimensions(dimension)) {
    hlo::SliceAttributes slice;
    slice.start.resize(static_cast<size_t>(shape.rank()), 0);
    slice.stride.resize(static_cast<size_t>(shape.rank()), 1);
    slice.limit = shape.dimensions();
    return op.Define(op.Add(Opcode::kSlice, shape, {op.operand(0)}, std::move(slice)));
  }
  return op.Define(op.Add(op.row().opcode, std::move(shape), op.operands(), hlo::DimensionsAttributes{{dimension}}));
}

absl::Status ImportDynamicReshape(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, SizedResult(op, 1, "output_shape"));
  if (!shape.has_dynamic_dimensions()) return op.Define(op.Add(Opcode::kReshape, std::move(shape), {op.operand(0)}));
  KILN_RETURN_IF_ERROR(CheckSizes(op, op.operand(1), shape));
  std::vector<hlo::Instruction*> operands = {op.operand(0)};
  for (int64_t i = 0; i < shape.rank(); ++i) operands.push_back(SizeEntry(op, op.operand(1), i));
  return op.Define(op.Add(Opcode::kDynamicReshape, std::move(shape), std::move(operands)));
}

absl::Status ImportDynamicBroadcastInDim(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const DimensionVector dims,
                        op.IntegersOf("broadcast_dimensions", op.operand_shape(0).dimensions().size()));
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, SizedResult(op, 1, "output_dimensions"));
  KILN_ASSIGN_OR_RETURN(hlo::Instruction * result,
                        BroadcastTo(op, dims, hlo::Shape(shape.element_type(), shape.dimensions())));
  KILN_ASSIGN_OR_RETURN(result, WithSizes(op, result, op.operand(1), shape));
  return op.Define(result);
}

absl::Status ImportDynamicIota(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const int64_t dimension, op.Integer("iota_dimension"));
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, SizedResult(op, 0, "output_shape"));
  hlo::Instruction* iota = op.Add(Opcode::kIota, hlo::Shape(shape.element_type(), shape.dimensions()), {},
                                  hlo::DimensionsAttributes{{dimension}});
  KILN_ASSIGN_OR_RETURN(iota, WithSizes(op, iota, op.operand(0), shape));
  return op.Define(iota);
}

absl::Status ImportDynamicPad(OpImport& op) {
  const size_t rank = op.operand_shape(0).dimensions().size();
  hlo::PadAttributes pad;
  KILN_ASSIGN_OR_RETURN(pad.low, op.ConstantOperand(2, "edge_padding_low"));
  KILN_ASSIGN_OR_RETURN(pad.high, op.ConstantOperand(3, "edge_padding_high"));
  KILN_ASSIGN_OR_RETURN(pad.interior, op.ConstantOperand(4, "interior_padding"));
  if (pad.low.size() != rank || pad.high.size() != rank || pad.interior.size() != rank) {
    return op.Invalid("the paddings must have ", rank, " entries");
  }
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, StaticResult(op));
  return op.Define(op.Add(Opcode::kPad, std::move(shape), {op.operand(0), op.operand(1)}, std::move(pad)));
}

absl::Status ImportRealDynamicSlice(OpImport& op) {
  const size_t rank = op.operand_shape(0).dimensions().size();
  hlo::SliceAttributes slice;
  KILN_ASSIGN_OR_RETURN(slice.start, op.ConstantOperand(1, "start_indices"));
  KILN_ASSIGN_OR_RETURN(slice.limit, op.ConstantOperand(2, "limit_indices"));
  KILN_ASSIGN_OR_RETURN(slice.stride, op.ConstantOperand(3, "strides"));
  if (slice.start.size() != rank || slice.limit.size() != rank || slice.stride.size() != rank) {
    return op.Invalid("the indices must have ", rank, " entries");
  }
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, StaticResult(op));
  return op.Define(op.Add(Opcode::kSlice, std::move(shape), {op.operand(0)}, std::move(slice)));
}

absl::Status ImportDynamicGather(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const DimensionVector sizes, op.ConstantOperand(2, "slice_sizes"));
  KILN_RETURN_IF_ERROR(StaticResult(op).status());
  return ImportGatherWith(op, sizes);
}

absl::Status ImportDynamicConv(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const DimensionVector flat, op.ConstantOperand(2, "padding"));
  KILN_ASSIGN_OR_RETURN(const DimensionVector spatial, op.Integers("input_spatial_dimensions"));
  if (flat.size() != 2 * spatial.size()) {
    return op.Invalid("padding has ", flat.size(), " entries, expected ", 2 * spatial.size());
  }
  std::vector<std::pair<int64_t, int64_t>> padding;
  for (size_t i = 0; i < flat.size(); i += 2) padding.emplace_back(flat[i], flat[i + 1]);
  KILN_RETURN_IF_ERROR(StaticResult(op).status());
  return ImportConvolutionWith(op, padding);
}

// Inputs, init values, and then what a reduce_window has as attributes.
absl::Status ImportDynamicReduceWindow(OpImport& op) {
  const size_t count = op.result_count();
  if (count == 0 || op.operand_count() != 2 * count + 5 || !op.operand_shape(0).IsArray()) {
    return op.Invalid("has ", op.operand_count(), " operands, expected inputs, init values and five lists");
  }
  const size_t rank = op.operand_shape(0).dimensions().size();
  std::vector<DimensionVector> lists;
  for (const char* what : {"window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding"}) {
    KILN_ASSIGN_OR_RETURN(lists.emplace_back(), op.ConstantOperand(2 * count + lists.size(), what));
    const size_t expected = lists.size() == 5 ? 2 * rank : rank;
    if (lists.back().size() != expected) {
      return op.Invalid(what, " has ", lists.back().size(), " entries, expected ", expected);
    }
  }
  hlo::WindowAttributes window;
  for (size_t i = 0; i < rank; ++i) {
    window.window.push_back({lists[0][i], lists[1][i], lists[4][2 * i], lists[4][2 * i + 1], lists[3][i], lists[2][i],
                             /*reversal=*/false});
  }
  const auto* names = mlir::As<mlir::ArrayAttribute>(op.attribute("called_computations"));
  const auto name = names != nullptr && names->elements.size() == 1 ? mlir::AsString(names->elements[0]) : std::nullopt;
  const auto body = name.has_value() ? op.module().computations.find(*name) : op.module().computations.end();
  if (body == op.module().computations.end()) return op.Invalid("calls no function of the program");
  return ImportReduceWindowWith(op, count, std::move(window), body->second);
}

absl::Status ImportDynamicTopK(OpImport& op) {
  if (op.operand_count() != 2) return op.Invalid("has ", op.operand_count(), " operands, expected 2");
  KILN_ASSIGN_OR_RETURN(const DimensionVector k, op.ConstantOperand(1, "k"));
  if (k.size() != 1) return op.Invalid("k must be one number");
  hlo::TopKAttributes top_k;
  top_k.k = k[0];
  return op.Finish(Opcode::kTopK, {op.operand(0)}, top_k);
}

absl::Status ImportDynamicRngBitGenerator(OpImport& op) {
  if (op.operand_count() != 2) return op.Invalid("has ", op.operand_count(), " operands, expected 2");
  return ImportRngBitGenerator(op);
}

constexpr OpRow kDynamicOps[] = {
    {"stablehlo.get_dimension_size", ImportDimensionSize, 1, 1, 0, Opcode::kGetDimensionSize},
    {"stablehlo.set_dimension_size", ImportDimensionSize, 2, 1, 0, Opcode::kSetDimensionSize},
    {"stablehlo.dynamic_broadcast_in_dim", ImportDynamicBroadcastInDim, 2},
    {"stablehlo.dynamic_conv", ImportDynamicConv, 3},
    {"stablehlo.dynamic_gather", ImportDynamicGather, 3},
    {"stablehlo.dynamic_iota", ImportDynamicIota, 1},
    {"stablehlo.dynamic_pad", ImportDynamicPad, 5},
    {"stablehlo.dynamic_reshape", ImportDynamicReshape, 2},
    {"stablehlo.real_dynamic_slice", ImportRealDynamicSlice, 4},
};

}  // namespace

absl::StatusOr<bool> ImportDynamicCall(OpImport& op, absl::string_view target) {
  constexpr std::pair<absl::string_view, ImportFunction> kCalls[] = {
      {"stablehlo.dynamic_reduce_window", ImportDynamicReduceWindow},
      {"stablehlo.dynamic_rng_bit_generator", ImportDynamicRngBitGenerator},
      {"stablehlo.dynamic_top_k", ImportDynamicTopK},
  };
  for (const auto& [name, import] : kCalls) {
    if (name != target) continue;
    KILN_RETURN_IF_ERROR(import(op));
    return true;
  }
  return false;
}

absl::Span<const OpRow> DynamicOps() { return kDynamicOps; }

}  // namespace kiln::stablehlo
