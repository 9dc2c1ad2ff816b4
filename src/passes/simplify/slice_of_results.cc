// Slice of what is computed: what nobody wants is not computed.
#include <algorithm>

#include "src/analysis/sort_order.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::SliceAttributes;
using hlo::WindowDimension;

const SliceAttributes& SliceOf(const Match& match) { return match.root()->Get<SliceAttributes>(); }

bool CutsMostOfResult(const Match& match) {
  return 2 * match.root()->shape().element_count() <= match['t']->shape().element_count();
}

SliceAttributes WholeOf(const Shape& shape) {
  return {DimensionVector(shape.rank(), 0), shape.dimensions(), DimensionVector(shape.rank(), 1)};
}

void CopyDimension(const SliceAttributes& from, int64_t from_dimension, SliceAttributes* to, int64_t to_dimension) {
  to->start[to_dimension] = from.start[from_dimension];
  to->limit[to_dimension] = from.limit[from_dimension];
  to->stride[to_dimension] = from.stride[from_dimension];
}

Instruction* SliceOfElementwise(const Match& match, Builder& builder) {
  const Instruction& t = *match['t'];
  if (!CutsMostOfResult(match)) return nullptr;
  std::vector<Instruction*> operands;
  for (Instruction* operand : t.operands()) {
    operands.push_back(operand->shape().IsScalar() ? operand : builder.Slice(operand, SliceOf(match)));
  }
  return builder.Add(t.opcode(), match.root()->shape(), std::move(operands), t.attributes());
}

// Rows are sorted each by itself.
Instruction* SliceOfSort(const Match& match, Builder& builder) {
  const Instruction& sort = *match['t'];
  const int64_t along = sort.Get<hlo::SortAttributes>().dimension;
  if (match.root()->shape().dimensions(along) != sort.shape().dimensions(along)) return nullptr;
  return builder.Add(Opcode::kSort, match.root()->shape(), {builder.Slice(match['x'], SliceOf(match))},
                     sort.attributes(), sort.called_computations());
}

// The first or the last of sorted integers.
Instruction* EndOfSort(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &sort = *match['t'];
  const int64_t along = sort.Get<hlo::SortAttributes>().dimension, start = SliceOf(match).start[along];
  const std::optional<analysis::LeadingKey> key = analysis::LeadingKeyOf(sort);
  const PrimitiveType type = sort.shape().element_type();
  const bool first = start == 0, last = start == sort.shape().dimensions(along) - 1;
  if (root.shape().dimensions(along) != 1 || first == last || !key || !hlo::IsIntegral(type)) return nullptr;
  SliceAttributes slice = SliceOf(match);
  slice.start[along] = 0;
  slice.limit[along] = sort.shape().dimensions(along);
  slice.stride[along] = 1;
  const bool least = first != key->order.descending;
  const Literal init = least ? hlo::MaxLiteral(type) : hlo::MinLiteral(type);
  Instruction* end = builder.Reduce(builder.Slice(match['x'], slice), builder.Constant(init), {along},
                                    least ? Opcode::kMinimum : Opcode::kMaximum);
  return builder.Reshape(end, root.shape().dimensions());
}

Instruction* SliceOfReduce(const Match& match, Builder& builder) {
  const Instruction& reduce = *match['t'];
  SliceAttributes slice = WholeOf(match['x']->shape());
  for (int64_t i = 0, kept = 0; i < match['x']->shape().rank(); ++i) {
    if (!Contains(reduce.dimensions(), i)) CopyDimension(SliceOf(match), kept++, &slice, i);
  }
  return builder.Reduce(builder.Slice(match['x'], slice), match['i'], reduce.dimensions(), reduce.called_computation());
}

// Makes `window`, over so many elements, one whose results are dimension `i` of the slice, over elements from *start to
// *limit.
bool SliceWindow(const Match& match, int64_t i, int64_t size, WindowDimension* window, int64_t* start, int64_t* limit) {
  const SliceAttributes& slice = SliceOf(match);
  const int64_t count = match.root()->shape().dimensions(i);
  *start = 0;
  *limit = size;
  if (count == match['t']->shape().dimensions(i)) return true;
  if (window->base_dilation != 1 || count == 0) return false;
  const int64_t first = slice.start[i] * window->stride - window->padding_low;
  window->stride *= slice.stride[i];
  const int64_t end = first + (count - 1) * window->stride + (window->size - 1) * window->window_dilation + 1;
  *start = std::max<int64_t>(first, 0);
  *limit = std::min(end, size);
  window->padding_low = *start - first;
  window->padding_high = end - *limit;
  return *start < *limit;
}

Instruction* SliceOfWindows(const Match& match, Builder& builder) {
  const Instruction& windows = *match['t'];
  hlo::WindowAttributes attributes = windows.Get<hlo::WindowAttributes>();
  SliceAttributes slice = WholeOf(match['x']->shape());
  for (int64_t i = 0; i < match['x']->shape().rank(); ++i) {
    const int64_t size = match['x']->shape().dimensions(i);
    // Windows over all of it grow along the dimension: with a stride they would be no scan.
    const bool is_running = attributes.window[i].size >= size && match.root()->shape().dimensions(i) > 1;
    if ((is_running && SliceOf(match).stride[i] != 1) ||
        !SliceWindow(match, i, size, &attributes.window[i], &slice.start[i], &slice.limit[i])) {
      return nullptr;
    }
  }
  return builder.Add(Opcode::kReduceWindow, match.root()->shape(), {builder.Slice(match['x'], slice), match['i']},
                     std::move(attributes), windows.called_computations());
}

