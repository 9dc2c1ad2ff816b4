// Dot in its forms and convolution.
#include <utility>

#include "src/hlo/shape_inference_rules.h"

namespace kiln::hlo {
namespace {

// The type that a product of two operands has when nobody asks for another one; `declared` asks.
absl::StatusOr<PrimitiveType> ProductType(const InferenceQuery& query) {
  const PrimitiveType lhs = query.operand(0).element_type(), rhs = query.operand(1).element_type();
  if (query.declared != nullptr) {
    if (!query.declared->IsArray()) {
      return query.Fail("the result must be an array, declared as ", query.declared->ToString(false));
    }
    const PrimitiveType type = query.declared->element_type();
    if (IsComplex(type) != (IsComplex(lhs) || IsComplex(rhs))) {
      return query.Fail("operands of types ", PrimitiveTypeName(lhs), " and ", PrimitiveTypeName(rhs), " do not give ",
                        PrimitiveTypeName(type));
    }
    return type;
  }
  if (lhs != rhs) {
    return query.Fail("operands of types ", PrimitiveTypeName(lhs), " and ", PrimitiveTypeName(rhs),
                      " need a declared result type");
  }
  return lhs;
}

absl::Status CheckPairs(const InferenceQuery& query, const DimensionVector& lhs_dimensions,
                        const DimensionVector& rhs_dimensions, absl::string_view what) {
  if (lhs_dimensions.size() != rhs_dimensions.size()) {
    return query.Fail("the operands have different numbers of ", what, " dimensions: ", lhs_dimensions.size(), " and ",
                      rhs_dimensions.size());
  }
  for (size_t i = 0; i < lhs_dimensions.size(); ++i) {
    const int64_t lhs = query.operand(0).dimensions(lhs_dimensions[i]);
    const int64_t rhs = query.operand(1).dimensions(rhs_dimensions[i]);
    if (lhs != rhs) {
      return query.Fail(what, " dimensions ", lhs_dimensions[i], " of ", query.operand(0).ToString(false), " and ",
                        rhs_dimensions[i], " of ", query.operand(1).ToString(false), " differ in size");
    }
  }
  return absl::OkStatus();
}

DimensionVector Joined(const DimensionVector& a, const DimensionVector& b) {
  DimensionVector all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

// Batch and contracting dimensions of both sides; those of the right one, with its others, are in `rhs_used`.
absl::Status CheckDotDimensions(const InferenceQuery& query, const DimensionVector& rhs_used,
                                absl::string_view rhs_what) {
  const auto& dot = query.Get<DotAttributes>();
  const int64_t lhs_rank = query.operand(0).rank(), rhs_rank = query.operand(1).rank();
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, Joined(dot.lhs_batch, dot.lhs_contracting), lhs_rank,
                                          "the left batch and contracting dims"));
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, rhs_used, rhs_rank, rhs_what));
  KILN_RETURN_IF_ERROR(CheckPairs(query, dot.lhs_batch, dot.rhs_batch, "batch"));
  return CheckPairs(query, dot.lhs_contracting, dot.rhs_contracting, "contracting");
}

// Dimensions of `sizes`, then the batch, then what is free of lhs, then of rhs.
absl::StatusOr<Shape> DotShape(const InferenceQuery& query, DimensionVector sizes, const DimensionVector& rhs_used) {
  const auto& dot = query.Get<DotAttributes>();
  KILN_ASSIGN_OR_RETURN(PrimitiveType type, ProductType(query));
  for (int64_t dimension : dot.lhs_batch) sizes.push_back(query.operand(0).dimensions(dimension));
  const DimensionVector lhs_used = Joined(dot.lhs_batch, dot.lhs_contracting);
  for (const auto& [shape, used] : {std::pair(query.operands[0], &lhs_used), {query.operands[1], &rhs_used}}) {
    for (int64_t i = 0; i < shape->rank(); ++i) {
      if (!Contains(*used, i)) sizes.push_back(shape->dimensions(i));
    }
  }
  return Shape(type, sizes);
}

