// Data movement by indices that are data, and bounded dynamic shapes.
#include <utility>

#include "src/hlo/shape_inference_rules.h"

namespace kiln::hlo {
namespace {

// Start indices: one integer scalar per dimension, or a single vector of them; all of one type.
absl::Status CheckStartIndices(const InferenceQuery& query, size_t first, int64_t rank) {
  const size_t count = query.operands.size() - first;
  if (count == 1 && query.operand(first).rank() == 1) {
    const Shape& vector = query.operand(first);
    if (!IsIntegral(vector.element_type()) || vector.dimensions(0) != rank) {
      return query.Fail("start indices must be ", rank, " integers, got ", vector.ToString(false));
    }
    return absl::OkStatus();
  }
  if (static_cast<int64_t>(count) != rank) {
    return query.Fail("takes ", rank, " start indices, got ", count);
  }
  for (size_t i = first; i < query.operands.size(); ++i) {
    const Shape& index = query.operand(i);
    if (!index.IsScalar() || !IsIntegral(index.element_type())) {
      return query.Fail("start indices must be integer scalars, got ", index.ToString(false));
    }
    if (index.element_type() != query.operand(first).element_type()) {
      return query.Fail("start indices must have one type, got ", PrimitiveTypeName(index.element_type()), " and ",
                        PrimitiveTypeName(query.operand(first).element_type()));
    }
  }
  return absl::OkStatus();
}

// Common to gather and scatter: how index vectors point into the operand.
struct IndexNumbers {
  const DimensionVector& window_removed;  // collapsed_slice_dims, inserted_window_dims
  const DimensionVector& operand_batching;
  const DimensionVector& indices_batching;
  const DimensionVector& index_map;  // start_index_map, scatter_dims_to_operand_dims
  int64_t index_vector_dim;
};

absl::Status CheckIndexNumbers(const InferenceQuery& query, const Shape& operand, const Shape& indices,
                               const IndexNumbers& numbers) {
  if (!IsIntegral(indices.element_type())) {
    return query.Fail("indices must be integers, got ", indices.ToString(false));
  }
  if (numbers.index_vector_dim < 0 || numbers.index_vector_dim > indices.rank()) {
    return query.Fail("index_vector_dim ", numbers.index_vector_dim, " is out of range for ", indices.ToString(false));
  }
  KILN_RETURN_IF_ERROR(CheckSortedDimensionList(query, numbers.window_removed, operand.rank(),
                                                "collapsed_slice_dims or inserted_window_dims"));
  KILN_RETURN_IF_ERROR(
      CheckSortedDimensionList(query, numbers.operand_batching, operand.rank(), "operand batching dims"));
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, numbers.indices_batching, indices.rank(), "indices batching dims"));
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, numbers.index_map, operand.rank(), "the index map"));
  if (numbers.operand_batching.size() != numbers.indices_batching.size()) {
    return query.Fail("operand and indices have different numbers of batching dims");
  }
  for (size_t i = 0; i < numbers.operand_batching.size(); ++i) {
    const int64_t dimension = numbers.operand_batching[i];
    if (Contains(numbers.window_removed, dimension) || Contains(numbers.index_map, dimension)) {
      return query.Fail("operand dimension ", dimension, " is both batching and indexed or collapsed");
    }
    const int64_t matching = numbers.indices_batching[i];
    if (matching == numbers.index_vector_dim) return query.Fail("index_vector_dim cannot be a batching dimension");
    if (operand.dimensions(dimension) != indices.dimensions(matching)) {
      return query.Fail("batching dimension ", dimension, " of ", operand.ToString(false), " differs from dimension ",
                        matching, " of ", indices.ToString(false));
    }
  }
  const int64_t index_size =
      numbers.index_vector_dim == indices.rank() ? 1 : indices.dimensions(numbers.index_vector_dim);
  if (index_size != static_cast<int64_t>(numbers.index_map.size())) {
    return query.Fail("index vectors have ", index_size, " entries, the index map ", numbers.index_map.size());
  }
  return absl::OkStatus();
}

// Sizes of the index array without its vector dimension, which need not be checked yet.
DimensionVector IndexBatch(const Shape& indices, int64_t index_vector_dim) {
  DimensionVector batch = indices.dimensions();
  if (index_vector_dim >= 0 && index_vector_dim < indices.rank()) batch.erase(batch.begin() + index_vector_dim);
  return batch;
}

}  // namespace

