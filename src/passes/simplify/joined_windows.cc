// Windows over windows, and reduces over them, by one combiner: one window over what all of them reach.
#include "src/analysis/combiner.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::WindowDimension;

const hlo::Window& WindowOfJoined(const Instruction& instruction) {
  return instruction.Get<hlo::WindowAttributes>().window;
}

// Of one operand, starting at the identity of its one op.
std::optional<Opcode> CombinerFromIdentity(const Instruction& instruction) {
  if (instruction.operand_count() != 2 || !instruction.shape().IsArray()) return std::nullopt;
  const std::optional<Opcode> combiner = analysis::CombinerOpcode(*instruction.called_computation());
  const std::optional<Literal> init = SplatValue(*instruction.operand(1));
  return combiner && init && analysis::IsIdentityOf(*combiner, *init) ? combiner : std::nullopt;
}

// Combining an element twice is combining it once.
bool IsIdempotent(Opcode combiner) {
  return combiner == Opcode::kMaximum || combiner == Opcode::kMinimum || combiner == Opcode::kAnd ||
         combiner == Opcode::kOr;
}

bool IsPadded(const WindowDimension& d) { return d.padding_low != 0 || d.padding_high != 0; }

// The window of windows `outer` over the results of windows `inner`; nothing where that is none, or where elements
// would be combined several times that must not be.
std::optional<WindowDimension> Joined(const WindowDimension& inner, const WindowDimension& outer, bool is_idempotent) {
  if (inner.base_dilation != 1 || outer.base_dilation != 1 || inner.padding_low < 0 || inner.padding_high < 0) {
    return std::nullopt;
  }
  WindowDimension joined = inner;
  const int64_t step = inner.stride * outer.window_dilation;  // from one inner window of an outer one to the next
  if (outer.size == 1) {
    joined.size = inner.size;
  } else if (inner.size == 1) {
    joined.size = outer.size;
    joined.window_dilation = step;
  } else if (inner.window_dilation == 1 && (is_idempotent ? step <= inner.size : step == inner.size)) {
    joined.size = (outer.size - 1) * step + inner.size;
  } else {
    return std::nullopt;
  }
  joined.stride = inner.stride * outer.stride;
  if (!IsPadded(outer)) return joined;
  // An inner window in the outer padding has nothing that its neighbour within has not.
  if (!is_idempotent || step != 1 || outer.padding_low < 0 || outer.padding_high < 0 ||
      outer.padding_low >= outer.size || outer.padding_high >= outer.size || outer.size == 1 || inner.size == 1) {
    return std::nullopt;
  }
  joined.padding_low += outer.padding_low;
  joined.padding_high += outer.padding_high;
  return joined;
}

int64_t Elements(const hlo::Window& window) {
  int64_t elements = 1;
  for (const WindowDimension& d : window) elements *= d.size;
  return elements;
}

Instruction* WindowOfWindow(const Match& match, Builder& builder) {
  const Instruction &outer = *match.root(), &inner = *match['t'];
  const std::optional<Opcode> combiner = CombinerFromIdentity(outer);
  if (!combiner || CombinerFromIdentity(inner) != combiner) return nullptr;
  hlo::WindowAttributes attributes;
  for (size_t i = 0; i < WindowOfJoined(outer).size(); ++i) {
    const std::optional<WindowDimension> joined =
        Joined(WindowOfJoined(inner)[i], WindowOfJoined(outer)[i], IsIdempotent(*combiner));
    if (!joined) return nullptr;
    attributes.window.push_back(*joined);
  }
  // Sums over rows of sums over columns share work.
  const int64_t results = outer.shape().element_count();
  if (Elements(attributes.window) * results >
      Elements(WindowOfJoined(inner)) * inner.shape().element_count() + Elements(WindowOfJoined(outer)) * results) {
    return nullptr;
  }
  return builder.Add(Opcode::kReduceWindow, outer.shape(), {match['x'], outer.operands()[1]}, std::move(attributes),
                     outer.called_computations());
}

// Whether windows along a dimension of `size` elements have each of them, and each once where that matters.
bool IsCovered(const WindowDimension& d, int64_t size, int64_t windows, bool is_idempotent) {
  if (d.base_dilation != 1 || d.padding_low < 0 || d.padding_high < 0) return false;
  const int64_t end = (windows - 1) * d.stride + (d.size - 1) * d.window_dilation + 1 - d.padding_low;
  if (d.size == 1) return d.stride == 1 && end >= size;
  return d.window_dilation == 1 && (is_idempotent ? d.stride <= d.size : d.stride == d.size) && end >= size;
}

Instruction* ReduceOfWindow(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &windows = *match['t'];
  const std::optional<Opcode> combiner = CombinerFromIdentity(windows);
  if (!combiner || root.operand_count() != 2 || analysis::CombinerOpcode(*root.called_computation()) != combiner) {
    return nullptr;
  }
  for (int64_t i = 0; i < windows.shape().rank(); ++i) {
    const WindowDimension& d = WindowOfJoined(windows)[i];
    const int64_t size = match['x']->shape().dimensions(i);
    const bool is_reduced = Contains(root.dimensions(), i);
    if (!is_reduced && (d.size != 1 || d.stride != 1 || d.base_dilation != 1 || IsPadded(d))) return nullptr;
    if (is_reduced && !IsCovered(d, size, windows.shape().dimensions(i), IsIdempotent(*combiner))) return nullptr;
  }
  return builder.Reduce(match['x'], match['i'], root.dimensions(), root.called_computation());
}

constexpr Rule kJoinedWindowsRules[] = {
    {"reduce-window(t:reduce-window'(x, _), _)", "reduce-window(x), by one combiner, where windows join",
     WindowOfWindow, AnyOrder},
    {"reduce(t:reduce-window'(x, _), i)", "reduce(x, i), of windows that cover x", ReduceOfWindow, AnyOrder},
};

}  // namespace

absl::Span<const Rule> JoinedWindowRules() { return kJoinedWindowsRules; }

}  // namespace kiln::passes::simplify