// Batch, feature and spatial dimensions must be all the dimensions of `shape`, each once.
absl::Status CheckLabels(const InferenceQuery& query, const Shape* shape, int64_t first, int64_t second,
                         const DimensionVector& spatial, absl::string_view what) {
  DimensionVector all = spatial;
  all.push_back(first);
  all.push_back(second);
  const int64_t rank = static_cast<int64_t>(all.size());
  if (shape != nullptr && shape->rank() != rank) {
    return query.Fail("the labels give ", what, " rank ", rank, ", it is ", shape->ToString(false));
  }
  return CheckDimensionList(query, all, rank, absl::StrCat("the labels of ", what));
}

}  // namespace

absl::StatusOr<Shape> InferDot(const InferenceQuery& query) {
  if (query.opcode == Opcode::kDot && query.operands.size() != 2) {
    return query.Fail("takes 2 operands (sparse forms are not supported), got ", query.operands.size());
  }
  const auto& dot = query.Get<DotAttributes>();
  const DimensionVector rhs_used = Joined(dot.rhs_batch, dot.rhs_contracting);
  KILN_RETURN_IF_ERROR(CheckDotDimensions(query, rhs_used, "the right batch and contracting dims"));
  return DotShape(query, {}, rhs_used);
}

// lhs, rhs and group sizes; one ragged dimension of lhs that is free (rhs has a group dimension), contracting (the
// groups become the first result dimension) or batch.
absl::StatusOr<Shape> InferRaggedDot(const InferenceQuery& query) {
  const auto& dot = query.Get<DotAttributes>();
  const Shape& lhs = query.operand(0);
  const Shape& rhs = query.operand(1);
  const Shape& groups = query.operand(2);
  const DimensionVector lhs_used = Joined(dot.lhs_batch, dot.lhs_contracting);
  const DimensionVector rhs_used = Joined(Joined(dot.rhs_batch, dot.rhs_contracting), dot.rhs_group);
  KILN_RETURN_IF_ERROR(CheckDotDimensions(query, rhs_used, "the right batch, contracting and group dims"));
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, dot.lhs_ragged, lhs.rank(), "lhs_ragged_dims"));
  if (dot.lhs_ragged.size() != 1) {
    return query.Fail("lhs_ragged_dims has ", dot.lhs_ragged.size(), " entries, expected one");
  }
  if (!IsIntegral(groups.element_type()) || groups.rank() < 1) {
    return query.Fail("group sizes must be an array of integers, got ", groups.ToString(false));
  }
  const int64_t ragged = dot.lhs_ragged[0];
  const bool contracting = Contains(dot.lhs_contracting, ragged);
  const bool free = !contracting && !Contains(dot.lhs_batch, ragged);
  if (dot.rhs_group.size() != (free ? 1u : 0u)) {
    return query.Fail("rhs_group_dims has ", dot.rhs_group.size(), " entries, expected ", free ? 1 : 0,
                      " where the ragged dimension is ", free ? "free" : "contracting or batch");
  }
  const int64_t group_count = groups.dimensions(groups.rank() - 1);
  // One list of sizes, or one for each position in the dimensions before the ragged one, as the result orders them.
  DimensionVector lists;
  for (int64_t d : dot.lhs_batch) {
    if (d == ragged) break;
    lists.push_back(lhs.dimensions(d));
  }
  for (int64_t d = 0; free && d < ragged; ++d) {
    if (!Contains(lhs_used, d)) lists.push_back(lhs.dimensions(d));
  }
  for (size_t i = 0; contracting && dot.lhs_contracting[i] != ragged; ++i) {
    lists.push_back(lhs.dimensions(dot.lhs_contracting[i]));
  }
  lists.push_back(group_count);
  if (groups.rank() > 1 && groups.dimensions() != lists) {
    return query.Fail("group sizes are ", groups.ToString(false), ", expected one dimension or those of ",
                      Shape(groups.element_type(), lists).ToString(false));
  }
  if (free && rhs.dimensions(dot.rhs_group[0]) != group_count) {
    return query.Fail("the group dimension of ", rhs.ToString(false), " must have size ", group_count);
  }
  return DotShape(query, contracting ? DimensionVector{group_count} : DimensionVector{}, rhs_used);
}

