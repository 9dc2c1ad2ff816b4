// Slice: the work that it makes superfluous is not done.
#include <algorithm>

#include "src/passes/simplify/indices.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

const hlo::SliceAttributes& SliceOf(const Instruction& slice) { return slice.Get<hlo::SliceAttributes>(); }

Instruction* SliceOfSlice(const Match& match, Builder& builder) {
  const hlo::SliceAttributes& outer = SliceOf(*match.root());
  const hlo::SliceAttributes& inner = SliceOf(*match.root()->operand(0));
  hlo::SliceAttributes both = outer;
  for (size_t i = 0; i < both.start.size(); ++i) {
    const int64_t size = match.root()->shape().dimensions(i);
    // Nothing may be taken from behind the end of what has a stride.
    both.start[i] = size == 0 ? 0 : inner.start[i] + outer.start[i] * inner.stride[i];
    both.stride[i] = inner.stride[i] * outer.stride[i];
    // One past the last element taken.
    both.limit[i] = size == 0 ? both.start[i] : both.start[i] + (size - 1) * both.stride[i] + 1;
  }
  return builder.Slice(match['x'], both);
}

Instruction* SliceOfBroadcast(const Match& match, Builder& builder) {
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

// Index of the last element taken along a dimension.
int64_t Last(const hlo::SliceAttributes& slice, const Shape& result, int64_t dimension) {
  return slice.start[dimension] + (result.dimensions(dimension) - 1) * slice.stride[dimension];
}

// The operands of a concatenation that the slice reaches.
Instruction* SliceOfConcatenate(const Match& match, Builder& builder) {
  const Instruction& concatenate = *match.root()->operand(0);
  const int64_t dimension = concatenate.dimensions()[0];
  hlo::SliceAttributes slice = SliceOf(*match.root());
  if (match.root()->shape().element_count() == 0) return nullptr;
  const int64_t last = Last(slice, match.root()->shape(), dimension);
  const absl::Span<const int64_t> ends = match.facts().PieceEnds(concatenate);
  const auto piece_with = [&](int64_t element) { return absl::c_upper_bound(ends, element) - ends.begin(); };
  const int64_t first_piece = piece_with(slice.start[dimension]), pieces = piece_with(last) + 1 - first_piece;
  if (pieces == concatenate.operand_count() || (pieces > 1 && concatenate.users().size() > 1)) return nullptr;
  const auto first = concatenate.operands().begin() + first_piece;
  const std::vector<Instruction*> reached(first, first + pieces);
  const int64_t begin = first_piece == 0 ? 0 : ends[first_piece - 1];
  slice.start[dimension] -= begin;
  slice.limit[dimension] = last + 1 - begin;
  return builder.Slice(builder.Concatenate(reached, dimension), slice);
}

// A slice of what is padded, with the padding that it reaches. Steps skip what is between the elements, or nothing.
Instruction* SliceOfPad(const Match& match, Builder& builder) {
  const hlo::PadAttributes& pad = match['t']->Get<hlo::PadAttributes>();
  hlo::SliceAttributes slice = SliceOf(*match.root());
  const Shape& result = match.root()->shape();
  if (result.element_count() == 0) return nullptr;
  hlo::PadAttributes rest = {pad.low, pad.high, DimensionVector(pad.low.size(), 0)};
  for (size_t i = 0; i < pad.low.size(); ++i) {
    const int64_t size = match['x']->shape().dimensions(i), last = Last(slice, result, i), step = pad.interior[i] + 1;
    if (last < pad.low[i] || slice.start[i] >= pad.low[i] + std::max<int64_t>(size - 1, 0) * step + (size > 0)) {
      return builder.BroadcastScalar(match['y'], result.dimensions());
    }
    const bool is_inside = step == 1 && slice.start[i] >= pad.low[i] && last < pad.low[i] + size;
    if (!is_inside && (slice.stride[i] != step || (slice.start[i] - pad.low[i]) % step != 0)) return nullptr;
    // Elements of x, those before its first and behind its last included.
    const int64_t start = (slice.start[i] - pad.low[i]) / step, limit = (last - pad.low[i]) / step + 1;
    rest.low[i] = std::max<int64_t>(-start, 0);
    rest.high[i] = std::max<int64_t>(limit - size, 0);
    slice.start[i] = std::max<int64_t>(start, 0);
    slice.limit[i] = std::min(limit, size);
    slice.stride[i] = is_inside ? slice.stride[i] : 1;
  }
  return builder.Add(Opcode::kPad, result, {builder.Slice(match['x'], slice), match['y']}, rest);
}

Instruction* SliceOfTranspose(const Match& match, Builder& builder) {
  const hlo::SliceAttributes& slice = SliceOf(*match.root());
  const auto& permutation = match['t']->dimensions();
  hlo::SliceAttributes inner = slice;
  for (size_t i = 0; i < permutation.size(); ++i) {
    inner.start[permutation[i]] = slice.start[i];
    inner.limit[permutation[i]] = slice.limit[i];
    inner.stride[permutation[i]] = slice.stride[i];
  }
  return builder.Transpose(builder.Slice(match['x'], inner), permutation);
}

Instruction* SliceOfReverse(const Match& match, Builder& builder) {
  hlo::SliceAttributes slice = SliceOf(*match.root());
  if (match.root()->shape().element_count() == 0) return nullptr;
  for (int64_t dimension : match['t']->dimensions()) {
    const int64_t size = match['x']->shape().dimensions(dimension), start = slice.start[dimension];
    slice.start[dimension] = size - 1 - Last(slice, match.root()->shape(), dimension);
    slice.limit[dimension] = size - start;
  }
  return builder.Add(Opcode::kReverse, match.root()->shape(), {builder.Slice(match['x'], slice)},
                     match['t']->attributes());
}

// Counting from elsewhere, in larger steps.
Instruction* SliceOfIota(const Match& match, Builder& builder) {
  const Shape& shape = match.root()->shape();
  const Instruction& iota = *match['t'];
  const int64_t dimension = iota.dimensions()[0];
  const int64_t start = SliceOf(*match.root()).start[dimension], stride = SliceOf(*match.root()).stride[dimension];
  if ((start != 0 || stride != 1) && !hlo::IsIntegral(shape.element_type())) return nullptr;
  Instruction* count =
      builder.Add(Opcode::kIota, Shape(shape.element_type(), shape.dimensions()), {}, iota.attributes());
  auto constant = [&](int64_t value) {
    return builder.Splat(shape, hlo::LiteralOf(Shape::Scalar(shape.element_type()), value));
  };
  if (stride != 1) count = builder.Binary(Opcode::kMultiply, count, constant(stride));
  return start == 0 ? count : builder.Binary(Opcode::kAdd, count, constant(start));
}

// Through a reshape that only adds or drops dimensions of size 1.
Instruction* SliceOfUnitReshape(const Match& match, Builder& builder) {
  const hlo::SliceAttributes& slice = SliceOf(*match.root());
  const auto& from = match['x']->shape().dimensions();
  const auto& to = match.root()->operand(0)->shape().dimensions();
  if (match.root()->shape().element_count() == 0) return nullptr;
  hlo::SliceAttributes inner;
  size_t j = 0;
  for (int64_t size : from) {
    while (size != 1 && j < to.size() && to[j] == 1) ++j;
    const bool is_unit = size == 1;
    if (!is_unit && (j == to.size() || to[j] != size)) return nullptr;
    inner.start.push_back(is_unit ? 0 : slice.start[j]);
    inner.limit.push_back(is_unit ? 1 : slice.limit[j]);
    inner.stride.push_back(is_unit ? 1 : slice.stride[j]);
    if (!is_unit) ++j;
  }
  while (j < to.size() && to[j] == 1) ++j;
  if (j != to.size()) return nullptr;
  return builder.Reshape(builder.Slice(match['x'], inner), match.root()->shape().dimensions());
}

// Whether `update`, which is large and made for the array `updated` alone, may be computed in that array's place: it has
// no memory of its own unless something else reads it.
bool IsMadeInPlace(const Instruction& update, const Instruction& updated) {
  constexpr int64_t kMinElements = 64;
  const bool stays = absl::c_any_of(updated.users(), [](const auto* user) { return user->opcode() != Opcode::kSlice; });
  return stays && update.users().size() == 1 && update.operand_count() > 0 &&
         update.shape().element_count() >= kMinElements;
}

// Within the update, or beside it.
Instruction* SliceOfUpdate(const Match& match, Builder& builder) {
  hlo::SliceAttributes slice = SliceOf(*match.root());
  Instruction* update = match['y'];
  const std::optional<DimensionVector> starts =
      ConstantStarts(*match['t'], 2, match['x']->shape(), update->shape().dimensions());
  if (!starts || match.root()->shape().element_count() == 0) return nullptr;
  bool is_inside = true, is_beside = false;
  for (size_t i = 0; i < starts->size(); ++i) {
    const int64_t begin = (*starts)[i], end = begin + update->shape().dimensions(i);
    const int64_t last = Last(slice, match.root()->shape(), i);
    is_beside |= last < begin || slice.start[i] >= end;
    is_inside &= slice.start[i] >= begin && last < end;
  }
  if (is_beside) return builder.Slice(match['x'], slice);
  if (!is_inside || IsMadeInPlace(*update, *match['t'])) return nullptr;
  for (size_t i = 0; i < starts->size(); ++i) {
    slice.limit[i] = Last(slice, match.root()->shape(), i) + 1 - (*starts)[i];
    slice.start[i] -= (*starts)[i];
  }
  return builder.Slice(update, slice);
}

// "x" applies where the shapes are equal: a replacement must have the shape of what it replaces.
constexpr Rule kSliceRules[] = {
    {"slice(x)", "x"},
    {"slice(slice(x))", "slice(x)", SliceOfSlice},
    {"slice(broadcast(x))", "broadcast(slice(x))", SliceOfBroadcast},
    {"slice(concatenate(...))", "slice(concatenate(...)) of the operands that it reaches", SliceOfConcatenate},
    {"slice(t:pad(x, y))", "pad(slice(x), y), with the padding that it reaches", SliceOfPad},
    {"slice(t:transpose'(x))", "transpose(slice(x))", SliceOfTranspose},
    {"slice(t:reverse'(x))", "reverse(slice(x))", SliceOfReverse},
    {"slice(t:iota())", "add(multiply(iota(), stride), start)", SliceOfIota},
    {"slice(reshape'(x))", "reshape(slice(x)), where sizes of 1 come and go", SliceOfUnitReshape},
    {"slice(t:dynamic-update-slice(x, y, ...))", "slice(y) within, unless y is made in place, slice(x) beside",
     SliceOfUpdate},
};

}  // namespace

absl::Span<const Rule> SliceRules() { return kSliceRules; }

}  // namespace kiln::passes::simplify
