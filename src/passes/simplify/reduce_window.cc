// Reduce-window with one operand and a combiner that is one op: what is no window after all.
#include <algorithm>
#include <utility>

#include "src/analysis/combiner.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::Window;
using hlo::WindowDimension;

const Window& WindowOf(const Instruction& root) { return root.Get<hlo::WindowAttributes>().window; }

bool HasIdentity(const Instruction& root) {
  const std::optional<Opcode> combiner = analysis::CombinerOpcode(*root.called_computation());
  const std::optional<Literal> init = SplatValue(*root.operand(1));
  return combiner && init && analysis::IsIdentityOf(*combiner, *init);
}

bool IsTrivial(const WindowDimension& d) {
  return d.size == 1 && d.stride == 1 && d.padding_low == 0 && d.padding_high == 0 && d.base_dilation == 1;
}

// Each window has one element: what strides leave of the padded operand.
Instruction* WindowsOfOne(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  if (!HasIdentity(root) || root.shape().element_count() == 0) return nullptr;
  hlo::PadAttributes pad;
  hlo::SliceAttributes slice;
  DimensionVector padded;
  for (size_t i = 0; i < WindowOf(root).size(); ++i) {
    const WindowDimension& d = WindowOf(root)[i];
    const int64_t size = match['x']->shape().dimensions(i);
    if (d.size != 1 || size == 0) return nullptr;
    pad.low.push_back(d.padding_low);
    pad.high.push_back(d.padding_high);
    pad.interior.push_back(d.base_dilation - 1);
    padded.push_back(d.padding_low + size + (size - 1) * (d.base_dilation - 1) + d.padding_high);
    slice.start.push_back(0);
    slice.limit.push_back((root.shape().dimensions(i) - 1) * d.stride + 1);
    slice.stride.push_back(d.stride);
  }
  Instruction* all =
      builder.Add(Opcode::kPad, Shape(root.shape().element_type(), padded), {match['x'], match['i']}, pad);
  return builder.Slice(all, slice);
}

// The only window along a dimension is the whole of it.
Instruction* WholeWindow(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  if (!analysis::CombinerOpcode(*root.called_computation())) return nullptr;
  DimensionVector dimensions;
  for (size_t i = 0; i < WindowOf(root).size(); ++i) {
    const WindowDimension& d = WindowOf(root)[i];
    if (IsTrivial(d)) continue;
    if (d.size != match['x']->shape().dimensions(i) || d.padding_low != 0 || d.padding_high != 0 ||
        d.base_dilation != 1 || d.window_dilation != 1) {
      return nullptr;
    }
    dimensions.push_back(static_cast<int64_t>(i));
  }
  if (dimensions.empty()) return nullptr;
  Instruction* reduced = builder.Reduce(match['x'], match['i'], dimensions, root.called_computation());
  return builder.Reshape(reduced, root.shape().dimensions());
}

// Padding with what windows are padded with anyway. Lanes run along the last dimension, where gaps cost more than the
// memory that they take.
Instruction* WindowOfPad(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  hlo::PadAttributes pad = match['t']->Get<hlo::PadAttributes>();
  hlo::WindowAttributes attributes = root.Get<hlo::WindowAttributes>();
  if (!HasIdentity(root)) return nullptr;
  for (size_t i = 0; i < pad.low.size(); ++i) {
    WindowDimension& d = attributes.window[i];
    if (pad.low[i] < 0 || pad.high[i] < 0 || d.base_dilation != 1) return nullptr;
    if (i + 1 == pad.low.size() && pad.interior[i] != 0) continue;
    d.base_dilation += std::exchange(pad.interior[i], 0);
    d.padding_low += std::exchange(pad.low[i], 0);
    d.padding_high += std::exchange(pad.high[i], 0);
  }
  if (pad == match['t']->Get<hlo::PadAttributes>()) return nullptr;
  Instruction* input = match['x'];
  if (pad.interior.back() != 0) {
    DimensionVector dimensions = input->shape().dimensions();
    dimensions.back() = match['t']->shape().dimensions().back();
    input = builder.Add(Opcode::kPad, Shape(root.shape().element_type(), dimensions), {input, root.operand(1)}, pad);
  }
  return builder.Add(Opcode::kReduceWindow, root.shape(), {input, root.operand(1)}, attributes,
                     root.called_computations());
}

// Windows as wide as the gaps between elements are apart: each window has one element, and each element as many.
Instruction* WindowsOfSpread(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const hlo::PadAttributes& pad = match['t']->Get<hlo::PadAttributes>();
  if (!HasIdentity(root)) return nullptr;
  DimensionVector spread, map;
  for (size_t i = 0; i < WindowOf(root).size(); ++i) {
    const WindowDimension& d = WindowOf(root)[i];
    const int64_t gap = d.size - 1;
    if (d.stride != 1 || d.padding_low != 0 || d.padding_high != 0 || d.base_dilation != 1 || d.window_dilation != 1 ||
        pad.low[i] != gap || pad.high[i] != gap || pad.interior[i] != gap) {
      return nullptr;
    }
    map.push_back(static_cast<int64_t>(spread.size()));
    spread.push_back(match['x']->shape().dimensions(i));
    if (gap > 0) spread.push_back(d.size);
  }
  return builder.Reshape(builder.Broadcast(match['x'], spread, map), root.shape().dimensions());
}

