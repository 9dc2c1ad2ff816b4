#include "src/hlo/shape_inference_rules.h"

#include <algorithm>
#include <utility>

namespace kiln::hlo {

absl::Status RequireArrays(const InferenceQuery& query) {
  for (size_t i = 0; i < query.operands.size(); ++i) {
    if (!query.operand(i).IsArray()) {
      return query.Fail("operand ", i, " must be an array, got ", query.operand(i).ToString(false));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> RequireDeclared(const InferenceQuery& query) {
  if (query.declared != nullptr) return *query.declared;
  return query.Fail("the result shape does not follow from the operands; it must be given");
}

absl::StatusOr<Shape> RequireDeclaredArray(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(Shape shape, RequireDeclared(query));
  if (!shape.IsArray()) return query.Fail("the result must be an array, declared as ", shape.ToString(false));
  return shape;
}

Shape RowMajor(const Shape& array) {
  Shape result = array;
  *result.mutable_layout() = Layout();
  result.ResetLayout();
  return result;
}

absl::Status CheckSameDimensions(const InferenceQuery& query, size_t a, size_t b) {
  if (Shape::SameDimensions(query.operand(a), query.operand(b))) return absl::OkStatus();
  return query.Fail("operands must have the same dimensions, got ", query.operand(a).ToString(false), " and ",
                    query.operand(b).ToString(false));
}

absl::StatusOr<int64_t> OnlyDimension(const InferenceQuery& query, int64_t rank, absl::string_view what) {
  const DimensionVector& dimensions = query.Get<DimensionsAttributes>().dimensions;
  if (dimensions.size() != 1) return query.Fail("needs one dimension");
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, dimensions, rank, what));
  return dimensions[0];
}

bool Contains(absl::Span<const int64_t> values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

absl::Status CheckDimensionList(const InferenceQuery& query, absl::Span<const int64_t> dimensions, int64_t rank,
                                absl::string_view what) {
  absl::InlinedVector<bool, 8> seen(rank, false);
  for (int64_t dimension : dimensions) {
    if (dimension < 0 || dimension >= rank) {
      return query.Fail(what, " names dimension ", dimension, " of an array of rank ", rank);
    }
    if (seen[dimension]) return query.Fail(what, " names dimension ", dimension, " twice");
    seen[dimension] = true;
  }
  return absl::OkStatus();
}

absl::Status CheckSortedDimensionList(const InferenceQuery& query, absl::Span<const int64_t> dimensions, int64_t rank,
                                      absl::string_view what) {
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, dimensions, rank, what));
  if (!std::is_sorted(dimensions.begin(), dimensions.end())) return query.Fail(what, " must be in ascending order");
  return absl::OkStatus();
}

absl::StatusOr<int64_t> WindowedSize(const InferenceQuery& query, int64_t size, const WindowDimension& window) {
  if (window.size < 1 || window.stride < 1 || window.base_dilation < 1 || window.window_dilation < 1) {
    return query.Fail("window size, stride and dilations must be positive, got size=", window.size,
                      " stride=", window.stride, " lhs_dilate=", window.base_dilation,
                      " rhs_dilate=", window.window_dilation);
  }
  int64_t dilated = 0, padded = 0, extent = 0;
  bool overflow = false;
  if (size > 0) {
    overflow |= __builtin_mul_overflow(size - 1, window.base_dilation, &dilated);
    overflow |= __builtin_add_overflow(dilated, 1, &dilated);
  }
  overflow |= __builtin_add_overflow(dilated, window.padding_low, &padded);
  overflow |= __builtin_add_overflow(padded, window.padding_high, &padded);
  overflow |= __builtin_mul_overflow(window.size - 1, window.window_dilation, &extent);
  overflow |= __builtin_add_overflow(extent, 1, &extent);
  if (overflow) return query.Fail("the window's sizes overflow");
  if (padded < 0) return query.Fail("negative padding removes more than the dimension of size ", size, " has");
  return padded < extent ? 0 : (padded - extent) / window.stride + 1;
}

absl::Status CheckScalarComputation(const InferenceQuery& query, const Computation& computation,
                                    absl::Span<const PrimitiveType> parameters,
                                    absl::Span<const PrimitiveType> results) {
  if (computation.parameter_count() != static_cast<int64_t>(parameters.size())) {
    return query.Fail("computation ", computation.name(), " takes ", computation.parameter_count(),
                      " parameters, expected ", parameters.size());
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Shape& shape = computation.parameter(i)->shape();
    if (!shape.IsScalar() || shape.element_type() != parameters[i]) {
      return query.Fail("parameter ", i, " of computation ", computation.name(), " is ", shape.ToString(false),
                        ", expected ", PrimitiveTypeName(parameters[i]), "[]");
    }
  }
  std::vector<Shape> shapes;
  for (PrimitiveType type : results) shapes.push_back(Shape::Scalar(type));
  const Shape expected = OneOrTuple(std::move(shapes));
  const Shape& root = computation.root()->shape();
  // A tuple of one is as good as its element.
  const bool tuple_of_one = results.size() == 1 && root.IsTuple() && root.tuple_shapes().size() == 1 &&
                            Shape::Compatible(root.tuple_shapes(0), expected);
  if (!tuple_of_one && !Shape::Compatible(root, expected)) {
    return query.Fail("computation ", computation.name(), " gives ", root.ToString(false), ", expected ",
                      expected.ToString(false));
  }
  return absl::OkStatus();
}

Shape OneOrTuple(std::vector<Shape> results) {
  return results.size() == 1 ? std::move(results[0]) : Shape::Tuple(std::move(results));
}

}  // namespace kiln::hlo
