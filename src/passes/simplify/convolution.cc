// Convolution.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::ConvolutionAttributes;
using hlo::WindowDimension;

// Zeros around the input are what windows are padded with; zeros between its elements are its dilation.
Instruction* ConvolutionOfPad(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& pad = match['t']->Get<hlo::PadAttributes>();
  ConvolutionAttributes attributes = root.Get<ConvolutionAttributes>();
  for (const int64_t dimension : {attributes.input_batch, attributes.input_feature}) {
    if (pad.low[dimension] != 0 || pad.high[dimension] != 0 || pad.interior[dimension] != 0) return nullptr;
  }
  for (size_t i = 0; i < attributes.window.size(); ++i) {
    const int64_t dimension = attributes.input_spatial[i];
    WindowDimension& window = attributes.window[i];
    if (pad.low[dimension] < 0 || pad.high[dimension] < 0 || window.base_dilation != 1) return nullptr;
    window.padding_low += pad.low[dimension];
    window.padding_high += pad.high[dimension];
    window.base_dilation += pad.interior[dimension];
  }
  return builder.Add(Opcode::kConvolution, root.shape(), {match['x'], match['w']}, std::move(attributes));
}

// Zeros between the elements of a kernel are its dilation.
Instruction* ConvolutionOfSpreadKernel(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& pad = match['t']->Get<hlo::PadAttributes>();
  ConvolutionAttributes attributes = root.Get<ConvolutionAttributes>();
  if (pad.interior[attributes.kernel_input_feature] != 0 || pad.interior[attributes.kernel_output_feature] != 0) {
    return nullptr;
  }
  const auto adds = [](int64_t count) { return count != 0; };
  if (absl::c_any_of(pad.low, adds) || absl::c_any_of(pad.high, adds)) return nullptr;
  for (size_t i = 0; i < attributes.window.size(); ++i) {
    WindowDimension& window = attributes.window[i];
    const int64_t dimension = attributes.kernel_spatial[i];
    window.window_dilation *= pad.interior[dimension] + 1;
    window.size = match['w']->shape().dimensions(dimension);
  }
  return builder.Add(Opcode::kConvolution, root.shape(), {match['x'], match['w']}, std::move(attributes));
}

// Windows read backwards are reversed kernels, which are small.
Instruction* ReversedWindows(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  ConvolutionAttributes attributes = root.Get<ConvolutionAttributes>();
  DimensionVector reversed;
  for (size_t i = 0; i < attributes.window.size(); ++i) {
    if (attributes.window[i].reversal) reversed.push_back(attributes.kernel_spatial[i]);
    attributes.window[i].reversal = false;
  }
  if (reversed.empty()) return nullptr;
  absl::c_sort(reversed);
  Instruction* kernel =
      builder.Add(Opcode::kReverse, match['w']->shape(), {match['w']}, hlo::DimensionsAttributes{reversed});
  return builder.Add(Opcode::kConvolution, root.shape(), {match['x'], kernel}, std::move(attributes));
}

// Windows of one element mix features alone: a matrix product, where the input's other dimensions lie together and stay
// in order.
Instruction* ConvolutionIsDot(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& a = root.Get<ConvolutionAttributes>();
  const int64_t rank = root.shape().rank();
  if (a.feature_group_count != 1 || a.batch_group_count != 1 || a.output_feature != rank - 1 ||
      (a.input_feature != 0 && a.input_feature != rank - 1)) {
    return nullptr;
  }
  const int64_t first = a.input_feature == 0 ? 1 : 0;  // of the input's free dimensions
  if (a.input_batch - first != a.output_batch) return nullptr;
  for (size_t i = 0; i < a.window.size(); ++i) {
    const WindowDimension& d = a.window[i];
    if (d.size != 1 || d.stride != 1 || d.padding_low != 0 || d.padding_high != 0 || d.base_dilation != 1 ||
        a.input_spatial[i] - first != a.output_spatial[i]) {
      return nullptr;
    }
  }
  const Shape& kernel = match['w']->shape();
  DimensionVector matrix = {kernel.dimensions(a.kernel_input_feature), kernel.dimensions(a.kernel_output_feature)};
  const int64_t contracting = a.kernel_input_feature < a.kernel_output_feature ? 0 : 1;
  if (contracting == 1) std::swap(matrix[0], matrix[1]);
  hlo::DotAttributes dot;
  dot.lhs_contracting = {a.input_feature};
  dot.rhs_contracting = {contracting};
  dot.operand_precision = a.operand_precision;
  return builder.Add(Opcode::kDot, root.shape(), {match['x'], builder.Reshape(match['w'], matrix)}, std::move(dot));
}

