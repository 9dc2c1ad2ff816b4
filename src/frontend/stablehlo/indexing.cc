// Data movement by indices that are data: gather, scatter, dynamic slices.
#include <utility>

#include "src/frontend/stablehlo/op_import.h"
#include "src/frontend/stablehlo/shared_imports.h"

namespace kiln::stablehlo {
namespace {

using hlo::Opcode;

absl::Status ImportGather(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector sizes, op.Integers("slice_sizes"));
  return ImportGatherWith(op, sizes);
}

absl::Status ImportScatter(OpImport& op) {
  // inputs, indices, updates: as many updates as inputs.
  if (op.operand_count() < 3 || op.operand_count() % 2 == 0) {
    return op.Invalid("has ", op.operand_count(), " operands, expected inputs, indices and as many updates as inputs");
  }
  hlo::ScatterAttributes scatter;
  const std::optional<std::vector<int64_t>> empty(std::in_place);
  KILN_ASSIGN_OR_RETURN(scatter.update_window_dims, op.Integers("update_window_dims", empty));
  KILN_ASSIGN_OR_RETURN(scatter.inserted_window_dims, op.Integers("inserted_window_dims", empty));
  KILN_ASSIGN_OR_RETURN(scatter.input_batching_dims, op.Integers("input_batching_dims", empty));
  KILN_ASSIGN_OR_RETURN(scatter.scatter_indices_batching_dims, op.Integers("scatter_indices_batching_dims", empty));
  KILN_ASSIGN_OR_RETURN(scatter.scatter_dims_to_operand_dims, op.Integers("scatter_dims_to_operand_dims", empty));
  KILN_ASSIGN_OR_RETURN(scatter.index_vector_dim, op.Integer("index_vector_dim", 0));
  KILN_ASSIGN_OR_RETURN(scatter.indices_are_sorted, op.Bool("indices_are_sorted", false));
  KILN_ASSIGN_OR_RETURN(scatter.unique_indices, op.Bool("unique_indices", false));
  KILN_ASSIGN_OR_RETURN(hlo::Computation * body, ImportScalarRegion(op, op.region(0), "scatter_body"));
  return op.Finish(Opcode::kScatter, op.operands(), std::move(scatter), {body});
}

absl::Status ImportDynamicSlice(OpImport& op) {
  if (op.operand_count() < 1) return op.Invalid("has no operands");
  hlo::DynamicSliceAttributes slice;
  KILN_ASSIGN_OR_RETURN(slice.sizes, op.IntegersOf("slice_sizes", op.operand_count() - 1));
  return op.Finish(Opcode::kDynamicSlice, op.operands(), std::move(slice));
}

absl::Status ImportDynamicUpdateSlice(OpImport& op) {
  if (op.operand_count() < 2) return op.Invalid("has ", op.operand_count(), " operands, expected at least 2");
  return op.Finish(Opcode::kDynamicUpdateSlice, op.operands());
}

// Entries of a vector or matrix of indices, along `dim` of the operand.
absl::Status ImportTorchIndexSelect(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const int64_t dim, op.Integer("dim"));
  KILN_ASSIGN_OR_RETURN(const int64_t batch, op.Integer("batch_dims"));
  const hlo::Shape& input = op.operand_shape(0);
  const hlo::Shape& index = op.operand_shape(1);
  if (batch < 0 || batch > dim || dim >= input.rank() || batch > index.rank()) {
    return op.Invalid("dim ", dim, " and batch_dims ", batch, " do not fit operand ", input.ToString(false),
                      " and index ", index.ToString(false));
  }
  hlo::GatherAttributes gather;
  for (int64_t i = 0; i < batch; ++i) {
    gather.operand_batching_dims.push_back(i);
    gather.start_indices_batching_dims.push_back(i);
  }
  gather.start_index_map = {dim};
  gather.collapsed_slice_dims = {dim};
  gather.index_vector_dim = index.rank();
  for (int64_t i = 0; i < input.rank(); ++i) {
    gather.slice_sizes.push_back(i < batch || i == dim ? 1 : input.dimensions(i));
    if (i < batch || i == dim) continue;
    // The dimensions of the index stand where `dim` was.
    gather.offset_dims.push_back(i < dim ? i : i - 1 + index.rank() - batch);
  }
  return op.Finish(Opcode::kGather, op.operands(), std::move(gather));
}

constexpr OpRow kIndexingOps[] = {
    {"stablehlo.gather", ImportGather, 2},
    {"stablehlo.scatter", ImportScatter, -1, -1, 1},
    {"stablehlo.dynamic_slice", ImportDynamicSlice},
    {"stablehlo.dynamic_update_slice", ImportDynamicUpdateSlice},
    {"stablehlo.torch_index_select", ImportTorchIndexSelect, 2},
};

}  // namespace

absl::Status ImportGatherWith(OpImport& op, const hlo::DimensionVector& slice_sizes) {
  hlo::GatherAttributes gather;
  const std::optional<std::vector<int64_t>> empty(std::in_place);
  KILN_ASSIGN_OR_RETURN(gather.offset_dims, op.Integers("offset_dims", empty));
  KILN_ASSIGN_OR_RETURN(gather.collapsed_slice_dims, op.Integers("collapsed_slice_dims", empty));
  KILN_ASSIGN_OR_RETURN(gather.operand_batching_dims, op.Integers("operand_batching_dims", empty));
  KILN_ASSIGN_OR_RETURN(gather.start_indices_batching_dims, op.Integers("start_indices_batching_dims", empty));
  KILN_ASSIGN_OR_RETURN(gather.start_index_map, op.Integers("start_index_map", empty));
  KILN_ASSIGN_OR_RETURN(gather.index_vector_dim, op.Integer("index_vector_dim", 0));
  KILN_ASSIGN_OR_RETURN(gather.indices_are_sorted, op.Bool("indices_are_sorted", false));
  gather.slice_sizes = slice_sizes;
  return op.Finish(Opcode::kGather, {op.operand(0), op.operand(1)}, std::move(gather));
}

absl::Span<const OpRow> IndexingOps() { return kIndexingOps; }

}  // namespace kiln::stablehlo