// Windows without those ends that lie in the padding everywhere.
Instruction* ShrunkWindows(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  hlo::WindowAttributes attributes = root.Get<hlo::WindowAttributes>();
  if (!HasIdentity(root) || root.shape().element_count() == 0 || IsEmpty(*match['x'])) return nullptr;
  bool any = false;
  for (size_t i = 0; i < attributes.window.size(); ++i) {
    WindowDimension& d = attributes.window[i];
    const int64_t extent = (match['x']->shape().dimensions(i) - 1) * d.base_dilation + 1;
    const int64_t last = (root.shape().dimensions(i) - 1) * d.stride;  // start of a window in the padded operand
    const int64_t before = std::max<int64_t>(d.padding_low - last, 0);
    const int64_t first = (before + d.window_dilation - 1) / d.window_dilation;
    const int64_t end = std::min(d.size, (extent - 1 + std::max<int64_t>(d.padding_low, 0)) / d.window_dilation + 1);
    if (d.padding_low < 0 || first >= end) return nullptr;
    if (first == 0 && end == d.size) continue;
    any = true;
    d.size = end - first;
    d.padding_low -= first * d.window_dilation;
    d.padding_high = last + (d.size - 1) * d.window_dilation + 1 - d.padding_low - extent;
  }
  if (!any) return nullptr;
  return builder.Add(Opcode::kReduceWindow, root.shape(), {match['x'], match['i']}, std::move(attributes),
                     root.called_computations());
}

// Along dimensions that `x` is spread along and no window runs along, all results are equal.
Instruction* WindowsOfEqual(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &broadcast = *match['t'];
  hlo::WindowAttributes attributes;
  DimensionVector from, to, remaining, spread(broadcast.dimensions().size());
  for (size_t i = 0; i < WindowOf(root).size(); ++i) {
    const auto& mapped = broadcast.dimensions();
    const size_t of_x = std::find(mapped.begin(), mapped.end(), static_cast<int64_t>(i)) - mapped.begin();
    if (of_x < mapped.size()) spread[of_x] = static_cast<int64_t>(from.size());
    if (of_x == mapped.size() && IsTrivial(WindowOf(root)[i])) continue;
    from.push_back(broadcast.shape().dimensions(i));
    to.push_back(root.shape().dimensions(i));
    remaining.push_back(static_cast<int64_t>(i));
    attributes.window.push_back(WindowOf(root)[i]);
  }
  if (from.empty() || from.size() == WindowOf(root).size()) return nullptr;
  Instruction* windows = builder.Add(Opcode::kReduceWindow, Shape(root.shape().element_type(), to),
                                     {builder.Broadcast(match['x'], from, spread), root.operand(1)}, attributes,
                                     root.called_computations());
  return builder.Broadcast(windows, root.shape().dimensions(), remaining);
}

// The largest of equal numbers is any of them.
Instruction* WindowsOfCopies(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const std::optional<Opcode> combiner = analysis::CombinerOpcode(*root.called_computation());
  const bool is_inside = absl::c_all_of(WindowOf(root), [](const WindowDimension& d) {
    return d.padding_low == 0 && d.padding_high == 0 && d.base_dilation == 1;
  });
  const bool is_idempotent = combiner == Opcode::kMaximum || combiner == Opcode::kMinimum || combiner == Opcode::kAnd ||
                             combiner == Opcode::kOr;
  if (!is_inside || !is_idempotent || !HasIdentity(root)) return nullptr;
  return builder.BroadcastScalar(match['x'], root.shape().dimensions());
}

bool StartsAtIdentity(const Match& match) { return HasIdentity(*match.root()); }
constexpr Guard IdentityI{"i the combiner's identity", StartsAtIdentity};

constexpr Rule kRules[] = {
    {"reduce-window(x, i)", "broadcast(i)", EmptyX, IdentityI},
    {"reduce-window(broadcast(x), i)", "broadcast(x), where combining equal values gives that value", WindowsOfCopies,
     ScalarX},
    {"reduce-window(x, i)", "reduce-window(x, i), without what is padding in all windows", ShrunkWindows},
    {"reduce-window(x, i)", "slice(pad(x, i)), of windows with one element", WindowsOfOne, SignlessZero},
    {"reduce-window(x, i)", "reshape(reduce(x, i)), where a window is the whole", WholeWindow},
    {"reduce-window(t:pad(x, c), c)", "reshape(broadcast(x)), of windows that each have one element", WindowsOfSpread},
    {"reduce-window(t:pad(x, c), c)", "reduce-window(x, c), with padding", WindowOfPad},
    {"reduce-window(t:broadcast(x), i)", "broadcast(reduce-window(broadcast(x), i)), of fewer dimensions",
     WindowsOfEqual},
};

}  // namespace

absl::Span<const Rule> ReduceWindowRules() { return kRules; }

}  // namespace kiln::passes::simplify
