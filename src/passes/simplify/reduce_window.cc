// Reduce-window with one operand and a combiner that is one op: what is no window after all.
#include <algorithm>
#include <utility>
#include <vector>

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

// Of windows over an operand with gaps along its last dimension, those that begin equally far behind an element.
struct Phase {
  int64_t start = 0;                     // of the first one's first element, in elements of the operand
  std::vector<DimensionVector> offsets;  // of what a window has of the operand, from there
};

// The phases of `window`, as many as elements and gaps are apart; none where they are not alike all along, too many, or
// of too much to be written out, elements of few bits above all.
std::vector<Phase> PhasesOf(const Window& window, const Shape& result) {
  constexpr int64_t kMaxPhases = 4;
  if (window.empty()) return {};
  const size_t most = hlo::ByteWidth(result.element_type()) < 4 ? 12 : 32;
  const WindowDimension& last = window.back();
  if (last.base_dilation == 1 || last.base_dilation > kMaxPhases ||
      result.dimensions().back() % last.base_dilation != 0)
    return {};
  std::vector<Phase> phases(last.base_dilation);
  size_t elements = 0;
  for (int64_t phase = 0; phase < last.base_dilation; ++phase) {
    phases[phase].start = phase - last.padding_low;
    std::vector<DimensionVector>& offsets = phases[phase].offsets;
    offsets.push_back({});
    for (size_t d = 0; d < window.size(); ++d) {
      if (window[d].stride != 1 || window[d].size > static_cast<int64_t>(most)) return {};
      std::vector<DimensionVector> longer;
      for (const DimensionVector& offset : offsets) {
        for (int64_t k = 0; k < window[d].size; ++k) {
          const int64_t place = k * window[d].window_dilation;
          if (d + 1 == window.size() && (phases[phase].start + place) % last.base_dilation != 0) continue;
          longer.push_back(offset);
          longer.back().push_back(place);
        }
      }
      offsets = std::move(longer);
      if (offsets.size() > most) return {};
    }
    elements += offsets.size();
  }
  return elements <= most ? phases : std::vector<Phase>();
}

// Lanes run along the last dimension, where gaps cost: the windows of each phase are combined without them, and what
// phases give alternates.
Instruction* WindowsByPhase(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const Window& window = WindowOf(root);
  const std::optional<Opcode> combiner = analysis::CombinerOpcode(*root.called_computation());
  if (!HasIdentity(root) || IsEmpty(root) || IsEmpty(*match['x'])) return nullptr;
  const std::vector<Phase> phases = PhasesOf(window, root.shape());
  if (phases.empty()) return nullptr;
  // Sums of numbers of few bits are rounded once.
  const PrimitiveType type = root.shape().element_type();
  const bool widens = *combiner == Opcode::kAdd && (type == PrimitiveType::kBF16 || type == PrimitiveType::kF16);
  const PrimitiveType made = widens ? PrimitiveType::kF32 : type;
  Instruction *x = builder.Convert(match['x'], made), *init = builder.Convert(match['i'], made);
  const int64_t last = static_cast<int64_t>(window.size()) - 1, gap = window.back().base_dilation;
  DimensionVector of_phase = root.shape().dimensions(), column;
  of_phase.back() /= gap;
  column = of_phase;
  column.push_back(1);
  std::vector<Instruction*> columns;
  for (const Phase& phase : phases) {
    Instruction* combined = nullptr;
    for (const DimensionVector& offset : phase.offsets) {
      hlo::PadAttributes pad;
      for (int64_t d = 0; d <= last; ++d) {
        const int64_t low = d == last ? -((phase.start + offset[d]) / gap) : window[d].padding_low - offset[d];
        pad.interior.push_back(d == last ? 0 : window[d].base_dilation - 1);
        pad.low.push_back(low);
        pad.high.push_back(of_phase[d] - low - ((x->shape().dimensions(d) - 1) * (pad.interior[d] + 1) + 1));
      }
      Instruction* element = builder.Add(Opcode::kPad, Shape(made, of_phase), {x, init}, pad);
      combined = combined == nullptr ? element : builder.Binary(*combiner, combined, element);
    }
    if (combined == nullptr) combined = builder.BroadcastScalar(init, of_phase);
    columns.push_back(builder.Reshape(builder.Convert(combined, type), column));
  }
  return builder.Reshape(builder.Concatenate(columns, last + 1), root.shape().dimensions());
}

// Padding with what windows are padded with anyway. Gaps along the last dimension, where lanes run, cost more than the
// memory that they take, unless windows go by phases.
Instruction* WindowOfPad(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const hlo::PadAttributes& pad = match['t']->Get<hlo::PadAttributes>();
  if (!HasIdentity(root)) return nullptr;
  for (const bool takes_gaps : {true, false}) {
    hlo::PadAttributes left = pad;
    hlo::WindowAttributes attributes = root.Get<hlo::WindowAttributes>();
    for (size_t i = 0; i < pad.low.size(); ++i) {
      WindowDimension& d = attributes.window[i];
      if (pad.low[i] < 0 || pad.high[i] < 0 || d.base_dilation != 1) return nullptr;
      if (!takes_gaps && i + 1 == pad.low.size()) continue;
      d.base_dilation += std::exchange(left.interior[i], 0);
      d.padding_low += std::exchange(left.low[i], 0);
      d.padding_high += std::exchange(left.high[i], 0);
    }
    if (takes_gaps && pad.interior.back() != 0 && PhasesOf(attributes.window, root.shape()).empty()) {
      continue;
    }
    if (left == pad) return nullptr;
    Instruction* input = match['x'];
    if (left.interior.back() != 0) {
      DimensionVector dimensions = input->shape().dimensions();
      dimensions.back() = match['t']->shape().dimensions().back();
      input = builder.Add(Opcode::kPad, Shape(root.shape().element_type(), dimensions), {input, root.operand(1)}, left);
    }
    return builder.Add(Opcode::kReduceWindow, root.shape(), {input, root.operand(1)}, attributes,
                       root.called_computations());
  }
  return nullptr;
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

constexpr Rule kReduceWindowRules[] = {
    {"reduce-window(x, i)", "broadcast(i)", EmptyX, IdentityI},
    {"reduce-window(broadcast(x), i)", "broadcast(x), where combining equal values gives that value", WindowsOfCopies,
     ScalarX},
    {"reduce-window(x, i)", "reduce-window(x, i), without what is padding in all windows", ShrunkWindows},
    {"reduce-window(x, i)", "slice(pad(x, i)), of windows with one element", WindowsOfOne, SignlessZero},
    {"reduce-window(x, i)", "reshape(reduce(x, i)), where a window is the whole", WholeWindow},
    {"reduce-window(t:pad(x, c), c)", "reshape(broadcast(x)), of windows that each have one element", WindowsOfSpread},
    {"reduce-window(t:pad(x, c), c)", "reduce-window(x, c), with padding", WindowOfPad},
    {"reduce-window(x, i)", "reshape(concatenate(...)), of windows that begin equally far behind an element of x",
     WindowsByPhase, SignlessZero},
    {"reduce-window(t:broadcast(x), i)", "broadcast(reduce-window(broadcast(x), i)), of fewer dimensions",
     WindowsOfEqual},
};

}  // namespace

absl::Span<const Rule> ReduceWindowRules() { return kReduceWindowRules; }

}  // namespace kiln::passes::simplify
