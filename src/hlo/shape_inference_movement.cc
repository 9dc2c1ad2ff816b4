// Data movement whose index map is known at compile time.
#include <algorithm>
#include <utility>

#include "src/hlo/shape_inference_rules.h"

namespace kiln::hlo {
absl::StatusOr<Shape> InferBitcast(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(Shape shape, RequireDeclaredArray(query));
  const Shape& operand = query.operand(0);
  if (operand.byte_count() != shape.byte_count()) {
    return query.Fail("cannot see ", operand.ToString(), " as ", shape.ToString(), ": the sizes differ");
  }
  return shape;
}

// A wider type splits into a new last dimension; a narrower one joins its last dimension.
absl::StatusOr<Shape> InferBitcastConvert(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(Shape declared, RequireDeclaredArray(query));
  const Shape& operand = query.operand(0);
  const PrimitiveType type = declared.element_type();
  if (IsComplex(type) != IsComplex(operand.element_type())) {
    return query.Fail("does not convert between complex and real types: ", operand.ToString(false), " to ",
                      PrimitiveTypeName(type));
  }
  const int from = BitWidth(operand.element_type()), to = BitWidth(type);
  DimensionVector dimensions = operand.dimensions();
  if (from > to) {
    dimensions.push_back(from / to);
  } else if (from < to) {
    if (dimensions.empty() || dimensions.back() != to / from) {
      return query.Fail("the last dimension of ", operand.ToString(false), " must be ", to / from, " to give ",
                        PrimitiveTypeName(type));
    }
    dimensions.pop_back();
  }
  Shape shape(type, dimensions);
  const int64_t kept = std::min(shape.rank(), operand.rank());
  for (int64_t i = 0; i < kept; ++i) {
    if (operand.is_dynamic_dimension(i)) shape.set_dynamic_dimension(i, true);
  }
  return shape;
}

absl::StatusOr<Shape> InferBroadcast(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(Shape shape, RequireDeclaredArray(query));
  const Shape& operand = query.operand(0);
  const DimensionVector& dimensions = query.Get<DimensionsAttributes>().dimensions;
  if (static_cast<int64_t>(dimensions.size()) != operand.rank()) {
    return query.Fail("dimensions has ", dimensions.size(), " entries for an operand of rank ", operand.rank());
  }
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, dimensions, shape.rank(), "dimensions"));
  for (int64_t i = 0; i < operand.rank(); ++i) {
    if (shape.dimensions(dimensions[i]) != operand.dimensions(i)) {
      return query.Fail("operand dimension ", i, " of size ", operand.dimensions(i), " meets result dimension ",
                        dimensions[i], " of size ", shape.dimensions(dimensions[i]));
    }
    if (operand.is_dynamic_dimension(i)) shape.set_dynamic_dimension(dimensions[i], true);
  }
  if (shape.element_type() != operand.element_type()) {
    return query.Fail("the element type changes from ", PrimitiveTypeName(operand.element_type()), " to ",
                      PrimitiveTypeName(shape.element_type()));
  }
  return shape;
}

absl::StatusOr<Shape> InferConcatenate(const InferenceQuery& query) {
  if (query.operands.empty()) return query.Fail("needs an operand");
  const Shape& first = query.operand(0);
  KILN_ASSIGN_OR_RETURN(const int64_t along, OnlyDimension(query, first.rank(), "dimensions"));
  int64_t total = 0;
  Shape result(first.element_type(), first.dimensions());
  for (size_t n = 0; n < query.operands.size(); ++n) {
    const Shape& operand = query.operand(n);
    bool fits = operand.rank() == first.rank() && operand.element_type() == first.element_type();
    for (int64_t i = 0; fits && i < first.rank(); ++i) {
      fits = i == along || operand.dimensions(i) == first.dimensions(i);
      if (operand.is_dynamic_dimension(i)) result.set_dynamic_dimension(i, true);
    }
    if (!fits) {
      return query.Fail("operand ", n, " ", operand.ToString(false), " does not fit ", first.ToString(false),
                        " along dimension ", along);
    }
    if (__builtin_add_overflow(total, operand.dimensions(along), &total)) return query.Fail("the result is too large");
  }
  result.set_dimensions(along, total);
  return result;
}

// Any value.
absl::StatusOr<Shape> InferCopy(const InferenceQuery& query) {
  return query.operand(0).IsArray() ? RowMajor(query.operand(0)) : query.operand(0);
}