absl::StatusOr<Shape> InferDynamicSlice(const InferenceQuery& query) {
  if (query.operands.empty()) return query.Fail("needs an operand");
  const Shape& operand = query.operand(0);
  const DimensionVector& sizes = query.Get<DynamicSliceAttributes>().sizes;
  KILN_RETURN_IF_ERROR(CheckStartIndices(query, 1, operand.rank()));
  if (static_cast<int64_t>(sizes.size()) != operand.rank()) {
    return query.Fail("dynamic_slice_sizes has ", sizes.size(), " entries for an operand of rank ", operand.rank());
  }
  for (int64_t i = 0; i < operand.rank(); ++i) {
    if (sizes[i] < 0 || sizes[i] > operand.dimensions(i)) {
      return query.Fail("size ", sizes[i], " of dimension ", i, " is not within ", operand.ToString(false));
    }
  }
  return Shape(operand.element_type(), sizes);
}

absl::StatusOr<Shape> InferDynamicUpdateSlice(const InferenceQuery& query) {
  if (query.operands.size() < 2) return query.Fail("needs an operand and an update");
  const Shape& operand = query.operand(0);
  const Shape& update = query.operand(1);
  KILN_RETURN_IF_ERROR(CheckStartIndices(query, 2, operand.rank()));
  bool fits = update.rank() == operand.rank() && update.element_type() == operand.element_type();
  for (int64_t i = 0; fits && i < operand.rank(); ++i) fits = update.dimensions(i) <= operand.dimensions(i);
  if (!fits) return query.Fail("update ", update.ToString(false), " does not fit in ", operand.ToString(false));
  return RowMajor(operand);
}

absl::StatusOr<Shape> InferGather(const InferenceQuery& query) {
  const Shape& operand = query.operand(0);
  const Shape& indices = query.operand(1);
  const auto& gather = query.Get<GatherAttributes>();
  KILN_RETURN_IF_ERROR(
      CheckIndexNumbers(query, operand, indices,
                        {gather.collapsed_slice_dims, gather.operand_batching_dims, gather.start_indices_batching_dims,
                         gather.start_index_map, gather.index_vector_dim}));
  if (static_cast<int64_t>(gather.slice_sizes.size()) != operand.rank()) {
    return query.Fail("slice_sizes has ", gather.slice_sizes.size(), " entries for an operand of rank ",
                      operand.rank());
  }
  DimensionVector window;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const int64_t size = gather.slice_sizes[i];
    if (size < 0 || size > operand.dimensions(i)) {
      return query.Fail("slice size ", size, " of dimension ", i, " is not within ", operand.ToString(false));
    }
    if (Contains(gather.collapsed_slice_dims, i) || Contains(gather.operand_batching_dims, i)) {
      if (size > 1) return query.Fail("dimension ", i, " is collapsed but has slice size ", size);
    } else {
      window.push_back(size);
    }
  }
  const DimensionVector batch = IndexBatch(indices, gather.index_vector_dim);
  const int64_t rank = static_cast<int64_t>(batch.size() + gather.offset_dims.size());
  KILN_RETURN_IF_ERROR(CheckSortedDimensionList(query, gather.offset_dims, rank, "offset_dims"));
  if (gather.offset_dims.size() != window.size()) {
    return query.Fail("offset_dims has ", gather.offset_dims.size(), " entries for slices of rank ", window.size());
  }
  DimensionVector dimensions;
  size_t next_window = 0, next_batch = 0;
  for (int64_t i = 0; i < rank; ++i) {
    dimensions.push_back(Contains(gather.offset_dims, i) ? window[next_window++] : batch[next_batch++]);
  }
  return Shape(operand.element_type(), dimensions);
}

