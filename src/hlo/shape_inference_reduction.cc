// Operations that apply a scalar computation along dimensions or windows, and topk.
#include <utility>

#include "absl/strings/str_join.h"
#include "src/hlo/shape_inference_rules.h"

namespace kiln::hlo {
namespace {

// Operands of reduce and reduce-window: n arrays of the same dimensions, then n scalars of the same types (whose types
// are those of the results).
absl::Status CheckReduceOperands(const InferenceQuery& query) {
  const size_t count = query.operands.size() / 2;
  if (query.operands.empty() || query.operands.size() % 2 != 0) {
    return query.Fail("takes inputs and as many initial values, got ", query.operands.size(), " operands");
  }
  std::vector<PrimitiveType> accumulators, parameters;
  for (size_t i = 0; i < count; ++i) {
    const Shape& initial = query.operand(count + i);
    if (!initial.IsScalar()) return query.Fail("initial values must be scalars, got ", initial.ToString(false));
    if (!Shape::SameDimensions(query.operand(i), query.operand(0))) {
      return query.Fail("inputs must have the same dimensions, got ", query.operand(0).ToString(false), " and ",
                        query.operand(i).ToString(false));
    }
    accumulators.push_back(initial.element_type());
  }
  parameters = accumulators;
  for (size_t i = 0; i < count; ++i) parameters.push_back(query.operand(i).element_type());
  return CheckScalarComputation(query, *query.called[0], parameters, accumulators);
}

// Sizes after the window slides over `operand`.
absl::StatusOr<DimensionVector> WindowedSizes(const InferenceQuery& query, const Shape& operand) {
  const Window& window = query.Get<WindowAttributes>().window;
  if (static_cast<int64_t>(window.size()) != operand.rank()) {
    return query.Fail("window has ", window.size(), " dimensions, the operand ", operand.rank());
  }
  DimensionVector sizes;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    KILN_ASSIGN_OR_RETURN(int64_t size, WindowedSize(query, operand.dimensions(i), window[i]));
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

absl::StatusOr<Shape> InferReduce(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(CheckReduceOperands(query));
  const Shape& first = query.operand(0);
  const DimensionVector& reduced = query.Get<DimensionsAttributes>().dimensions;
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, reduced, first.rank(), "dimensions"));
  const size_t count = query.operands.size() / 2;
  DimensionVector sizes, kept;
  for (int64_t i = 0; i < first.rank(); ++i) {
    if (Contains(reduced, i)) continue;
    sizes.push_back(first.dimensions(i));
    kept.push_back(i);
  }
  std::vector<Shape> results;
  for (size_t n = 0; n < count; ++n) {
    Shape result(query.operand(count + n).element_type(), sizes);
    for (size_t i = 0; i < kept.size(); ++i) {
      if (query.operand(n).is_dynamic_dimension(kept[i])) result.set_dynamic_dimension(i, true);
    }
    results.push_back(std::move(result));
  }
  return OneOrTuple(std::move(results));
}

absl::StatusOr<Shape> InferReduceWindow(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(CheckReduceOperands(query));
  KILN_ASSIGN_OR_RETURN(DimensionVector sizes, WindowedSizes(query, query.operand(0)));
  const size_t count = query.operands.size() / 2;
  std::vector<Shape> results;
  for (size_t i = 0; i < count; ++i) results.emplace_back(query.operand(count + i).element_type(), sizes);
  return OneOrTuple(std::move(results));
}

// operand, source, initial value; select(a, b) -> pred, scatter(a, b)
absl::StatusOr<Shape> InferSelectAndScatter(const InferenceQuery& query) {
  const Shape& operand = query.operand(0);
  const Shape& source = query.operand(1);
  const PrimitiveType type = operand.element_type();
  if (!query.operand(2).IsScalar() || query.operand(2).element_type() != type || source.element_type() != type) {
    return query.Fail("operand, source and scalar initial value must have one type, got ", operand.ToString(false),
                      ", ", source.ToString(false), " and ", query.operand(2).ToString(false));
  }
  KILN_RETURN_IF_ERROR(CheckScalarComputation(query, *query.called[0], {type, type}, {PrimitiveType::kPred}));
  KILN_RETURN_IF_ERROR(CheckScalarComputation(query, *query.called[1], {type, type}, {type}));
  KILN_ASSIGN_OR_RETURN(DimensionVector sizes, WindowedSizes(query, operand));
  for (const WindowDimension& window : query.Get<WindowAttributes>().window) {
    if (window.base_dilation != 1 || window.window_dilation != 1) return query.Fail("windows have no dilation here");
  }
  if (source.dimensions() != sizes) {
    return query.Fail("source ", source.ToString(false), " must be ", Shape(type, sizes).ToString(false));
  }
  return Shape(type, operand.dimensions());
}

absl::StatusOr<Shape> InferMap(const InferenceQuery& query) {
  if (query.operands.empty()) return query.Fail("needs an operand");
  const Shape& first = query.operand(0);
  std::vector<PrimitiveType> parameters;
  for (size_t i = 0; i < query.operands.size(); ++i) {
    KILN_RETURN_IF_ERROR(CheckSameDimensions(query, 0, i));
    parameters.push_back(query.operand(i).element_type());
  }
  const DimensionVector& dimensions = query.Get<DimensionsAttributes>().dimensions;
  bool all = static_cast<int64_t>(dimensions.size()) == first.rank();
  for (size_t i = 0; i < dimensions.size(); ++i) all = all && dimensions[i] == static_cast<int64_t>(i);
  if (!all) {
    return query.Fail("dimensions is {", absl::StrJoin(dimensions, ","), "}, expected all dimensions of ",
                      first.ToString(false), " in order");
  }
  const Shape& root = query.called[0]->root()->shape();
  if (!root.IsScalar()) return query.Fail("the computation must give a scalar, it gives ", root.ToString(false));
  KILN_RETURN_IF_ERROR(CheckScalarComputation(query, *query.called[0], parameters, {root.element_type()}));
  return Shape(root.element_type(), first.dimensions());
}

absl::StatusOr<Shape> InferSort(const InferenceQuery& query) {
  if (query.operands.empty()) return query.Fail("needs an operand");
  const Shape& first = query.operand(0);
  std::vector<PrimitiveType> parameters;
  std::vector<Shape> results;
  for (size_t i = 0; i < query.operands.size(); ++i) {
    KILN_RETURN_IF_ERROR(CheckSameDimensions(query, 0, i));
    // The pair that is compared.
    parameters.insert(parameters.end(), 2, query.operand(i).element_type());
    results.push_back(RowMajor(query.operand(i)));
  }
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, {query.Get<SortAttributes>().dimension}, first.rank(), "dimensions"));
  KILN_RETURN_IF_ERROR(CheckScalarComputation(query, *query.called[0], parameters, {PrimitiveType::kPred}));
  return OneOrTuple(std::move(results));
}