// Places that lie far apart, with windows of whole multiples of the distance, as for the gradient of an image by the
// embedding of its patches: what is between two places becomes features of one, which then move to where they belong.
// In y[p] = sum over t of w[t] x[(p + t - low) / b], p + shift = b u + r and t = b e + b - 1 - r, so that e is the tap.
Instruction* SpreadPlacesAreFeatures(const Match& match, Builder& builder) {
  constexpr int64_t kFar = 5;  // nearer ones are convolutions of parts of the result (cpu/convolution_spec.h)
  const Instruction& root = *match.root();
  const auto& a = root.Get<ConvolutionAttributes>();
  const Shape &input = match['x']->shape(), &kernel = match['w']->shape(), &shape = root.shape();
  const int64_t spaces = static_cast<int64_t>(a.window.size()), features = shape.dimensions(a.output_feature);
  if (a.feature_group_count != 1 || a.batch_group_count != 1 || shape.element_count() == 0 ||
      kernel.element_count() == 0 ||
      absl::c_none_of(a.window, [](const WindowDimension& d) { return d.base_dilation >= kFar; })) {
    return nullptr;
  }
  ConvolutionAttributes inner = a;
  // Of the weights as (taps, places between)..., ..., of what comes of them, and which part of the result is wanted.
  DimensionVector split(static_cast<size_t>(kernel.rank() + spaces)), reversed, order, weights, between, mixed, moved;
  hlo::SliceAttributes slice;
  slice.start.assign(shape.rank(), 0);
  slice.limit.assign(shape.dimensions().begin(), shape.dimensions().end());
  slice.stride.assign(shape.rank(), 1);
  int64_t all_between = 1;
  mixed.push_back(shape.dimensions(a.output_batch));
  const auto place = [&](int64_t dimension) {  // where a dimension of the kernel begins in `split`
    return dimension + absl::c_count_if(a.kernel_spatial, [&](int64_t other) { return other < dimension; });
  };
  for (int64_t i = 0; i < spaces; ++i) {
    WindowDimension& d = inner.window[i];
    const int64_t b = d.base_dilation, size = input.dimensions(a.input_spatial[i]);
    if (d.size % b != 0 || std::abs(d.padding_low) > std::numeric_limits<int32_t>::max() ||
        (b > 1 && (d.stride != 1 || d.window_dilation != 1 || d.reversal))) {
      return nullptr;
    }
    const int64_t at = place(a.kernel_spatial[i]);
    split[at] = d.size / b;
    split[at + 1] = b;
    if (b > 1) reversed.push_back(at + 1);
    order.push_back(at);
    weights.push_back(d.size / b);
    between.push_back(b);
    all_between *= b;
    inner.kernel_spatial[i] = i;
    inner.output_spatial[i] = i + 1;
    const int64_t out = shape.dimensions(a.output_spatial[i]);
    if (b > 1) {
      const int64_t shift = ((b - 1 - d.padding_low) % b + b) % b, low = (d.padding_low + shift - (b - 1)) / b;
      const int64_t places = (out + shift + b - 1) / b;
      d = {.size = d.size / b, .padding_low = low, .padding_high = places - 1 + d.size / b - low - size};
      slice.start[a.output_spatial[i]] = shift;
      slice.limit[a.output_spatial[i]] = shift + out;
      mixed.push_back(places);
    } else {
      mixed.push_back(out);
    }
  }
  absl::c_sort(reversed);
  split[place(a.kernel_input_feature)] = kernel.dimensions(a.kernel_input_feature);
  split[place(a.kernel_output_feature)] = features;
  order.push_back(place(a.kernel_input_feature));
  weights.push_back(kernel.dimensions(a.kernel_input_feature));
  for (int64_t i = 0; i < spaces; ++i) order.push_back(order[i] + 1);
  order.push_back(place(a.kernel_output_feature));
  weights.push_back(all_between * features);
  inner.kernel_input_feature = spaces;
  inner.kernel_output_feature = inner.output_feature = spaces + 1;
  inner.output_batch = 0;
  Instruction* w = builder.Reshape(match['w'], split);
  w = builder.Add(Opcode::kReverse, w->shape(), {w}, hlo::DimensionsAttributes{reversed});
  w = builder.Reshape(builder.Transpose(w, order), weights);
  DimensionVector result = mixed;
  result.push_back(all_between * features);
  Instruction* y =
      builder.Add(Opcode::kConvolution, Shape(shape.element_type(), result), {match['x'], w}, std::move(inner));
  mixed.insert(mixed.end(), between.begin(), between.end());
  mixed.push_back(features);
  DimensionVector whole(shape.dimensions().begin(), shape.dimensions().end());
  for (int64_t dimension = 0; dimension < shape.rank(); ++dimension) {
    const auto space = absl::c_find(a.output_spatial, dimension);
    if (space == a.output_spatial.end()) {
      moved.push_back(dimension == a.output_batch ? 0 : 2 * spaces + 1);
      continue;
    }
    const int64_t i = space - a.output_spatial.begin();
    moved.insert(moved.end(), {1 + i, 1 + spaces + i});
    whole[dimension] = mixed[1 + i] * between[i];
  }
  y = builder.Reshape(builder.Transpose(builder.Reshape(y, mixed), moved), whole);
  return builder.Slice(y, slice);
}

