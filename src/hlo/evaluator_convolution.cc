// convolution with every stride, padding, dilation, reversal and both kinds of groups.
#include <utility>

#include "src/hlo/evaluator_internal.h"
#include "src/hlo/evaluator_sums.h"

namespace kiln::hlo::evaluator {
absl::StatusOr<Literal> EvaluateConvolution(Evaluation& evaluation, const Instruction& instruction,
                                            Operands& operands) {
  const auto& a = instruction.Get<ConvolutionAttributes>();
  const Shape& input = operands[0].shape();
  const Shape& kernel = operands[1].shape();
  const Shape& shape = instruction.shape();
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
  KILN_RETURN_IF_ERROR(WithSumType(input.element_type(), kernel.element_type(), type, [&](auto zero) -> absl::Status {
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
      do {
        int64_t input_at = input_base, kernel_at = kernel_base;
        bool inside = true;
        for (size_t d = 0; inside && d < rank; ++d) {
          const WindowDimension& window = a.window[d];
          const int64_t spatial = a.input_spatial[d];
          const int64_t at = WindowPosition(window, input.dimensions(spatial), index[a.output_spatial[d]], position[d]);
          inside = at >= 0;
          input_at += at * input_strides[spatial];
          kernel_at += (window.reversal ? window.size - 1 - position[d] : position[d]) *
                       kernel_strides[a.kernel_spatial[d]];
        }
        if (!inside) continue;
        for (int64_t f = 0; f < group_features; ++f) {
          sum += x[input_at + f * input_strides[a.input_feature]] *
                 w[kernel_at + f * kernel_strides[a.kernel_input_feature]];
        }
      } while (NextIndex(window_sizes, &position));
      StoreSum(type, sum, out);
      out += ByteWidth(type);
    } while (NextIndex(shape.dimensions(), &index));
    return absl::OkStatus();
  }));
  return result;
}

}  // namespace kiln::hlo::evaluator