// The k largest or smallest along the last dimension, and their s32 positions.
absl::StatusOr<Shape> InferTopK(const InferenceQuery& query) {
  const Shape& operand = query.operand(0);
  const int64_t k = query.Get<TopKAttributes>().k;
  if (operand.rank() == 0) return query.Fail("takes an array with a dimension, got ", operand.ToString(false));
  if (IsComplex(operand.element_type()) || !IsArrayType(operand.element_type())) {
    return query.Fail("does not order ", PrimitiveTypeName(operand.element_type()));
  }
  DimensionVector sizes = operand.dimensions();
  if (k < 0 || k > sizes.back()) return query.Fail("k = ", k, " is not within ", operand.ToString(false));
  sizes.back() = k;
  return Shape::Tuple({Shape(operand.element_type(), sizes), Shape(PrimitiveType::kS32, sizes)});
}

// Inputs, then initial carries. The computation takes slices of the inputs without the scanned dimension, then carries,
// and gives slices of the outputs, then carries; the result has whole outputs, then final carries, or as declared.
absl::StatusOr<Shape> InferScan(const InferenceQuery& query) {
  const auto& scan = query.Get<ScanAttributes>();
  const int64_t operand_count = static_cast<int64_t>(query.operands.size());
  const int64_t input_count = operand_count - scan.num_carries;
  if (scan.num_carries < 0 || input_count < 0) {
    return query.Fail("num_carries = ", scan.num_carries, " with ", operand_count, " operands");
  }
  KILN_ASSIGN_OR_RETURN(const Shape declared, RequireDeclared(query));
  const Computation& computation = *query.called[0];
  const auto leaves_of = [](const Shape& shape) {
    return shape.IsTuple() ? absl::MakeConstSpan(shape.tuple_shapes()) : absl::MakeConstSpan(&shape, 1);
  };
  const absl::Span<const Shape> results = leaves_of(declared), given = leaves_of(computation.root()->shape());
  const int64_t output_count = static_cast<int64_t>(results.size()) - scan.num_carries;
  if (computation.parameter_count() != operand_count || given.size() != results.size() || output_count < 0 ||
      input_count + output_count == 0) {
    return query.Fail("computation ", computation.name(), " takes ", computation.parameter_count(),
                      " parameters and gives ", given.size(), " results, expected ", operand_count, " and ",
                      results.size(), ", of which ", scan.num_carries, " are carries, and an input or output besides");
  }
  int64_t length = -1;
  // `slice` is what the computation sees of `whole`.
  const auto check = [&](const Shape& whole, const Shape& slice, bool is_carry,
                         absl::string_view what) -> absl::Status {
    Shape expected = whole;
    if (!is_carry) {
      if (!whole.IsArray()) return query.Fail(what, " ", whole.ToString(false), " is no array");
      KILN_RETURN_IF_ERROR(CheckDimensionList(query, {scan.dimension}, whole.rank(), "dimensions"));
      if (length >= 0 && whole.dimensions(scan.dimension) != length) {
        return query.Fail("inputs and outputs have different sizes along dimension ", scan.dimension);
      }
      length = whole.dimensions(scan.dimension);
      DimensionVector dimensions = whole.dimensions();
      dimensions.erase(dimensions.begin() + scan.dimension);
      expected = Shape(whole.element_type(), dimensions);
    }
    if (Shape::Compatible(slice, expected)) return absl::OkStatus();
    return query.Fail("computation ", computation.name(), " has the ", what, " ", slice.ToString(false), ", expected ",
                      expected.ToString(false));
  };
  for (int64_t i = 0; i < operand_count; ++i) {
    KILN_RETURN_IF_ERROR(check(query.operand(i), computation.parameter(i)->shape(), i >= input_count, "parameter"));
  }
  for (int64_t i = 0; i < output_count + scan.num_carries; ++i) {
    KILN_RETURN_IF_ERROR(check(results[i], given[i], i >= output_count, "result"));
    if (i >= output_count && !Shape::Compatible(results[i], query.operand(input_count + i - output_count))) {
      return query.Fail("a carry of ", query.operand(input_count + i - output_count).ToString(false), " ends as ",
                        results[i].ToString(false));
    }
  }
  return declared;
}

}  // namespace kiln::hlo