// A window that is the whole input: a matrix product over all but batch and output features.
Instruction* WholeWindowIsDot(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& a = root.Get<ConvolutionAttributes>();
  const Shape &input = match['x']->shape(), &kernel = match['w']->shape();
  if (a.feature_group_count != 1 || a.batch_group_count != 1 || a.output_batch > a.output_feature) return nullptr;
  std::vector<std::pair<int64_t, int64_t>> summed = {{a.input_feature, a.kernel_input_feature}};
  for (size_t i = 0; i < a.window.size(); ++i) {
    const WindowDimension& d = a.window[i];
    if (d.size != input.dimensions(a.input_spatial[i]) || d.padding_low != 0 || d.padding_high != 0 ||
        d.base_dilation != 1 || d.window_dilation != 1 || d.reversal) {
      return nullptr;
    }
    summed.emplace_back(a.input_spatial[i], a.kernel_spatial[i]);
  }
  absl::c_sort(summed);
  hlo::DotAttributes dot;
  for (const auto& [of_input, of_kernel] : summed) {
    dot.lhs_contracting.push_back(of_input);
    dot.rhs_contracting.push_back(of_kernel);
  }
  if (!absl::c_is_sorted(dot.rhs_contracting)) return nullptr;  // the kernel would be transposed
  dot.operand_precision = a.operand_precision;
  const Shape shape(root.shape().element_type(),
                    {input.dimensions(a.input_batch), kernel.dimensions(a.kernel_output_feature)});
  return builder.Reshape(builder.Add(Opcode::kDot, shape, {match['x'], match['w']}, std::move(dot)),
                         root.shape().dimensions());
}

// Every feature by itself, in windows of one element: a factor per feature.
Instruction* ConvolutionIsProduct(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& a = root.Get<ConvolutionAttributes>();
  const Shape& shape = root.shape();
  const int64_t features = shape.dimensions(a.output_feature);
  if (a.feature_group_count != features || a.batch_group_count != 1 ||
      match['w']->shape().element_count() != features || a.input_batch != a.output_batch ||
      a.input_feature != a.output_feature || match['x']->shape() != shape || a.input_spatial != a.output_spatial ||
      match['w']->shape().element_type() != shape.element_type()) {
    return nullptr;
  }
  const bool is_plain = absl::c_all_of(a.window, [](const WindowDimension& d) {
    return d.size == 1 && d.stride == 1 && d.padding_low == 0 && d.padding_high == 0 && d.base_dilation == 1;
  });
  if (!is_plain) return nullptr;
  Instruction* factors = builder.Reshape(match['w'], {features});
  return builder.Binary(Opcode::kMultiply, match['x'],
                        builder.Broadcast(factors, shape.dimensions(), {a.output_feature}));
}

constexpr Rule kConvolutionRules[] = {
    {"convolution(x, _)", "0", EmptyX},
    {"convolution(0, x)", "0", FiniteX},
    {"convolution(x, 0)", "0", FiniteX},
    {"convolution(t:pad(x, 0), w)", "convolution(x, w), with padding", ConvolutionOfPad, PaddingIsNoFactor},
    {"convolution(x, t:pad(w, 0))", "convolution(x, w), with a dilated window", ConvolutionOfSpreadKernel,
     PaddingIsNoFactor},
    {"convolution(x, w)", "convolution(x, reverse(w)), of reversed windows", ReversedWindows},
    {"convolution(x, w)", "slice(transpose(convolution(x, w))), of places far apart", SpreadPlacesAreFeatures,
     AnyOrder},
    {"convolution(x, w)", "dot(x, w), of windows with one element", ConvolutionIsDot},
    {"convolution(x, w)", "multiply(x, broadcast(w)), of windows with one element of one feature", ConvolutionIsProduct,
     AnyOrder, SignlessZero},
    {"convolution(x, w)", "reshape(dot(x, w)), of one window", WholeWindowIsDot, AnyOrder},
};

}  // namespace

absl::Span<const Rule> ConvolutionRules() { return kConvolutionRules; }

}  // namespace kiln::passes::simplify
