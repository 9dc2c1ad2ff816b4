// Data movement by indices that are data: dynamic-slice, dynamic-update-slice, gather, scatter.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "src/hlo/elements.h"
#include "src/hlo/evaluator_internal.h"

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
DimensionVector ClampedStarts(const Operands& operands, size_t first, absl::Span<const int64_t> dimensions,
                              absl::Span<const int64_t> sizes) {
  const bool is_vector = operands.size() == first + 1 && operands[first].shape().rank() == 1;
  DimensionVector starts(dimensions.size(), 0);
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const int64_t start =
        is_vector ? IndexAt(operands[first], static_cast<int64_t>(d)) : IndexAt(operands[first + d], 0);
    starts[d] = std::clamp<int64_t>(start, 0, dimensions[d] - sizes[d]);
  }
  return starts;
}

absl::StatusOr<Literal> DynamicSlice(Evaluation& evaluation, const Instruction& instruction,
                                     const Operands& operands) {
  const Shape& shape = instruction.shape();
  const Shape& operand_shape = operands[0].shape();
  const DimensionVector starts = ClampedStarts(operands, 1, operand_shape.dimensions(), shape.dimensions());
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  const int width = ByteWidth(shape.element_type());
  const DimensionVector strides = StridesOf(operand_shape.dimensions());
  if (shape.element_count() == 0) return result;
  CopyStrided(width, shape.dimensions(), operands[0].bytes().data() + OffsetOf(starts, strides) * width, strides,
              result.mutable_bytes().data(), StridesOf(shape.dimensions()));
  return result;
}

absl::StatusOr<Literal> DynamicUpdateSlice(Evaluation& evaluation, Operands& operands) {
  const Shape& shape = operands[0].shape();
  const Shape& update_shape = operands[1].shape();
  const DimensionVector starts = ClampedStarts(operands, 2, shape.dimensions(), update_shape.dimensions());
  KILN_RETURN_IF_ERROR(evaluation.Charge(update_shape.element_count()));
  const int width = ByteWidth(shape.element_type());
  const DimensionVector result_strides = StridesOf(shape.dimensions());
  Literal result = std::move(operands[0]);
  if (operands[1].element_count() == 0) return result;
  CopyStrided(width, update_shape.dimensions(), operands[1].bytes().data(), StridesOf(update_shape.dimensions()),
              result.mutable_bytes().data() + OffsetOf(starts, result_strides) * width, result_strides);
  return result;
}

// The dimensions below `rank` that are in neither list, in order.
DimensionVector Others(int64_t rank, absl::Span<const int64_t> a, absl::Span<const int64_t> b = {}) {
  auto contains = [](absl::Span<const int64_t> list, int64_t d) {
    return std::find(list.begin(), list.end(), d) != list.end();
  };
  DimensionVector others;
  for (int64_t d = 0; d < rank; ++d) {
    if (!contains(a, d) && !contains(b, d)) others.push_back(d);
  }
  return others;
}

