// Data movement by indices that are data: dynamic-slice, dynamic-update-slice, gather, scatter.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "src/hlo/evaluator_internal.h"
#include "src/hlo/evaluator_values.h"

namespace kiln::hlo::evaluator {
namespace {

// An index element; unsigned ones past int64 are clamped, which is out of every bound all the same.
int64_t IndexAt(const Literal& literal, int64_t element) {
  const int64_t value = ElementAsInt64(literal, element);
  if (IsUnsignedIntegral(literal.shape().element_type()) && value < 0) return std::numeric_limits<int64_t>::max();
  return value;
}

// Start indices from the operands [first, first + rank), or from a vector operand; clamped so that a window of `sizes`
// lies inside `dimensions`.
absl::StatusOr<DimensionVector> ClampedStarts(const Instruction& instruction, const Operands& operands, size_t first,
                                              absl::Span<const int64_t> dimensions, absl::Span<const int64_t> sizes) {
  const size_t rank = dimensions.size();
  const bool is_vector = operands.size() == first + 1 && operands[first].shape().rank() == 1;
  KILN_RETURN_IF_ERROR(Require(instruction,
                               is_vector ? operands[first].element_count() == static_cast<int64_t>(rank)
                                         : operands.size() == first + rank,
                               "expected one start index per dimension"));
  DimensionVector starts(rank, 0);
  for (size_t d = 0; d < rank; ++d) {
    const Literal& index = is_vector ? operands[first] : operands[first + d];
    KILN_RETURN_IF_ERROR(Require(instruction,
                                 (is_vector || index.shape().IsScalar()) && IsIntegral(index.shape().element_type()),
                                 "start indices must be integer scalars"));
    KILN_RETURN_IF_ERROR(Require(instruction, sizes[d] >= 0 && sizes[d] <= dimensions[d],
                                 "the slice is larger than the operand"));
    const int64_t start = IndexAt(index, is_vector ? static_cast<int64_t>(d) : 0);
    starts[d] = std::clamp<int64_t>(start, 0, dimensions[d] - sizes[d]);
  }
  return starts;
}

int64_t OffsetOf(absl::Span<const int64_t> index, absl::Span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

absl::StatusOr<Literal> DynamicSlice(Evaluation& evaluation, const Instruction& instruction,
                                     const Operands& operands) {
  const Shape& shape = instruction.shape();
  const Shape& operand_shape = operands[0].shape();
  KILN_RETURN_IF_ERROR(Require(instruction,
                               shape.rank() == operand_shape.rank() &&
                                   shape.element_type() == operand_shape.element_type(),
                               "operand and result do not fit"));
  KILN_ASSIGN_OR_RETURN(
      const DimensionVector starts,
      ClampedStarts(instruction, operands, 1, operand_shape.dimensions(), shape.dimensions()));
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  const int width = ByteWidth(shape.element_type());
  const DimensionVector strides = StridesOf(operand_shape.dimensions());
  if (shape.element_count() == 0) return result;
  CopyStrided(width, shape.dimensions(), operands[0].bytes().data() + OffsetOf(starts, strides) * width, strides,
              result.mutable_bytes().data(), StridesOf(shape.dimensions()));
  return result;
}

absl::StatusOr<Literal> DynamicUpdateSlice(Evaluation& evaluation, const Instruction& instruction,
                                           Operands& operands) {
  KILN_RETURN_IF_ERROR(Require(instruction, operands.size() >= 2, "expected an operand and an update"));
  const Shape& shape = operands[0].shape();
  const Shape& update_shape = operands[1].shape();
  KILN_RETURN_IF_ERROR(Require(instruction,
                               update_shape.IsArray() && shape.rank() == update_shape.rank() &&
                                   shape.element_type() == update_shape.element_type(),
                               "operand and update do not fit"));
  KILN_ASSIGN_OR_RETURN(const DimensionVector starts,
                        ClampedStarts(instruction, operands, 2, shape.dimensions(), update_shape.dimensions()));
  KILN_RETURN_IF_ERROR(evaluation.Charge(update_shape.element_count()));
  Literal result = std::move(operands[0]);
  const int width = ByteWidth(shape.element_type());
  const DimensionVector strides = StridesOf(update_shape.dimensions());
  const DimensionVector result_strides = StridesOf(result.shape().dimensions());
  if (operands[1].element_count() == 0) return result;
  CopyStrided(width, operands[1].shape().dimensions(), operands[1].bytes().data(), strides,
              result.mutable_bytes().data() + OffsetOf(starts, result_strides) * width, result_strides);
  return result;
}

bool Contains(absl::Span<const int64_t> values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Walks the index vectors of a gather or scatter: for each batch index, the start of its window in the operand.
struct IndexMap {
  absl::Span<const int64_t> index_to_operand;          // start_index_map, scatter_dims_to_operand_dims
  absl::Span<const int64_t> operand_batching;          // operand dimension ...
  absl::Span<const int64_t> indices_batching;          // ... that equals this dimension of the indices
  int64_t index_vector_dim = 0;

  absl::Status Check(const Instruction& instruction, const Shape& operand, const Shape& indices) const {
    const bool fits = indices.IsArray() && IsIntegral(indices.element_type()) && index_vector_dim >= 0 &&
                      index_vector_dim <= indices.rank() && AreDistinctDimensions(index_to_operand, operand.rank()) &&
                      AreDistinctDimensions(operand_batching, operand.rank()) &&
                      operand_batching.size() == indices_batching.size() &&
                      AreDistinctDimensions(indices_batching, indices.rank()) &&
                      !Contains(indices_batching, index_vector_dim) &&
                      static_cast<int64_t>(index_to_operand.size()) ==
                          (index_vector_dim < indices.rank() ? indices.dimensions(index_vector_dim) : 1);
    return Require(instruction, fits, "dimension numbers do not fit the operand and the indices");
  }

  // The indices' dimensions without the index vector's.
  DimensionVector BatchDimensions(const Shape& indices) const {
    DimensionVector result;
    for (int64_t d = 0; d < indices.rank(); ++d) {
      if (d != index_vector_dim) result.push_back(indices.dimensions(d));
    }
    return result;
  }

  DimensionVector Start(const Literal& indices, absl::Span<const int64_t> batch_index, int64_t operand_rank) const {
    const Shape& shape = indices.shape();
    const DimensionVector strides = StridesOf(shape.dimensions());
    DimensionVector full(shape.rank(), 0);
    for (int64_t d = 0, b = 0; d < shape.rank(); ++d) {
      if (d != index_vector_dim) full[d] = batch_index[b++];
    }
    DimensionVector start(operand_rank, 0);
    for (size_t i = 0; i < index_to_operand.size(); ++i) {
      if (index_vector_dim < shape.rank()) full[index_vector_dim] = static_cast<int64_t>(i);
      start[index_to_operand[i]] = IndexAt(indices, OffsetOf(full, strides));
    }
    for (size_t i = 0; i < operand_batching.size(); ++i) start[operand_batching[i]] = full[indices_batching[i]];
    return start;
  }
};

absl::StatusOr<Literal> Gather(Evaluation& evaluation, const Instruction& instruction, const Operands& operands) {
  KILN_ASSIGN_OR_RETURN(const auto* attributes, AttributesOf<GatherAttributes>(instruction));
  const Shape& shape = instruction.shape();
  const Shape& operand_shape = operands[0].shape();
  const Shape& indices_shape = operands[1].shape();
  const IndexMap map{attributes->start_index_map, attributes->operand_batching_dims,
                     attributes->start_indices_batching_dims, attributes->index_vector_dim};
  KILN_RETURN_IF_ERROR(map.Check(instruction, operand_shape, indices_shape));
  const DimensionVector batch_dimensions = map.BatchDimensions(indices_shape);
  // Operand dimensions that the window keeps, in order, go to the offset dimensions of the result.
  DimensionVector window_dimensions;
  for (int64_t d = 0; d < operand_shape.rank(); ++d) {
    if (!Contains(attributes->collapsed_slice_dims, d) && !Contains(attributes->operand_batching_dims, d)) {
      window_dimensions.push_back(d);
    }
  }
  bool fits = static_cast<int64_t>(attributes->slice_sizes.size()) == operand_shape.rank() &&
              window_dimensions.size() == attributes->offset_dims.size() &&
              AreDistinctDimensions(attributes->offset_dims, shape.rank()) &&
              shape.rank() == static_cast<int64_t>(batch_dimensions.size() + window_dimensions.size()) &&
              shape.element_type() == operand_shape.element_type();
  for (int64_t d = 0; fits && d < operand_shape.rank(); ++d) {
    fits = attributes->slice_sizes[d] >= 0 && attributes->slice_sizes[d] <= operand_shape.dimensions(d);
  }
  for (size_t i = 0; fits && i < window_dimensions.size(); ++i) {
    fits = shape.dimensions(attributes->offset_dims[i]) == attributes->slice_sizes[window_dimensions[i]];
  }
  DimensionVector result_batch_dimensions;  // of the result
  for (int64_t d = 0; fits && d < shape.rank(); ++d) {
    if (Contains(attributes->offset_dims, d)) continue;
    fits = shape.dimensions(d) == batch_dimensions[result_batch_dimensions.size()];
    result_batch_dimensions.push_back(d);
  }
  for (size_t i = 0; fits && i < attributes->operand_batching_dims.size(); ++i) {
    fits = attributes->slice_sizes[attributes->operand_batching_dims[i]] <= 1 &&
           operand_shape.dimensions(attributes->operand_batching_dims[i]) ==
               indices_shape.dimensions(attributes->start_indices_batching_dims[i]);
  }
  KILN_RETURN_IF_ERROR(Require(instruction, fits, "dimension numbers do not fit the result"));
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  if (shape.element_count() == 0) return result;
  std::byte* out = result.mutable_bytes().data();
  const int width = ByteWidth(shape.element_type());
  const DimensionVector operand_strides = StridesOf(operand_shape.dimensions());
  const DimensionVector result_strides = StridesOf(shape.dimensions());
  DimensionVector window_sizes, window_from, window_to;
  for (size_t i = 0; i < window_dimensions.size(); ++i) {
    window_sizes.push_back(attributes->slice_sizes[window_dimensions[i]]);
    window_from.push_back(operand_strides[window_dimensions[i]]);
    window_to.push_back(result_strides[attributes->offset_dims[i]]);
  }
  DimensionVector batch_index(batch_dimensions.size(), 0);
  do {
    const DimensionVector start = map.Start(operands[1], batch_index, operand_shape.rank());
    int64_t from = 0, to = 0;
    for (int64_t d = 0; d < operand_shape.rank(); ++d) {
      const int64_t last = operand_shape.dimensions(d) - attributes->slice_sizes[d];
      from += std::clamp<int64_t>(start[d], 0, last) * operand_strides[d];
    }
    for (size_t b = 0; b < batch_index.size(); ++b) to += batch_index[b] * result_strides[result_batch_dimensions[b]];
    CopyStrided(width, window_sizes, operands[0].bytes().data() + from * width, window_from, out + to * width,
                window_to);
  } while (NextIndex(batch_dimensions, &batch_index));
  return result;
}

absl::StatusOr<Literal> Scatter(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  KILN_ASSIGN_OR_RETURN(const auto* attributes, AttributesOf<ScatterAttributes>(instruction));
  KILN_RETURN_IF_ERROR(Require(instruction,
                               operands.size() >= 3 && operands.size() % 2 == 1 &&
                                   !instruction.called_computations().empty(),
                               "expected operands, indices, as many updates and a computation"));
  const size_t count = operands.size() / 2;
  const Shape operand_shape = operands[0].shape();
  const Literal& indices = operands[count];
  const Shape update_shape = operands[count + 1].shape();
  const IndexMap map{attributes->scatter_dims_to_operand_dims, attributes->input_batching_dims,
                     attributes->scatter_indices_batching_dims, attributes->index_vector_dim};
  KILN_RETURN_IF_ERROR(map.Check(instruction, operand_shape, indices.shape()));
  KILN_ASSIGN_OR_RETURN(auto function, ScalarFunction::Create(evaluation, *instruction.called_computation()));
  bool fits = function->parameter_count() == static_cast<int64_t>(2 * count) &&
              function->result_count() == static_cast<int64_t>(count);
  for (size_t i = 0; fits && i < count; ++i) {
    fits = Shape::SameDimensions(operands[i].shape(), operand_shape) &&
           Shape::SameDimensions(operands[count + 1 + i].shape(), update_shape) &&
           function->parameter_type(i) == operands[i].shape().element_type() &&
           function->parameter_type(count + i) == operands[count + 1 + i].shape().element_type() &&
           function->result_type(i) == operands[i].shape().element_type();
  }
  // Window dimensions of the updates, in order, go to the operand dimensions that are neither inserted nor batching.
  DimensionVector window_dimensions;
  for (int64_t d = 0; d < operand_shape.rank(); ++d) {
    if (!Contains(attributes->inserted_window_dims, d) && !Contains(attributes->input_batching_dims, d)) {
      window_dimensions.push_back(d);
    }
  }
  const DimensionVector batch_dimensions = map.BatchDimensions(indices.shape());
  fits = fits && window_dimensions.size() == attributes->update_window_dims.size() &&
         AreDistinctDimensions(attributes->update_window_dims, update_shape.rank()) &&
         update_shape.rank() == static_cast<int64_t>(window_dimensions.size() + batch_dimensions.size());
  DimensionVector update_batch_dimensions;
  for (int64_t d = 0; fits && d < update_shape.rank(); ++d) {
    if (Contains(attributes->update_window_dims, d)) continue;
    fits = update_shape.dimensions(d) == batch_dimensions[update_batch_dimensions.size()];
    update_batch_dimensions.push_back(d);
  }
  KILN_RETURN_IF_ERROR(Require(instruction, fits, "operands and dimension numbers do not fit each other"));
  DimensionVector window_sizes;
  for (int64_t d : attributes->update_window_dims) window_sizes.push_back(update_shape.dimensions(d));
  std::vector<Literal> results;
  std::vector<std::byte*> out;
  for (size_t i = 0; i < count; ++i) {
    results.push_back(std::move(operands[i]));
    out.push_back(nullptr);
  }
  if (update_shape.element_count() > 0) {
    for (size_t i = 0; i < count; ++i) out[i] = results[i].mutable_bytes().data();
    const DimensionVector operand_strides = StridesOf(operand_shape.dimensions());
    const DimensionVector update_strides = StridesOf(update_shape.dimensions());
    std::vector<const std::byte*> arguments(2 * count);
    std::vector<std::byte*> targets(count);
    DimensionVector batch_index(batch_dimensions.size(), 0);
    do {
      const DimensionVector start = map.Start(indices, batch_index, operand_shape.rank());
      // A window that does not lie inside the operand is dropped as a whole.
      DimensionVector extent(operand_shape.rank(), 1);
      for (size_t i = 0; i < window_dimensions.size(); ++i) extent[window_dimensions[i]] = window_sizes[i];
      bool inside = true;
      for (int64_t d = 0; d < operand_shape.rank(); ++d) {
        inside = inside && start[d] >= 0 && start[d] <= operand_shape.dimensions(d) - extent[d];
      }
      if (!inside) continue;
      DimensionVector window_index(window_sizes.size(), 0);
      do {
        int64_t to = OffsetOf(start, operand_strides), from = 0;
        for (size_t i = 0; i < window_index.size(); ++i) {
          to += window_index[i] * operand_strides[window_dimensions[i]];
          from += window_index[i] * update_strides[attributes->update_window_dims[i]];
        }
        for (size_t b = 0; b < batch_index.size(); ++b) {
          from += batch_index[b] * update_strides[update_batch_dimensions[b]];
        }
        for (size_t i = 0; i < count; ++i) {
          targets[i] = out[i] + to * ByteWidth(function->parameter_type(i));
          arguments[i] = targets[i];
          arguments[count + i] =
              operands[count + 1 + i].bytes().data() + from * ByteWidth(function->parameter_type(count + i));
        }
        KILN_RETURN_IF_ERROR(function->Call(arguments, targets));
      } while (NextIndex(window_sizes, &window_index));
    } while (NextIndex(batch_dimensions, &batch_index));
  }
  if (!instruction.shape().IsTuple()) return std::move(results[0]);
  return Literal::Tuple(std::move(results));
}

}  // namespace

absl::StatusOr<Literal> EvaluateIndexed(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  for (const Literal& operand : operands) {
    KILN_RETURN_IF_ERROR(Require(instruction, operand.shape().IsArray(), "expected array operands"));
  }
  KILN_RETURN_IF_ERROR(Require(instruction, !operands.empty(), "expected operands"));
  switch (instruction.opcode()) {
    case Opcode::kDynamicSlice: return DynamicSlice(evaluation, instruction, operands);
    case Opcode::kDynamicUpdateSlice: return DynamicUpdateSlice(evaluation, instruction, operands);
    case Opcode::kGather: return Gather(evaluation, instruction, operands);
    case Opcode::kScatter: return Scatter(evaluation, instruction, operands);
    default: return Unimplemented(instruction.Describe(), ": no indexed op the evaluator knows");
  }
}

}  // namespace kiln::hlo::evaluator
