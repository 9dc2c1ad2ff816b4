// scan: a loop over slices along one dimension. Operands are inputs, then initial carries; the computation maps
// (input slices, carries) to (output slices, carries); the result is the stacked outputs, then the last carries.
#include <cstring>
#include <utility>

#include "src/hlo/evaluator_internal.h"

namespace kiln::hlo::evaluator {
namespace {

// The shape without `dimension`.
Shape SliceShape(const Shape& shape, int64_t dimension) {
  DimensionVector dimensions = shape.dimensions();
  dimensions.erase(dimensions.begin() + dimension);
  return Shape(shape.element_type(), dimensions);
}

// Copies between slice `at` of an array and an array of the slice's shape.
void CopySlice(const Shape& shape, int64_t dimension, int64_t at, const std::byte* source, std::byte* destination,
               bool into_array) {
  const int width = ByteWidth(shape.element_type());
  DimensionVector array_strides = StridesOf(shape.dimensions());
  const int64_t offset = at * array_strides[dimension] * width;
  array_strides.erase(array_strides.begin() + dimension);
  const Shape slice = SliceShape(shape, dimension);
  const DimensionVector slice_strides = StridesOf(slice.dimensions());
  if (into_array) {
    CopyStrided(width, slice.dimensions(), source, slice_strides, destination + offset, array_strides);
  } else {
    CopyStrided(width, slice.dimensions(), source + offset, array_strides, destination, slice_strides);
  }
}

}  // namespace

absl::StatusOr<Literal> EvaluateScan(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  const auto& attributes = instruction.Get<ScanAttributes>();
  const Computation& body = *instruction.called_computation();
  const size_t carry_count = static_cast<size_t>(attributes.num_carries);
  const size_t input_count = operands.size() - carry_count;
  const Shape& shape = instruction.shape();
  std::vector<Shape> leaves;
  if (shape.IsTuple()) {
    leaves = shape.tuple_shapes();
  } else {
    leaves.push_back(shape);
  }
  KILN_RETURN_IF_ERROR(
      Require(instruction, leaves.size() >= carry_count, "the result has fewer elements than carries"));
  const size_t output_count = leaves.size() - carry_count;
  const int64_t dimension = attributes.dimension;
  int64_t length = -1;
  auto check_array = [&](const Shape& array) {
    if (!array.IsArray() || dimension < 0 || dimension >= array.rank()) return false;
    if (length < 0) length = array.dimensions(dimension);
    return length == array.dimensions(dimension);
  };
  bool fits = true;
  for (size_t i = 0; i < input_count; ++i) fits = fits && check_array(operands[i].shape());
  for (size_t i = 0; i < output_count; ++i) fits = fits && check_array(leaves[i]);
  KILN_RETURN_IF_ERROR(Require(instruction, fits && length >= 0, "inputs and outputs differ along the dimension"));
  std::vector<Literal> carries(std::make_move_iterator(operands.begin() + input_count),
                               std::make_move_iterator(operands.end()));
  std::vector<Literal> outputs;
  for (size_t i = 0; i < output_count; ++i) {
    KILN_ASSIGN_OR_RETURN(Literal output, evaluation.Allocate(leaves[i]));
    outputs.push_back(std::move(output));
  }
  for (int64_t step = 0; step < length; ++step) {
    const int64_t at = attributes.is_reverse ? length - 1 - step : step;
    std::vector<Literal> arguments;
    for (size_t i = 0; i < input_count; ++i) {
      KILN_ASSIGN_OR_RETURN(Literal slice, evaluation.Allocate(SliceShape(operands[i].shape(), dimension)));
      CopySlice(operands[i].shape(), dimension, at, operands[i].bytes().data(), slice.mutable_bytes().data(), false);
      arguments.push_back(std::move(slice));
    }
    for (Literal& carry : carries) arguments.push_back(std::move(carry));
    KILN_ASSIGN_OR_RETURN(Literal value, evaluation.Run(body, std::move(arguments)));
    std::vector<Literal> values;
    if (value.shape().IsTuple()) {
      values = std::move(*value.mutable_elements());
    } else {
      values.push_back(std::move(value));
    }
    KILN_RETURN_IF_ERROR(
        Require(instruction, values.size() == leaves.size(), "the computation gives another number of results"));
    for (size_t i = 0; i < output_count; ++i) {
      KILN_RETURN_IF_ERROR(Require(instruction,
                                   Shape::Compatible(values[i].shape(), SliceShape(leaves[i], dimension)),
                                   "the computation's outputs do not fit the result"));
      CopySlice(leaves[i], dimension, at, values[i].bytes().data(), outputs[i].mutable_bytes().data(), true);
    }
    for (size_t i = 0; i < carry_count; ++i) carries[i] = std::move(values[output_count + i]);
  }
  for (Literal& carry : carries) outputs.push_back(std::move(carry));
  if (!shape.IsTuple()) return std::move(outputs[0]);
  return Literal::Tuple(std::move(outputs));
}

}  // namespace kiln::hlo::evaluator
