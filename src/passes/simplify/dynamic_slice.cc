// Dynamic-slice and dynamic-update-slice. Start indices are clamped: equal indices and sizes mean the same place.
#include <algorithm>

#include "src/passes/simplify/indices.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {

std::optional<DimensionVector> ConstantStarts(const Instruction& root, int64_t first, const Shape& operand,
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
    if (start < 0 && index.shape().element_type() == PrimitiveType::kU64) start = most;
    starts.push_back(std::clamp<int64_t>(start, 0, most));
  }
  return starts;
}

bool FitsIndex(int64_t value, PrimitiveType type) {
  const int bits = hlo::BitWidth(type) - (hlo::IsSignedIntegral(type) ? 1 : 0);
  return bits >= 63 || value < int64_t{1} << bits;
}

Instruction* Unclamped(Instruction* start, int64_t most) {
  const PrimitiveType type = start->shape().element_type();
  if (!hlo::IsIntegral(type) || !FitsIndex(most, type)) return start;
  const auto low = [&](int64_t operand) { return RangeOf(*start->operand(operand)).high <= 0; };
  const auto high = [&](int64_t operand) { return RangeOf(*start->operand(operand)).low >= most; };
  switch (start->opcode()) {
    case Opcode::kClamp:
      return low(0) && high(2) ? start->operand(1) : start;
    case Opcode::kMaximum:
      return low(1) ? start->operand(0) : low(0) ? start->operand(1) : start;
    case Opcode::kMinimum:
      return high(1) ? start->operand(0) : high(0) ? start->operand(1) : start;
    default:
      return start;
  }
}

std::optional<int64_t> FirstOfCount(const Instruction& x) {
  const Instruction* iota = &x;
  int64_t first = 0;
  for (const int64_t side : {0, 1}) {
    if (x.opcode() != Opcode::kAdd || x.operand(side)->opcode() != Opcode::kIota) continue;
    const std::optional<Literal> start = SplatValue(*x.operand(1 - side));
    if (!start || hlo::IsComplex(x.shape().element_type())) return std::nullopt;
    iota = x.operand(side);
    first = hlo::ElementAsInt64(*start, 0);
  }
  const int64_t count = x.shape().element_count();
  const bool fits = iota->opcode() == Opcode::kIota && hlo::IsIntegral(iota->shape().element_type()) &&
                    iota->shape().dimensions(iota->dimensions()[0]) == count && first >= 0 &&
                    first < int64_t{1} << 62 && FitsIndex(first + count, iota->shape().element_type());
  return fits ? std::optional(first) : std::nullopt;
}

Instruction* AddDynamicSlice(Instruction* operand, const std::vector<Instruction*>& starts,
                             const DimensionVector& sizes, Builder& builder) {
  std::vector<Instruction*> operands = {operand};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return builder.Add(Opcode::kDynamicSlice, Shape(operand->shape().element_type(), sizes), std::move(operands),
                     hlo::DynamicSliceAttributes{sizes});
}

