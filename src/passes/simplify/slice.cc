// Slice, pad, dynamic-slice and dynamic-update-slice.
#include <algorithm>

#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::DimensionVector;
using hlo::Instruction;
using hlo::Opcode;

const hlo::SliceAttributes& SliceOf(const Instruction& slice) { return slice.Get<hlo::SliceAttributes>(); }

Instruction* IdentitySlice(const Match& match, hlo::Builder&) {
  return hlo::Shape::SameDimensions(match['x']->shape(), match.root()->shape()) ? match['x'] : nullptr;
}

Instruction* SliceOfSlice(const Match& match, hlo::Builder& builder) {
  const hlo::SliceAttributes& outer = SliceOf(*match.root());
  const hlo::SliceAttributes& inner = SliceOf(*match.root()->operand(0));
  hlo::SliceAttributes both = outer;
  for (size_t i = 0; i < both.start.size(); ++i) {
    const int64_t size = match.root()->shape().dimensions(i);
    both.start[i] = inner.start[i] + outer.start[i] * inner.stride[i];
    both.stride[i] = inner.stride[i] * outer.stride[i];
    // One past the last element taken.
    both.limit[i] = size == 0 ? both.start[i] : both.start[i] + (size - 1) * both.stride[i] + 1;
  }
  return builder.Slice(match['x'], both);
}

Instruction* SliceOfBroadcast(const Match& match, hlo::Builder& builder) {
  const hlo::SliceAttributes& slice = SliceOf(*match.root());
  hlo::SliceAttributes inner;
  const auto& map = match.root()->operand(0)->dimensions();
  for (int64_t dimension : map) {
    inner.start.push_back(slice.start[dimension]);
    inner.limit.push_back(slice.limit[dimension]);
    inner.stride.push_back(slice.stride[dimension]);
  }
  return builder.Broadcast(builder.Slice(match['x'], inner), match.root()->shape().dimensions(), map);
}

// A slice that lies in one operand of a concatenation.
Instruction* SliceOfConcatenate(const Match& match, hlo::Builder& builder) {
  const Instruction& concatenate = *match.root()->operand(0);
  const int64_t dimension = concatenate.dimensions()[0];
  const hlo::SliceAttributes& slice = SliceOf(*match.root());
  const int64_t size = match.root()->shape().dimensions(dimension);
  if (size == 0) return nullptr;
  const int64_t last = slice.start[dimension] + (size - 1) * slice.stride[dimension];
  int64_t offset = 0;
  for (Instruction* piece : concatenate.operands()) {
    const int64_t end = offset + piece->shape().dimensions(dimension);
    if (slice.start[dimension] >= offset && last < end) {
      hlo::SliceAttributes inner = slice;
      inner.start[dimension] -= offset;
      inner.limit[dimension] = last + 1 - offset;
      return builder.Slice(piece, inner);
    }
    offset = end;
  }
  return nullptr;
}

bool AllZero(const DimensionVector& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
}

Instruction* IdentityPad(const Match& match, hlo::Builder&) {
  const auto& pad = match.root()->Get<hlo::PadAttributes>();
  return AllZero(pad.low) && AllZero(pad.high) && AllZero(pad.interior) ? match['x'] : nullptr;
}

// Padding that nowhere adds is a slice.
Instruction* CroppingPad(const Match& match, hlo::Builder& builder) {
  const auto& pad = match.root()->Get<hlo::PadAttributes>();
  auto adds = [](int64_t v) { return v > 0; };
  if (std::any_of(pad.low.begin(), pad.low.end(), adds) || std::any_of(pad.high.begin(), pad.high.end(), adds) ||
      !AllZero(pad.interior)) {
    return nullptr;
  }
  hlo::SliceAttributes slice;
  for (size_t i = 0; i < pad.low.size(); ++i) {
    slice.start.push_back(-pad.low[i]);
    slice.limit.push_back(match['x']->shape().dimensions(i) + pad.high[i]);
    slice.stride.push_back(1);
    if (slice.limit[i] < slice.start[i]) return nullptr;
  }
  return builder.Slice(match['x'], slice);
}

// pad(broadcast(c), c) of one value throughout.
Instruction* PadOfSame(const Match& match, hlo::Builder& builder) {
  const std::optional<hlo::Literal> inside = SplatValue(*match['c']), outside = SplatValue(*match['d']);
  if (!inside || !outside || !(*inside == *outside)) return nullptr;
  return builder.Splat(match.root()->shape(), *inside);
}

// Start indices clamped as the op does, when all are constants.
std::optional<DimensionVector> ConstantStarts(const Instruction& root, int64_t first, const hlo::Shape& operand,
                                              absl::Span<const int64_t> sizes) {
  DimensionVector starts;
  if (root.operand_count() - first != operand.rank()) return std::nullopt;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const int64_t most = operand.dimensions(i) - sizes[i];
    if (most == 0) {
      starts.push_back(0);
      continue;
    }
    const Instruction& index = *root.operand(first + i);
    if (!index.IsConstant() || !index.shape().IsScalar()) return std::nullopt;
    int64_t start = hlo::ElementAsInt64(index.literal(), 0);
    // A u64 past the range of s64 is past every size.
    if (start < 0 && index.shape().element_type() == hlo::PrimitiveType::kU64) start = most;
    starts.push_back(std::clamp<int64_t>(start, 0, most));
  }
  return starts;
}

Instruction* StaticDynamicSlice(const Match& match, hlo::Builder& builder) {
  Instruction* operand = match.root()->operand(0);
  const auto& sizes = match.root()->Get<hlo::DynamicSliceAttributes>().sizes;
  std::optional<DimensionVector> starts = ConstantStarts(*match.root(), 1, operand->shape(), sizes);
  if (!starts) return nullptr;
  hlo::SliceAttributes slice;
  for (size_t i = 0; i < starts->size(); ++i) {
    slice.start.push_back((*starts)[i]);
    slice.limit.push_back((*starts)[i] + sizes[i]);
    slice.stride.push_back(1);
  }
  return builder.Slice(operand, slice);
}

// An element of a splat is the splat's value wherever it is taken.
Instruction* DynamicSliceOfSplat(const Match& match, hlo::Builder& builder) {
  Instruction* operand = match.root()->operand(0);
  if (operand->opcode() != Opcode::kBroadcast || !operand->operand(0)->shape().IsScalar()) return nullptr;
  return builder.BroadcastScalar(operand->operand(0), match.root()->shape().dimensions());
}

Instruction* WholeOrEmptyUpdate(const Match& match, hlo::Builder&) {
  Instruction* operand = match.root()->operand(0);
  Instruction* update = match.root()->operand(1);
  if (update->shape().element_count() == 0) return operand;
  return hlo::Shape::SameDimensions(operand->shape(), update->shape()) ? update : nullptr;
}

constexpr Rule kRules[] = {
    {"slice(x)", IdentitySlice},
    {"slice(slice(x))", SliceOfSlice},
    {"slice(broadcast(x))", SliceOfBroadcast},
    {"slice(concatenate(...))", SliceOfConcatenate},
    {"pad(x, y)", IdentityPad},
    {"pad(x, y)", CroppingPad},
    {"pad(c, d)", PadOfSame},
    {"dynamic-slice(...)", StaticDynamicSlice},
    {"dynamic-slice(...)", DynamicSliceOfSplat},
    {"dynamic-update-slice(...)", WholeOrEmptyUpdate},
};

}  // namespace

absl::Span<const Rule> SliceRules() { return kRules; }

}  // namespace kiln::passes::simplify