absl::StatusOr<Shape> InferReverse(const InferenceQuery& query) {
  const Shape& operand = query.operand(0);
  KILN_RETURN_IF_ERROR(
      CheckDimensionList(query, query.Get<DimensionsAttributes>().dimensions, operand.rank(), "dimensions"));
  return RowMajor(operand);
}

absl::StatusOr<Shape> InferPad(const InferenceQuery& query) {
  const Shape& operand = query.operand(0);
  const Shape& value = query.operand(1);
  const auto& pad = query.Get<PadAttributes>();
  if (!value.IsScalar() || value.element_type() != operand.element_type()) {
    return query.Fail("the padding value must be a scalar of type ", PrimitiveTypeName(operand.element_type()),
                      ", got ", value.ToString(false));
  }
  const size_t rank = static_cast<size_t>(operand.rank());
  if (pad.low.size() != rank || pad.high.size() != rank || pad.interior.size() != rank) {
    return query.Fail("padding has ", pad.low.size(), " dimensions, the operand ", rank);
  }
  Shape result = RowMajor(operand);
  for (size_t i = 0; i < rank; ++i) {
    if (pad.interior[i] < 0) return query.Fail("interior padding must not be negative");
    int64_t size = 0;
    bool overflow = __builtin_mul_overflow(std::max<int64_t>(operand.dimensions(i) - 1, 0), pad.interior[i], &size);
    overflow |= __builtin_add_overflow(size, operand.dimensions(i), &size);
    overflow |= __builtin_add_overflow(size, pad.low[i], &size);
    overflow |= __builtin_add_overflow(size, pad.high[i], &size);
    if (overflow) return query.Fail("padding of dimension ", i, " overflows");
    if (size < 0) return query.Fail("padding gives dimension ", i, " the size ", size);
    result.set_dimensions(i, size);
  }
  return result;
}

absl::StatusOr<Shape> InferReshape(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(Shape shape, RequireDeclaredArray(query));
  const Shape& operand = query.operand(0);
  if (shape.element_type() != operand.element_type() || shape.element_count() != operand.element_count()) {
    return query.Fail("cannot reshape ", operand.ToString(false), " to ", shape.ToString(false));
  }
  return shape;
}

absl::StatusOr<Shape> InferSlice(const InferenceQuery& query) {
  const Shape& operand = query.operand(0);
  const auto& slice = query.Get<SliceAttributes>();
  const size_t rank = static_cast<size_t>(operand.rank());
  if (slice.start.size() != rank || slice.limit.size() != rank || slice.stride.size() != rank) {
    return query.Fail("slice has ", slice.start.size(), " dimensions, the operand ", rank);
  }
  Shape result(operand.element_type(), operand.dimensions());
  for (size_t i = 0; i < rank; ++i) {
    const int64_t start = slice.start[i], limit = slice.limit[i], stride = slice.stride[i];
    if (start < 0 || limit < start || limit > operand.dimensions(i) || stride < 1) {
      return query.Fail("[", start, ":", limit, ":", stride, "] is no slice of dimension ", i, " of ",
                        operand.ToString(false));
    }
    const int64_t extent = limit - start;
    result.set_dimensions(i, extent / stride + (extent % stride != 0 ? 1 : 0));
    // A slice of the whole stays bounded; other slices are taken of what is there at the bound.
    if (operand.is_dynamic_dimension(i) && extent == operand.dimensions(i) && stride == 1) {
      result.set_dynamic_dimension(i, true);
    }
  }
  return result;
}

absl::StatusOr<Shape> InferTranspose(const InferenceQuery& query) {
  const Shape& operand = query.operand(0);
  const DimensionVector& permutation = query.Get<DimensionsAttributes>().dimensions;
  if (static_cast<int64_t>(permutation.size()) != operand.rank()) {
    return query.Fail("dimensions has ", permutation.size(), " entries for an operand of rank ", operand.rank());
  }
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, permutation, operand.rank(), "dimensions"));
  Shape result(operand.element_type(), operand.dimensions());
  for (int64_t i = 0; i < operand.rank(); ++i) result.set_dimensions(i, operand.dimensions(permutation[i]));
  for (int64_t i = 0; i < operand.rank(); ++i) {
    if (operand.is_dynamic_dimension(permutation[i])) result.set_dynamic_dimension(i, true);
  }
  return result;
}

}  // namespace kiln::hlo