Instruction* AddDynamicUpdateSlice(Instruction* operand, Instruction* update, const std::vector<Instruction*>& starts,
                                   Builder& builder) {
  std::vector<Instruction*> operands = {operand, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return builder.Add(Opcode::kDynamicUpdateSlice, operand->shape(), std::move(operands));
}

namespace {

const DimensionVector& SizesOf(const Instruction& slice) { return slice.Get<hlo::DynamicSliceAttributes>().sizes; }

// The index operands of a slice and of an update are the same instructions or constants.
bool SameStarts(const Instruction& a, int64_t first_a, const Instruction& b, int64_t first_b) {
  if (a.operand_count() - first_a != b.operand_count() - first_b) return false;
  for (int64_t i = 0; i < a.operand_count() - first_a; ++i) {
    const Instruction* x = a.operand(first_a + i);
    const Instruction* y = b.operand(first_b + i);
    if (x != y && !(x->IsConstant() && y->IsConstant() && x->literal() == y->literal())) return false;
  }
  return true;
}

Instruction* StaticSlice(const Match& match, Builder& builder) {
  const auto& sizes = SizesOf(*match.root());
  std::optional<DimensionVector> starts = ConstantStarts(*match.root(), 1, match['x']->shape(), sizes);
  if (!starts) return nullptr;
  hlo::SliceAttributes slice;
  for (size_t i = 0; i < starts->size(); ++i) {
    slice.start.push_back((*starts)[i]);
    slice.limit.push_back((*starts)[i] + sizes[i]);
    slice.stride.push_back(1);
  }
  return builder.Slice(match['x'], slice);
}

// Where a slice begins along a dimension: at `start`, clamped to 0 ... `most`; where that is null, at `offset`.
struct Begin {
  Instruction* start = nullptr;
  int64_t offset = 0, most = 0;
};

// Of a slice or dynamic-slice; empty where steps are skipped or indices stand in other forms.
std::vector<Begin> BeginsOf(const Instruction& slice) {
  const Shape &from = slice.operand(0)->shape(), &shape = slice.shape();
  std::vector<Begin> begins(from.rank());
  const auto* fixed = slice.GetIf<hlo::SliceAttributes>();
  if (fixed == nullptr && slice.operand_count() - 1 != from.rank()) return {};
  for (int64_t d = 0; d < from.rank(); ++d) {
    Begin& begin = begins[d];
    begin.most = from.dimensions(d) - shape.dimensions(d);
    if (fixed != nullptr && fixed->stride[d] != 1) return {};
    if (fixed != nullptr) begin.offset = fixed->start[d];
    if (fixed == nullptr && begin.most > 0) begin.start = slice.operand(1 + d);
  }
  return begins;
}

// A slice of a slice, any of both with starts that are not known: the starts are added, each clamped before.
Instruction* DynamicSliceOfSlice(const Match& match, Builder& builder) {
  const Instruction &outer = *match.root(), &inner = *match['t'];
  const std::vector<Begin> outside = BeginsOf(inner), inside = BeginsOf(outer);
  const int64_t rank = outer.shape().rank();
  if (outside.empty() || inside.empty()) return nullptr;
  // All of one type, of which every start can be.
  const Shape index = (outer.opcode() == Opcode::kDynamicSlice ? outer : inner).operand(1)->shape();
  for (int64_t d = 0; d < rank; ++d) {
    for (const Instruction* start : {outside[d].start, inside[d].start}) {
      const Shape& shape = start != nullptr ? start->shape() : index;
      if (!shape.IsScalar() || !FitsIndex(match['x']->shape().dimensions(d), shape.element_type())) return nullptr;
    }
  }
  const auto number = [&](const Shape& like, int64_t value) { return builder.Constant(hlo::LiteralOf(like, value)); };
  std::vector<Instruction*> starts;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t most = match['x']->shape().dimensions(d) - outer.shape().dimensions(d);
    const int64_t offset = outside[d].offset + inside[d].offset;
    Instruction* sum = nullptr;
    for (const Begin& begin : {outside[d], inside[d]}) {
      Instruction* start = begin.start;
      if (start == nullptr) continue;
      const Shape shape = start->shape();
      if (begin.most != most || shape.element_type() != index.element_type()) {
        start = builder.Add(Opcode::kClamp, shape, {number(shape, 0), start, number(shape, begin.most)});
      }
      start = builder.Convert(start, index.element_type());
      sum = sum == nullptr ? start : builder.Binary(Opcode::kAdd, sum, start);
    }
    if (sum == nullptr) {
      sum = number(index, offset);
    } else if (offset > 0) {
      sum = builder.Binary(Opcode::kAdd, sum, number(index, offset));
    }
    starts.push_back(sum);
  }
  return AddDynamicSlice(match['x'], starts, outer.shape().dimensions(), builder);
}

Instruction* DynamicSliceOfBroadcast(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& map = match['t']->dimensions();
  Instruction* x = match['x'];
  if (!map.empty()) {
    if (root.operand_count() - 1 != root.shape().rank()) return nullptr;
    std::vector<Instruction*> starts;
    DimensionVector sizes;
    for (int64_t dimension : map) {
      starts.push_back(root.operand(1 + dimension));
      sizes.push_back(SizesOf(root)[dimension]);
    }
    x = AddDynamicSlice(x, starts, sizes, builder);
  }
  return builder.Broadcast(x, root.shape().dimensions(), map);
}

Instruction* DynamicSliceOfTranspose(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& permutation = match['t']->dimensions();
  if (root.operand_count() - 1 != root.shape().rank()) return nullptr;
  std::vector<Instruction*> starts(permutation.size());
  DimensionVector sizes(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    starts[permutation[i]] = root.operand(1 + static_cast<int64_t>(i));
    sizes[permutation[i]] = SizesOf(root)[i];
  }
  return builder.Transpose(AddDynamicSlice(match['x'], starts, sizes, builder), permutation);
}

// Starts are clamped by the op.
Instruction* UnclampedStarts(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const int64_t first = root.opcode() == Opcode::kDynamicSlice ? 1 : 2;
  const Shape& part = first == 1 ? root.shape() : root.operand(1)->shape();
  std::vector<Instruction*> operands(root.operands().begin(), root.operands().end());
  if (root.operand_count() - first != part.rank()) return nullptr;
  for (int64_t i = 0; i < part.rank(); ++i) {
    const int64_t most = root.operand(0)->shape().dimensions(i) - part.dimensions(i);
    operands[first + i] = Unclamped(operands[first + i], most);
  }
  if (absl::c_equal(operands, root.operands())) return nullptr;
  return builder.Add(root.opcode(), root.shape(), std::move(operands), root.attributes());
}

// Through a reshape that only adds or drops dimensions of size 1.
Instruction* DynamicSliceOfUnitReshape(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const DimensionVector& from = match['x']->shape().dimensions();
  const DimensionVector& to = match['t']->shape().dimensions();
  if (root.operand_count() - 1 != root.shape().rank() || from.empty()) return nullptr;
  std::vector<Instruction*> starts;
  DimensionVector sizes;
  size_t j = 0;
  for (int64_t size : from) {
    while (size != 1 && j < to.size() && to[j] == 1) ++j;
    if (size != 1 && (j == to.size() || to[j] != size)) return nullptr;
    sizes.push_back(size == 1 ? 1 : SizesOf(root)[j]);
    starts.push_back(size == 1 ? builder.Constant(Literal(root.operand(1)->shape())) : root.operand(1 + j));
    if (size != 1) ++j;
  }
  while (j < to.size() && to[j] == 1) ++j;
  if (j != to.size() || absl::c_linear_search(SizesOf(root), 0)) return nullptr;
  return builder.Reshape(AddDynamicSlice(match['x'], starts, sizes, builder), root.shape().dimensions());
}

// A count from elsewhere.
Instruction* DynamicSliceOfIota(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &iota = *match['t'];
  const Shape& shape = root.shape();
  const int64_t along = iota.dimensions()[0], size = iota.shape().dimensions(along);
  if (root.operand_count() - 1 != shape.rank()) return nullptr;
  Instruction* count =
      builder.Add(Opcode::kIota, Shape(shape.element_type(), shape.dimensions()), {}, iota.attributes());
  const int64_t most = size - shape.dimensions(along);
  if (most == 0) return count;
  Instruction* index = root.operands()[1 + along];
  if (!hlo::IsIntegral(shape.element_type()) || !FitsIndex(size, index->shape().element_type())) return nullptr;
  const auto number = [&](int64_t value) { return builder.Constant(hlo::LiteralOf(index->shape(), value)); };
  Instruction* first = builder.Add(Opcode::kClamp, index->shape(), {number(0), index, number(most)});
  first = builder.BroadcastScalar(builder.Convert(first, shape.element_type()), shape.dimensions());
  return shape.dimensions(along) == 1 ? first : builder.Binary(Opcode::kAdd, count, first);
}

// What is reversed begins as far from the other end.
Instruction* DynamicSliceOfReverse(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const Shape &from = match['x']->shape(), &to = root.shape();
  if (root.operand_count() - 1 != to.rank()) return nullptr;
  std::vector<Instruction*> starts(root.operands().begin() + 1, root.operands().end());
  for (const int64_t dimension : match['t']->dimensions()) {
    Instruction*& start = starts[dimension];
    const int64_t most = from.dimensions(dimension) - to.dimensions(dimension);
    if (!start->shape().IsScalar() || !FitsIndex(from.dimensions(dimension), start->shape().element_type())) {
      return nullptr;
    }
    const auto number = [&](int64_t value) { return builder.Constant(hlo::LiteralOf(start->shape(), value)); };
    start = builder.Add(Opcode::kClamp, start->shape(), {number(0), start, number(most)});
    start = builder.Binary(Opcode::kSubtract, number(most), start);
  }
  return builder.Add(Opcode::kReverse, to, {AddDynamicSlice(match['x'], starts, to.dimensions(), builder)},
                     match['t']->attributes());
}

// An update of all that another one wrote.
Instruction* UpdateOfCovered(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &inner = *match['t'];
  const DimensionVector &outer_sizes = match['z']->shape().dimensions(),
                        &inner_sizes = match['y']->shape().dimensions();
  const std::optional<DimensionVector> begin = ConstantStarts(root, 2, root.shape(), outer_sizes),
                                       covered = ConstantStarts(inner, 2, root.shape(), inner_sizes);
  if (!begin || !covered) return nullptr;
  for (size_t i = 0; i < begin->size(); ++i) {
    if ((*covered)[i] < (*begin)[i] || (*covered)[i] + inner_sizes[i] > (*begin)[i] + outer_sizes[i]) return nullptr;
  }
  return AddDynamicUpdateSlice(match['x'], match['z'], {root.operands().begin() + 2, root.operands().end()}, builder);
}

// The part of an operand whose dimensions, as far as `to` has them, are those of the result of `root`.
Instruction* SlicePart(const Instruction& root, Instruction* operand, const DimensionVector& to, Builder& builder) {
  std::vector<Instruction*> starts;
  DimensionVector sizes;
  for (size_t i = 0; i < to.size(); ++i) {
    starts.push_back(to[i] < 0 ? builder.Constant(Literal(root.operand(1)->shape())) : root.operands()[1 + to[i]]);
    sizes.push_back(to[i] < 0 ? operand->shape().dimensions(i) : SizesOf(root)[to[i]]);
  }
  if (sizes == operand->shape().dimensions()) return operand;
  return AddDynamicSlice(operand, starts, sizes, builder);
}

// In loops, the whole may be computed once before them.
bool CutsMost(const Match& match) {
  const Instruction& root = *match.root();
  return root.parent() == root.parent()->parent()->entry() && root.operand_count() - 1 == root.shape().rank() &&
         2 * root.shape().element_count() <= match['t']->shape().element_count();
}
constexpr Guard MostIsCut{"where most is cut off, and not in a loop", CutsMost};

// Rows, columns and batches that nobody wants are not computed.
Instruction* DynamicSliceOfDot(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &dot = *match['t'];
  const auto& a = dot.Get<hlo::DotAttributes>();
  const DimensionVector* batch[] = {&a.lhs_batch, &a.rhs_batch};
  const DimensionVector* contracting[] = {&a.lhs_contracting, &a.rhs_contracting};
  Instruction* operands[] = {match['x'], match['y']};
  int64_t next = static_cast<int64_t>(a.lhs_batch.size());  // dimension of the product
  for (int side : {0, 1}) {
    DimensionVector to(operands[side]->shape().rank(), -1);
    for (size_t i = 0; i < batch[side]->size(); ++i) to[(*batch[side])[i]] = static_cast<int64_t>(i);
    for (size_t i = 0; i < to.size(); ++i) {
      if (!Contains(*batch[side], i) && !Contains(*contracting[side], i)) to[i] = next++;
    }
    operands[side] = SlicePart(root, operands[side], to, builder);
  }
  return builder.Add(Opcode::kDot, root.shape(), {operands[0], operands[1]}, dot.attributes());
}

Instruction* DynamicSliceOfReduce(const Match& match, Builder& builder) {
  const Instruction& reduce = *match['t'];
  DimensionVector to;
  for (int64_t i = 0, kept = 0; i < match['x']->shape().rank(); ++i) {
    to.push_back(Contains(reduce.dimensions(), i) ? -1 : kept++);
  }
  return builder.Reduce(SlicePart(*match.root(), match['x'], to, builder), match['i'], reduce.dimensions(),
                        reduce.called_computation());
}

bool TakesTheUpdate(const Match& match) {
  const bool same =
      SizesOf(*match.root()) == match['y']->shape().dimensions() && SameStarts(*match.root(), 1, *match['t'], 2);
  return same;
}

bool PutsBack(const Match& match) {
  const Instruction& t = *match['t'];
  const auto* slice = t.GetIf<hlo::SliceAttributes>();
  if (slice == nullptr) return SameStarts(*match.root(), 2, t, 1);
  return slice->start == ConstantStarts(*match.root(), 2, t.operand(0)->shape(), t.shape().dimensions()) &&
         absl::c_all_of(slice->stride, [](int64_t stride) { return stride == 1; });
}
constexpr Guard AtThatPlace{"at the same place", PutsBack};

Instruction* UpdateOfUpdate(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  if (!Shape::SameDimensions(match['y']->shape(), match['z']->shape()) || !SameStarts(root, 2, *match['t'], 2)) {
    return nullptr;
  }
  return AddDynamicUpdateSlice(match['x'], match['z'], {root.operands().begin() + 2, root.operands().end()}, builder);
}

// Into an array of one value: the rest is padding.
Instruction* UpdateOfSplat(const Match& match, Builder& builder) {
  const Shape& update = match['y']->shape();
  const std::optional<DimensionVector> starts =
      ConstantStarts(*match.root(), 2, match.root()->shape(), update.dimensions());
  if (!starts || !match['x']->shape().IsScalar()) return nullptr;
  hlo::PadAttributes pad;
  for (size_t i = 0; i < starts->size(); ++i) {
    pad.low.push_back((*starts)[i]);
    pad.high.push_back(match.root()->shape().dimensions(i) - (*starts)[i] - update.dimensions(i));
    pad.interior.push_back(0);
  }
  return builder.Add(Opcode::kPad, match.root()->shape(), {match['y'], match['x']}, pad);
}

// "x" applies where the shapes are equal: a replacement must have the shape of what it replaces.
// Updates at known places that cover all of an array, each a part of one dimension: nothing of the array is left.
Instruction* UpdatesThatCover(const Match& match, Builder& builder) {
  constexpr size_t kMaxUpdates = 64;
  const Shape& shape = match.root()->shape();
  std::vector<std::pair<int64_t, Instruction*>> updates;  // by their starts
  int64_t along = -1, covered = 0;
  for (const Instruction* root = match.root(); root->opcode() == Opcode::kDynamicUpdateSlice;
       root = root->operand(0)) {
    Instruction* update = root->operands()[1];
    const auto starts = ConstantStarts(*root, 2, shape, update->shape().dimensions());
    if (!starts || updates.size() == kMaxUpdates || (!updates.empty() && root->users().size() > 1)) return nullptr;
    for (int64_t i = 0; i < shape.rank(); ++i) {
      if (update->shape().dimensions(i) == shape.dimensions(i)) continue;
      if (along >= 0 && along != i) return nullptr;
      along = i;
    }
    if (along < 0) return nullptr;
    updates.emplace_back((*starts)[along], update);
    covered += update->shape().dimensions(along);
    if (covered >= shape.dimensions(along)) break;
  }
  if (along < 0 || covered != shape.dimensions(along)) return nullptr;
  absl::c_sort(updates, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Instruction*> pieces;
  int64_t end = 0;
  for (const auto& [start, update] : updates) {
    if (start != end) return nullptr;
    end += update->shape().dimensions(along);
    pieces.push_back(update);
  }
  return builder.Concatenate(pieces, along);
}

constexpr Rule kDynamicSliceRules[] = {
    {"dynamic-slice(x, ...)", "x"},
    {"dynamic-slice(x, ...)", "slice(x), where indices are constants", StaticSlice},
    {"dynamic-slice(x, ...)", "dynamic-slice(x, ...), of starts before they are clamped", UnclampedStarts},
    {"dynamic-slice(t:reshape'(x), ...)", "reshape(dynamic-slice(x, ...)), where sizes of 1 come and go",
     DynamicSliceOfUnitReshape},
    {"dynamic-slice(t:dynamic-slice(x, ...), ...)", "dynamic-slice(x, ...), starts clamped and added",
     DynamicSliceOfSlice},
    {"dynamic-slice(t:slice(x), ...)", "dynamic-slice(x, ...), starts clamped and added", DynamicSliceOfSlice},
    {"slice(t:dynamic-slice'(x, ...))", "dynamic-slice(x, ...), starts clamped and added", DynamicSliceOfSlice},
    {"dynamic-slice(t:broadcast(x), ...)", "broadcast(dynamic-slice(x, ...))", DynamicSliceOfBroadcast},
    {"dynamic-slice(t:transpose'(x), ...)", "transpose(dynamic-slice(x, ...))", DynamicSliceOfTranspose},
    {"dynamic-slice(t:iota(), ...)", "add(iota(), clamp(0, i, size - count))", DynamicSliceOfIota},
    {"dynamic-slice(t:reverse'(x), ...)", "reverse(dynamic-slice(x, ...)), starts counted from the end",
     DynamicSliceOfReverse},
    {"dynamic-slice(t:dot'(x, y), ...)", "dot(dynamic-slice(x), dynamic-slice(y))", DynamicSliceOfDot, MostIsCut,
     AnyOrder},
    {"dynamic-slice(t:reduce'(x, i), ...)", "reduce(dynamic-slice(x), i)", DynamicSliceOfReduce, MostIsCut, AnyOrder},
    {"dynamic-slice(t:dynamic-update-slice(_, y, ...), ...)", "y", Guard{"at the same place", TakesTheUpdate}},
    {"dynamic-update-slice(x, y, ...)", "y"},
    {"dynamic-update-slice(x, y, ...)", "x", EmptyY},
    {"dynamic-update-slice(x, y, ...)", "dynamic-update-slice(x, y, ...), of starts before they are clamped",
     UnclampedStarts},
    {"dynamic-update-slice(x, t:dynamic-slice(x, ...), ...)", "x", AtThatPlace},
    {"dynamic-update-slice(x, t:slice(x), ...)", "x", AtThatPlace},
    {"dynamic-update-slice(t:dynamic-update-slice(x, y, ...), z, ...)",
     "dynamic-update-slice(x, z, ...), at the same place", UpdateOfUpdate},
    {"dynamic-update-slice(t:dynamic-update-slice(x, y, ...), z, ...)",
     "dynamic-update-slice(x, z, ...), where that covers y", UpdateOfCovered},
    {"dynamic-update-slice(t:dynamic-update-slice'(x, y, ...), z, ...)", "concatenate(y, z), where these cover x",
     UpdatesThatCover},
    {"dynamic-update-slice(broadcast(x), y, ...)", "pad(y, x), where indices are constants", UpdateOfSplat},
};

}  // namespace

absl::Span<const Rule> DynamicSliceRules() { return kDynamicSliceRules; }

}  // namespace kiln::passes::simplify
