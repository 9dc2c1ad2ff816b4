// Ops with a scalar computation: reduce, windows, map, sort, select-and-scatter.
#include <utility>

#include "src/frontend/stablehlo/op_import.h"
#include "src/frontend/stablehlo/shared_imports.h"

namespace kiln::stablehlo {
namespace {

using hlo::Opcode;

absl::Status CheckPairs(const OpImport& op) {
  if (op.operand_count() == 0 || op.operand_count() % 2 != 0 || op.result_count() != op.operand_count() / 2) {
    return op.Invalid("has ", op.operand_count(), " operands and ", op.result_count(),
                      " results, expected inputs, as many init values and as many results");
  }
  return absl::OkStatus();
}

// The body may compute in a wider type than the operands have: inputs, then as many init values, become of its type.
void PromoteOperands(OpImport& op, const hlo::Computation& body) {
  std::vector<hlo::Instruction*> operands = op.operands();
  const int64_t count = static_cast<int64_t>(operands.size()) / 2;
  for (int64_t i = 0; i < 2 * count && body.parameter_count() == 2 * count; ++i) {
    hlo::Instruction*& operand = operands[i];
    const hlo::PrimitiveType from = operand->shape().element_type();
    const hlo::PrimitiveType to = body.parameter(i % count)->shape().element_type();
    if (hlo::ClassOf(from) != hlo::ClassOf(to) || hlo::BitWidth(from) >= hlo::BitWidth(to)) continue;
    operand = op.Add(Opcode::kConvert, hlo::ChangeElementType(operand->shape(), to), {operand});
  }
  op.set_operands(std::move(operands));
}

absl::Status ImportReduce(OpImport& op) {
  KILN_RETURN_IF_ERROR(CheckPairs(op));
  hlo::DimensionsAttributes reduce;
  KILN_ASSIGN_OR_RETURN(reduce.dimensions, op.Integers("dimensions"));
  KILN_ASSIGN_OR_RETURN(hlo::Computation * body, ImportScalarRegion(op, op.region(0), "reduce_body"));
  PromoteOperands(op, *body);
  return op.Finish(Opcode::kReduce, op.operands(), std::move(reduce), {body});
}

absl::Status ImportReduceWindow(OpImport& op) {
  KILN_RETURN_IF_ERROR(CheckPairs(op));
  const size_t rank = op.operand_shape(0).dimensions().size();
  KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector sizes, op.IntegersOf("window_dimensions", rank));
  KILN_ASSIGN_OR_RETURN(const auto padding, op.Pairs("padding", rank));
  hlo::WindowAttributes window;
  KILN_ASSIGN_OR_RETURN(window.window, ReadWindow(op, sizes, padding, "base_dilations", "window_dilations"));
  KILN_ASSIGN_OR_RETURN(hlo::Computation * body, ImportScalarRegion(op, op.region(0), "reduce_window_body"));
  PromoteOperands(op, *body);
  return ImportReduceWindowWith(op, op.result_count(), std::move(window), body);
}

absl::Status ImportSelectAndScatter(OpImport& op) {
  const size_t rank = op.operand_shape(0).dimensions().size();
  KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector sizes, op.IntegersOf("window_dimensions", rank, 1));
  KILN_ASSIGN_OR_RETURN(const auto padding, op.Pairs("padding", rank));
  hlo::WindowAttributes window;
  KILN_ASSIGN_OR_RETURN(window.window, ReadWindow(op, sizes, padding, "base_dilations", "window_dilations"));
  KILN_ASSIGN_OR_RETURN(hlo::Computation * select, ImportScalarRegion(op, op.region(0), "select"));
  KILN_ASSIGN_OR_RETURN(hlo::Computation * scatter, ImportScalarRegion(op, op.region(1), "scatter"));
  return op.Finish(Opcode::kSelectAndScatter, op.operands(), std::move(window), {select, scatter});
}

absl::Status ImportMap(OpImport& op) {
  hlo::DimensionsAttributes map;
  KILN_ASSIGN_OR_RETURN(map.dimensions, op.Integers("dimensions"));
  KILN_ASSIGN_OR_RETURN(hlo::Computation * body, ImportScalarRegion(op, op.region(0), "map_body"));
  return op.Finish(Opcode::kMap, op.operands(), std::move(map), {body});
}

absl::Status ImportSort(OpImport& op) {
  if (op.operand_count() == 0) return op.Invalid("has no operands");
  hlo::SortAttributes sort;
  KILN_ASSIGN_OR_RETURN(sort.dimension, op.Integer("dimension", -1));
  if (sort.dimension < 0) sort.dimension += op.operand_shape(0).rank();
  KILN_ASSIGN_OR_RETURN(sort.is_stable, op.Bool("is_stable", false));
  KILN_ASSIGN_OR_RETURN(hlo::Computation * body, ImportScalarRegion(op, op.region(0), "comparator"));
  return op.Finish(Opcode::kSort, op.operands(), sort, {body});
}

constexpr OpRow kReductionsOps[] = {
    {"stablehlo.reduce", ImportReduce, -1, -1, 1},
    {"stablehlo.reduce_window", ImportReduceWindow, -1, -1, 1},
    {"stablehlo.select_and_scatter", ImportSelectAndScatter, 3, 1, 2},
    {"stablehlo.map", ImportMap, -1, 1, 1},
    {"stablehlo.sort", ImportSort, -1, -1, 1},
};

}  // namespace

absl::StatusOr<hlo::Window> ReadWindow(const OpImport& op, const hlo::DimensionVector& sizes,
                                       const std::vector<std::pair<int64_t, int64_t>>& padding,
                                       absl::string_view base_dilation, absl::string_view window_dilation) {
  KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector strides, op.IntegersOf("window_strides", sizes.size(), 1));
  KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector base, op.IntegersOf(base_dilation, sizes.size(), 1));
  KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector dilations, op.IntegersOf(window_dilation, sizes.size(), 1));
  KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector reversal, op.IntegersOf("window_reversal", sizes.size(), 0));
  hlo::Window window;
  for (size_t i = 0; i < sizes.size(); ++i) {
    window.push_back(
        {sizes[i], strides[i], padding[i].first, padding[i].second, dilations[i], base[i], reversal[i] != 0});
  }
  return window;
}

absl::Status ImportReduceWindowWith(OpImport& op, size_t count, hlo::WindowAttributes window, hlo::Computation* body) {
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShapes());
  std::vector<hlo::Instruction*> operands(op.operands().begin(),
                                          op.operands().begin() + static_cast<int64_t>(2 * count));
  return op.DefineTuple(
      op.Add(Opcode::kReduceWindow, std::move(shape), std::move(operands), std::move(window), {body}));
}

absl::Span<const OpRow> ReductionOps() { return kReductionsOps; }

}  // namespace kiln::stablehlo