// Operands: n inputs, indices, n updates.
absl::StatusOr<Shape> InferScatter(const InferenceQuery& query) {
  if (query.operands.size() < 3 || query.operands.size() % 2 == 0) {
    return query.Fail("takes inputs, indices and as many updates, got ", query.operands.size(), " operands");
  }
  const size_t count = query.operands.size() / 2;
  const Shape& indices = query.operand(count);
  const auto& scatter = query.Get<ScatterAttributes>();
  const DimensionVector batch = IndexBatch(indices, scatter.index_vector_dim);
  std::vector<PrimitiveType> types, parameters;
  std::vector<Shape> results;
  for (size_t n = 0; n < count; ++n) {
    const Shape& input = query.operand(n);
    const Shape& update = query.operand(count + 1 + n);
    KILN_RETURN_IF_ERROR(CheckIndexNumbers(
        query, input, indices,
        {scatter.inserted_window_dims, scatter.input_batching_dims, scatter.scatter_indices_batching_dims,
         scatter.scatter_dims_to_operand_dims, scatter.index_vector_dim}));
    if (!Shape::SameDimensions(input, query.operand(0))) return query.Fail("inputs must have the same dimensions");
    if (!Shape::SameDimensions(update, query.operand(count + 1))) {
      return query.Fail("updates must have the same dimensions");
    }
    if (update.element_type() != input.element_type()) {
      return query.Fail("update ", update.ToString(false), " has another type than input ", input.ToString(false));
    }
    const int64_t rank = static_cast<int64_t>(batch.size() + scatter.update_window_dims.size());
    if (update.rank() != rank) {
      return query.Fail("update ", update.ToString(false), " must have rank ", rank);
    }
    KILN_RETURN_IF_ERROR(CheckSortedDimensionList(query, scatter.update_window_dims, rank, "update_window_dims"));
    DimensionVector bounds;
    for (int64_t i = 0; i < input.rank(); ++i) {
      if (!Contains(scatter.inserted_window_dims, i) && !Contains(scatter.input_batching_dims, i)) {
        bounds.push_back(input.dimensions(i));
      }
    }
    if (bounds.size() != scatter.update_window_dims.size()) {
      return query.Fail("update_window_dims has ", scatter.update_window_dims.size(), " entries, expected ",
                        bounds.size());
    }
    size_t next_window = 0, next_batch = 0;
    for (int64_t i = 0; i < rank; ++i) {
      const bool is_window = Contains(scatter.update_window_dims, i);
      const bool fits =
          is_window ? update.dimensions(i) <= bounds[next_window++] : update.dimensions(i) == batch[next_batch++];
      if (!fits) {
        return query.Fail("dimension ", i, " of update ", update.ToString(false), " does not fit ",
                          is_window ? input.ToString(false) : indices.ToString(false));
      }
    }
    types.push_back(input.element_type());
    results.push_back(RowMajor(input));
  }
  parameters = types;
  parameters.insert(parameters.end(), types.begin(), types.end());
  KILN_RETURN_IF_ERROR(CheckScalarComputation(query, *query.called[0], parameters, types));
  return OneOrTuple(std::move(results));
}

absl::StatusOr<Shape> InferDynamicReshape(const InferenceQuery& query) {
  if (query.operands.empty()) return query.Fail("needs an operand");
  KILN_ASSIGN_OR_RETURN(Shape shape, InferReshape(query));
  if (static_cast<int64_t>(query.operands.size()) != 1 + shape.rank()) {
    return query.Fail("takes one size per result dimension, got ", query.operands.size() - 1);
  }
  for (size_t i = 1; i < query.operands.size(); ++i) {
    if (!query.operand(i).IsScalar() || query.operand(i).element_type() != PrimitiveType::kS32) {
      return query.Fail("sizes must be s32[], got ", query.operand(i).ToString(false));
    }
  }
  return shape;
}

absl::StatusOr<Shape> InferGetDimensionSize(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(OnlyDimension(query, query.operand(0).rank(), "dimensions").status());
  return Shape::Scalar(PrimitiveType::kS32);
}

absl::StatusOr<Shape> InferSetDimensionSize(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(const int64_t dimension, OnlyDimension(query, query.operand(0).rank(), "dimensions"));
  if (!query.operand(1).IsScalar() || query.operand(1).element_type() != PrimitiveType::kS32) {
    return query.Fail("the size must be s32[], got ", query.operand(1).ToString(false));
  }
  Shape result = RowMajor(query.operand(0));
  result.set_dynamic_dimension(dimension, true);
  return result;
}

}  // namespace kiln::hlo
