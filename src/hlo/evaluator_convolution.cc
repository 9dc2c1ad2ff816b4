// convolution with every stride, padding, dilation, reversal and both kinds of groups.
#include <utility>

#include "src/hlo/evaluator_internal.h"
#include "src/hlo/evaluator_sums.h"

namespace kiln::hlo::evaluator {
namespace {

// Batch, feature and spatial dimensions are a permutation of the shape's.
bool AreRoles(const Shape& shape, int64_t first, int64_t second, const DimensionVector& spatial) {
  DimensionVector all = {first, second};
  all.insert(all.end(), spatial.begin(), spatial.end());
  return static_cast<int64_t>(all.size()) == shape.rank() && AreDistinctDimensions(all, shape.rank());
}

absl::Status CheckWindow(const Instruction& instruction, const ConvolutionAttributes& a, const Shape& input,
                         const Shape& kernel, const Shape& output) {
  bool fits = AreRoles(input, a.input_batch, a.input_feature, a.input_spatial) &&
              AreRoles(kernel, a.kernel_input_feature, a.kernel_output_feature, a.kernel_spatial) &&
              AreRoles(output, a.output_batch, a.output_feature, a.output_spatial) &&
              a.window.size() == a.input_spatial.size() && a.window.size() == a.kernel_spatial.size() &&
              a.window.size() == a.output_spatial.size();
  KILN_RETURN_IF_ERROR(Require(instruction, fits, "dimension numbers do not fit the shapes"));
  const int64_t groups = a.feature_group_count, batch_groups = a.batch_group_count;
  const int64_t features = input.dimensions(a.input_feature), batch = input.dimensions(a.input_batch);
  const int64_t output_features = kernel.dimensions(a.kernel_output_feature);
  fits = groups >= 1 && batch_groups >= 1 && features == kernel.dimensions(a.kernel_input_feature) * groups &&
         output_features % groups == 0 && output_features % batch_groups == 0 && batch % batch_groups == 0 &&
         output.dimensions(a.output_batch) == batch / batch_groups &&
         output.dimensions(a.output_feature) == output_features;
  KILN_RETURN_IF_ERROR(Require(instruction, fits, "features, batch and groups do not fit"));
  constexpr int64_t kLimit = int64_t{1} << 31;
  for (size_t d = 0; fits && d < a.window.size(); ++d) {
    const WindowDimension& w = a.window[d];
    const int64_t size = input.dimensions(a.input_spatial[d]);
    fits = w.size == kernel.dimensions(a.kernel_spatial[d]) && w.size >= 0 && w.size < kLimit && w.stride >= 1 &&
           w.stride < kLimit && w.window_dilation >= 1 && w.window_dilation < kLimit && w.base_dilation >= 1 &&
           w.base_dilation < kLimit && w.padding_low > -kLimit && w.padding_low < kLimit &&
           w.padding_high > -kLimit && w.padding_high < kLimit && size < kLimit;
    if (!fits) break;
    const int64_t padded = (size == 0 ? 0 : (size - 1) * w.base_dilation + 1) + w.padding_low + w.padding_high;
    const int64_t reach = w.size == 0 ? 0 : (w.size - 1) * w.window_dilation + 1;
    fits = output.dimensions(a.output_spatial[d]) ==
           (padded < 0 || padded < reach ? 0 : (padded - reach) / w.stride + 1);
  }
  return Require(instruction, fits, "the window does not lead from the input to the result");
}

}  // namespace

absl::StatusOr<Literal> EvaluateConvolution(Evaluation& evaluation, const Instruction& instruction,
                                            Operands& operands) {
  KILN_ASSIGN_OR_RETURN(const auto* attributes, AttributesOf<ConvolutionAttributes>(instruction));
  if (operands.size() != 2) {
    return Unimplemented(instruction.Describe(), ": a convolution of ", operands.size(), " operands");
  }
  const ConvolutionAttributes& a = *attributes;
  const Shape& input = operands[0].shape();
  const Shape& kernel = operands[1].shape();
  const Shape& shape = instruction.shape();
  KILN_RETURN_IF_ERROR(
      Require(instruction, input.IsArray() && kernel.IsArray() && shape.IsArray(), "expected array operands"));
  KILN_RETURN_IF_ERROR(CheckWindow(instruction, a, input, kernel, shape));
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  if (shape.element_count() == 0) return result;
  const DimensionVector input_strides = StridesOf(input.dimensions());
  const DimensionVector kernel_strides = StridesOf(kernel.dimensions());
  const size_t rank = a.window.size();
  DimensionVector window_sizes;
  int64_t window_count = 1;
  for (const WindowDimension& w : a.window) {
    window_sizes.push_back(w.size);
    window_count *= w.size;
  }
  const int64_t group_features = kernel.dimensions(a.kernel_input_feature);
  const int64_t output_features = shape.dimensions(a.output_feature);
  const int64_t output_batch = shape.dimensions(a.output_batch);
  const int64_t features_per_group = output_features / a.feature_group_count;
  const int64_t features_per_batch_group = output_features / a.batch_group_count;
  const PrimitiveType type = shape.element_type();
  const SumKind kind = SumKindOf(input.element_type(), kernel.element_type(), type);
  KILN_RETURN_IF_ERROR(WithSumType(kind, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const std::vector<T> x = WidenAll<T>(operands[0]);
    const std::vector<T> w = WidenAll<T>(operands[1]);
    std::byte* out = result.mutable_bytes().data();
    DimensionVector index(shape.rank(), 0);
    do {
      KILN_RETURN_IF_ERROR(evaluation.Charge(window_count * group_features));
      const int64_t feature = index[a.output_feature];
      const int64_t group = feature / features_per_group;
      const int64_t batch = index[a.output_batch] + feature / features_per_batch_group * output_batch;
      const int64_t input_base = batch * input_strides[a.input_batch] +
                                 group * group_features * input_strides[a.input_feature];
      const int64_t kernel_base = feature * kernel_strides[a.kernel_output_feature];
      T sum{};
      DimensionVector position(rank, 0);
      if (window_count > 0) {
        do {
          int64_t input_at = input_base, kernel_at = kernel_base;
          bool inside = true;
          for (size_t d = 0; inside && d < rank; ++d) {
            const WindowDimension& window = a.window[d];
            const int64_t dilated = index[a.output_spatial[d]] * window.stride - window.padding_low +
                                    position[d] * window.window_dilation;
            const int64_t at = dilated / window.base_dilation;
            inside = dilated >= 0 && dilated % window.base_dilation == 0 && at < input.dimensions(a.input_spatial[d]);
            input_at += at * input_strides[a.input_spatial[d]];
            kernel_at += (window.reversal ? window.size - 1 - position[d] : position[d]) *
                         kernel_strides[a.kernel_spatial[d]];
          }
          if (!inside) continue;
          for (int64_t f = 0; f < group_features; ++f) {
            sum += x[input_at + f * input_strides[a.input_feature]] *
                   w[kernel_at + f * kernel_strides[a.kernel_input_feature]];
          }
        } while (NextIndex(window_sizes, &position));
      }
      if (kind == SumKind::kTruth) sum = sum != T{} ? T(1) : T{};
      StoreSum(type, sum, out);
      out += ByteWidth(type);
    } while (NextIndex(shape.dimensions(), &index));
    return absl::OkStatus();
  }));
  return result;
}

}  // namespace kiln::hlo::evaluator