// A dot of operands that have a scale for each block of elements, or one for all.
absl::StatusOr<Shape> InferScaledDot(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(Shape result, InferDot(query));
  for (int i : {0, 1}) {
    const Shape &operand = query.operand(i), &scale = query.operand(i + 2);
    bool fits = scale.IsScalar() || scale.rank() == operand.rank();
    for (int64_t d = 0; fits && d < scale.rank(); ++d) {
      const int64_t blocks = scale.dimensions(d);
      fits = blocks > 0 ? operand.dimensions(d) % blocks == 0 : operand.dimensions(d) == 0;
    }
    if (!fits || !IsFloating(operand.element_type()) || !IsFloating(scale.element_type())) {
      return query.Fail("operand ", i, " is ", operand.ToString(false), " with scales ", scale.ToString(false),
                        ", expected floats, and a scale for all or scales that divide each dimension into blocks");
    }
  }
  if (!IsFloating(result.element_type())) {
    return query.Fail("the result is ", result.ToString(false), ", expected floats");
  }
  return result;
}

absl::StatusOr<Shape> InferConvolution(const InferenceQuery& query) {
  if (query.operands.size() != 2) {
    return query.Fail("takes 2 operands (sparse forms are not supported), got ", query.operands.size());
  }
  const auto& convolution = query.Get<ConvolutionAttributes>();
  const Shape& input = query.operand(0);
  const Shape& kernel = query.operand(1);
  const size_t spatial = convolution.window.size();
  if (convolution.input_spatial.size() != spatial || convolution.kernel_spatial.size() != spatial ||
      convolution.output_spatial.size() != spatial) {
    return query.Fail("window has ", spatial, " dimensions, the labels ", convolution.input_spatial.size(), ", ",
                      convolution.kernel_spatial.size(), " and ", convolution.output_spatial.size());
  }
  KILN_RETURN_IF_ERROR(CheckLabels(query, &input, convolution.input_batch, convolution.input_feature,
                                   convolution.input_spatial, "the input"));
  KILN_RETURN_IF_ERROR(CheckLabels(query, &kernel, convolution.kernel_input_feature, convolution.kernel_output_feature,
                                   convolution.kernel_spatial, "the kernel"));
  KILN_RETURN_IF_ERROR(CheckLabels(query, nullptr, convolution.output_batch, convolution.output_feature,
                                   convolution.output_spatial, "the output"));
  const int64_t batch = input.dimensions(convolution.input_batch);
  const int64_t features = input.dimensions(convolution.input_feature);
  const int64_t kernel_features = kernel.dimensions(convolution.kernel_input_feature);
  const int64_t output_features = kernel.dimensions(convolution.kernel_output_feature);
  const int64_t feature_groups = convolution.feature_group_count, batch_groups = convolution.batch_group_count;
  if (feature_groups < 1 || batch_groups < 1) {
    return query.Fail("feature_group_count is ", feature_groups, " and batch_group_count ", batch_groups,
                      ", expected positive numbers");
  }
  if (feature_groups > 1 && batch_groups > 1) {
    return query.Fail("feature_group_count is ", feature_groups, " and batch_group_count ", batch_groups,
                      ", expected one of them to be 1");
  }
  if (features % feature_groups != 0 || features / feature_groups != kernel_features) {
    return query.Fail("the input has ", features, " features in ", feature_groups, " groups, the kernel takes ",
                      kernel_features);
  }
  if (output_features % feature_groups != 0 || output_features % batch_groups != 0) {
    return query.Fail("the kernel's ", output_features, " output features do not divide into the groups");
  }
  if (batch % batch_groups != 0) return query.Fail("the batch of ", batch, " does not divide into the groups");
  KILN_ASSIGN_OR_RETURN(PrimitiveType type, ProductType(query));
  DimensionVector sizes(spatial + 2, 0);
  sizes[convolution.output_batch] = batch / batch_groups;
  sizes[convolution.output_feature] = output_features;
  for (size_t i = 0; i < spatial; ++i) {
    const WindowDimension& window = convolution.window[i];
    if (kernel.dimensions(convolution.kernel_spatial[i]) != window.size) {
      return query.Fail("window size ", window.size, " of spatial dimension ", i, " is not that of the kernel ",
                        kernel.ToString(false));
    }
    KILN_ASSIGN_OR_RETURN(sizes[convolution.output_spatial[i]],
                          WindowedSize(query, input.dimensions(convolution.input_spatial[i]), window));
  }
  return Shape(type, sizes);
}

}  // namespace kiln::hlo