Instruction* SliceOfConvolution(const Match& match, Builder& builder) {
  const Instruction& convolution = *match['t'];
  hlo::ConvolutionAttributes a = convolution.Get<hlo::ConvolutionAttributes>();
  if (!CutsMostOfResult(match) || a.feature_group_count != 1 || a.batch_group_count != 1) return nullptr;
  SliceAttributes input = WholeOf(match['x']->shape()), kernel = WholeOf(match['w']->shape());
  CopyDimension(SliceOf(match), a.output_batch, &input, a.input_batch);
  CopyDimension(SliceOf(match), a.output_feature, &kernel, a.kernel_output_feature);
  for (size_t i = 0; i < a.window.size(); ++i) {
    const int64_t spatial = a.input_spatial[i];
    if (!SliceWindow(match, a.output_spatial[i], match['x']->shape().dimensions(spatial), &a.window[i],
                     &input.start[spatial], &input.limit[spatial])) {
      return nullptr;
    }
  }
  Instruction* x = builder.Slice(match['x'], input);
  return builder.Add(Opcode::kConvolution, match.root()->shape(), {x, builder.Slice(match['w'], kernel)}, std::move(a));
}

// Of fewer places.
Instruction* SliceOfGather(const Match& match, Builder& builder) {
  const Instruction& gather = *match['t'];
  const auto& a = gather.Get<hlo::GatherAttributes>();
  SliceAttributes slice = WholeOf(match['i']->shape());
  int64_t batch = 0;  // dimension of the indices
  for (int64_t i = 0; i < gather.shape().rank(); ++i) {
    if (Contains(a.offset_dims, i)) {
      if (match.root()->shape().dimensions(i) != gather.shape().dimensions(i)) return nullptr;
      continue;
    }
    if (batch == a.index_vector_dim) ++batch;
    CopyDimension(SliceOf(match), i, &slice, batch++);
  }
  if (!a.operand_batching_dims.empty()) return nullptr;
  return builder.Add(Opcode::kGather, match.root()->shape(), {match['x'], builder.Slice(match['i'], slice)}, a);
}

// Rows, columns and batches that nobody wants are not computed, where that is half of the product and more.
Instruction* SliceOfDot(const Match& match, Builder& builder) {
  const SliceAttributes& slice = SliceOf(match);
  const auto& dot = match['t']->Get<hlo::DotAttributes>();
  if (!CutsMostOfResult(match)) return nullptr;
  const DimensionVector* batch[] = {&dot.lhs_batch, &dot.rhs_batch};
  const DimensionVector* contracting[] = {&dot.lhs_contracting, &dot.rhs_contracting};
  Instruction* operands[] = {match['x'], match['y']};
  int64_t next = static_cast<int64_t>(dot.lhs_batch.size());  // dimension of the product
  for (int side : {0, 1}) {
    SliceAttributes own = WholeOf(operands[side]->shape());
    for (size_t i = 0; i < batch[side]->size(); ++i) {
      CopyDimension(slice, static_cast<int64_t>(i), &own, (*batch[side])[i]);
    }
    for (int64_t i = 0; i < operands[side]->shape().rank(); ++i) {
      if (!Contains(*batch[side], i) && !Contains(*contracting[side], i)) CopyDimension(slice, next++, &own, i);
    }
    operands[side] = builder.Slice(operands[side], own);
  }
  return builder.Add(Opcode::kDot, match.root()->shape(), {operands[0], operands[1]}, match['t']->attributes());
}

constexpr Rule kSliceOfResultsRules[] = {
    {"slice(t:elementwise'(...))", "elementwise(slice(p), slice(q), ...), where most is cut off", SliceOfElementwise},
    {"slice(t:sort'(x))", "sort(slice(x)), of whole rows", SliceOfSort},
    {"slice(t:sort'(x))", "reduce.maximum(x, lowest) or its like, of one end of rows", EndOfSort},
    {"slice(t:reduce'(x, i))", "reduce(slice(x), i)", SliceOfReduce, AnyOrder},
    {"slice(t:reduce-window'(x, i))", "reduce-window(slice(x), i)", SliceOfWindows, AnyOrder},
    {"slice(t:convolution'(x, w))", "convolution(slice(x), slice(w)), where most is cut off", SliceOfConvolution,
     AnyOrder},
    {"slice(t:dot'(x, y))", "dot(slice(x), slice(y)), where most is cut off", SliceOfDot, AnyOrder},
    {"slice(t:gather'(x, i))", "gather(x, slice(i)), of whole slices", SliceOfGather},
};

}  // namespace

absl::Span<const Rule> SliceOfResultRules() { return kSliceOfResultsRules; }

}  // namespace kiln::passes::simplify