// Walks the index vectors of a gather or scatter: for each batch index, the start of its window in the operand.
struct IndexMap {
  absl::Span<const int64_t> index_to_operand;          // start_index_map, scatter_dims_to_operand_dims
  absl::Span<const int64_t> operand_batching;          // operand dimension ...
  absl::Span<const int64_t> indices_batching;          // ... that equals this dimension of the indices
  int64_t index_vector_dim = 0;

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
  const auto& attributes = instruction.Get<GatherAttributes>();
  const Shape& shape = instruction.shape();
  const Shape& operand_shape = operands[0].shape();
  const Shape& indices_shape = operands[1].shape();
  const IndexMap map{attributes.start_index_map, attributes.operand_batching_dims,
                     attributes.start_indices_batching_dims, attributes.index_vector_dim};
  const DimensionVector batch_dimensions = map.BatchDimensions(indices_shape);
  // Operand dimensions that the window keeps, in order, go to the offset dimensions of the result.
  const DimensionVector window_dimensions =
      Others(operand_shape.rank(), attributes.collapsed_slice_dims, attributes.operand_batching_dims);
  const DimensionVector result_batch_dimensions = Others(shape.rank(), attributes.offset_dims);
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  if (shape.element_count() == 0) return result;
  std::byte* out = result.mutable_bytes().data();
  const int width = ByteWidth(shape.element_type());
  const DimensionVector operand_strides = StridesOf(operand_shape.dimensions());
  const DimensionVector result_strides = StridesOf(shape.dimensions());
  DimensionVector window_sizes, window_from, window_to;
  for (size_t i = 0; i < window_dimensions.size(); ++i) {
    window_sizes.push_back(attributes.slice_sizes[window_dimensions[i]]);
    window_from.push_back(operand_strides[window_dimensions[i]]);
    window_to.push_back(result_strides[attributes.offset_dims[i]]);
  }
  DimensionVector batch_index(batch_dimensions.size(), 0);
  do {
    const DimensionVector start = map.Start(operands[1], batch_index, operand_shape.rank());
    int64_t from = 0, to = 0;
    for (int64_t d = 0; d < operand_shape.rank(); ++d) {
      const int64_t last = operand_shape.dimensions(d) - attributes.slice_sizes[d];
      from += std::clamp<int64_t>(start[d], 0, last) * operand_strides[d];
    }
    for (size_t b = 0; b < batch_index.size(); ++b) to += batch_index[b] * result_strides[result_batch_dimensions[b]];
    CopyStrided(width, window_sizes, operands[0].bytes().data() + from * width, window_from, out + to * width,
                window_to);
  } while (NextIndex(batch_dimensions, &batch_index));
  return result;
}

absl::StatusOr<Literal> Scatter(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  const auto& attributes = instruction.Get<ScatterAttributes>();
  const size_t count = operands.size() / 2;
  const Shape operand_shape = operands[0].shape();
  const Literal& indices = operands[count];
  const Shape update_shape = operands[count + 1].shape();
  const IndexMap map{attributes.scatter_dims_to_operand_dims, attributes.input_batching_dims,
                     attributes.scatter_indices_batching_dims, attributes.index_vector_dim};
  KILN_ASSIGN_OR_RETURN(auto function, ScalarFunction::Create(evaluation, *instruction.called_computation()));
  // Window dimensions of the updates, in order, go to the operand dimensions that are neither inserted nor batching.
  const DimensionVector window_dimensions =
      Others(operand_shape.rank(), attributes.inserted_window_dims, attributes.input_batching_dims);
  const DimensionVector batch_dimensions = map.BatchDimensions(indices.shape());
  const DimensionVector update_batch_dimensions = Others(update_shape.rank(), attributes.update_window_dims);
  DimensionVector window_sizes;
  for (int64_t d : attributes.update_window_dims) window_sizes.push_back(update_shape.dimensions(d));
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
          from += window_index[i] * update_strides[attributes.update_window_dims[i]];
        }
        for (size_t b = 0; b < batch_index.size(); ++b) {
          from += batch_index[b] * update_strides[update_batch_dimensions[b]];
        }
        for (size_t i = 0; i < count; ++i) {
          const int width = ByteWidth(results[i].shape().element_type());
          targets[i] = out[i] + to * width;
          arguments[i] = targets[i];
          arguments[count + i] = operands[count + 1 + i].bytes().data() + from * width;
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
  switch (instruction.opcode()) {
    case Opcode::kDynamicSlice: return DynamicSlice(evaluation, instruction, operands);
    case Opcode::kDynamicUpdateSlice: return DynamicUpdateSlice(evaluation, operands);
    case Opcode::kGather: return Gather(evaluation, instruction, operands);
    default: return Scatter(evaluation, instruction, operands);
  }
}

}  // namespace kiln::hlo::evaluator
