// Gather and scatter of few places, or of all of them. Gather clamps its indices; scatter leaves out what does not fit.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "src/analysis/combiner.h"
#include "src/hlo/evaluator.h"
#include "src/passes/simplify/indices.h"
#include "src/passes/simplify/known_places.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

using hlo::GatherAttributes;
using hlo::ScatterAttributes;

// Start indices, one scalar per operand dimension, of the only index vector in `indices`. Known ones are constants.
std::vector<Instruction*> ScalarStarts(Instruction* indices, const DimensionVector& index_map, int64_t rank,
                                       Builder& builder) {
  const int64_t count = static_cast<int64_t>(index_map.size());
  const Shape scalar = Shape::Scalar(indices->shape().element_type());
  const std::optional<Literal> same = SplatValue(*indices);
  Instruction* flat = same || indices->IsConstant() ? nullptr : builder.Reshape(indices, {count});
  std::vector<Instruction*> starts(rank, nullptr);
  for (int64_t i = 0; i < count; ++i) {
    Instruction*& start = starts[index_map[i]];
    if (flat != nullptr) {
      start = builder.Reshape(builder.Slice(flat, {{i}, {i + 1}, {1}}), {});
    } else {
      start = builder.Constant(same ? *same : hlo::LiteralOf(scalar, hlo::ElementAsInt64(indices->literal(), i)));
    }
  }
  for (Instruction*& start : starts) {
    if (start == nullptr) start = builder.Constant(Literal(scalar));
  }
  return starts;
}

// Whether there is one index vector, maybe an empty one.
bool IsOnePlace(const Shape& indices, int64_t vector_dimension) {
  for (int64_t i = 0; i < indices.rank(); ++i) {
    if (i != vector_dimension && indices.dimensions(i) != 1) return false;
  }
  return true;
}

Instruction* GatherOfOne(const Match& match, Builder& builder) {
  const auto& gather = match.root()->Get<GatherAttributes>();
  if (!gather.operand_batching_dims.empty() || match.root()->shape().element_count() == 0 ||
      !IsOnePlace(match['i']->shape(), gather.index_vector_dim)) {
    return nullptr;
  }
  const std::vector<Instruction*> starts =
      ScalarStarts(match['i'], gather.start_index_map, match['x']->shape().rank(), builder);
  return builder.Reshape(AddDynamicSlice(match['x'], starts, gather.slice_sizes, builder),
                         match.root()->shape().dimensions());
}

// Slices as large as the operand can only begin at its start.
Instruction* GatherOfWhole(const Match& match, Builder& builder) {
  const auto& gather = match.root()->Get<GatherAttributes>();
  if (!gather.operand_batching_dims.empty() || gather.slice_sizes != match['x']->shape().dimensions()) return nullptr;
  DimensionVector kept;
  for (size_t i = 0; i < gather.slice_sizes.size(); ++i) {
    if (!Contains(gather.collapsed_slice_dims, i)) kept.push_back(gather.slice_sizes[i]);
  }
  return builder.Broadcast(builder.Reshape(match['x'], kept), match.root()->shape().dimensions(), gather.offset_dims);
}

// Places are clamped by the op.
Instruction* UnclampedPlaces(const Match& match, Builder& builder) {
  const auto& gather = match.root()->Get<GatherAttributes>();
  int64_t most = 0;
  for (int64_t i : gather.start_index_map) {
    most = std::max(most, match['x']->shape().dimensions(i) - gather.slice_sizes[i]);
  }
  Instruction* places = Unclamped(match['i'], most);
  if (places == match['i']) return nullptr;
  return builder.Add(Opcode::kGather, match.root()->shape(), {match['x'], places}, gather);
}

// Copies are the same at all places, if only along them places differ.
Instruction* GatherOfCopies(const Match& match, Builder& builder) {
  const auto& gather = match.root()->Get<GatherAttributes>();
  const DimensionVector& sizes = match['t']->shape().dimensions();
  if (!gather.operand_batching_dims.empty()) return nullptr;
  DimensionVector map;
  for (int64_t i : match['t']->dimensions()) {
    if (Contains(gather.collapsed_slice_dims, i) || gather.slice_sizes[i] != sizes[i]) return nullptr;
    const int64_t before =
        absl::c_count_if(gather.collapsed_slice_dims, [&](int64_t collapsed) { return collapsed < i; });
    map.push_back(gather.offset_dims[i - before]);
  }
  return builder.Broadcast(match['x'], match.root()->shape().dimensions(), map);
}

// Copies of one place.
Instruction* GatherOfOnePlace(const Match& match, Builder& builder) {
  const auto& gather = match.root()->Get<GatherAttributes>();
  const Instruction& places = *match['t'];
  if (!gather.operand_batching_dims.empty() || gather.start_index_map.size() != 1 || !match['i']->shape().IsScalar() ||
      match.root()->shape().element_count() == 0) {
    return nullptr;
  }
  std::vector<Instruction*> starts(match['x']->shape().rank(), nullptr);
  for (Instruction*& start : starts) start = builder.Constant(Literal(Shape::Scalar(places.shape().element_type())));
  starts[gather.start_index_map[0]] = match['i'];
  DimensionVector kept;
  for (size_t i = 0; i < gather.slice_sizes.size(); ++i) {
    if (!Contains(gather.collapsed_slice_dims, i)) kept.push_back(gather.slice_sizes[i]);
  }
  Instruction* slice = AddDynamicSlice(match['x'], starts, gather.slice_sizes, builder);
  return builder.Broadcast(builder.Reshape(slice, kept), match.root()->shape().dimensions(), gather.offset_dims);
}

// Slices of the array as it lies: they must have the dimensions that remain in the same order, and be as long along the
// last one, where neighbours are.
Instruction* GatherOfTranspose(const Match& match, Builder& builder) {
  GatherAttributes gather = match.root()->Get<GatherAttributes>();
  const DimensionVector& from = match['t']->dimensions();
  if (!gather.operand_batching_dims.empty() || from.empty()) return nullptr;
  const DimensionVector sizes = gather.slice_sizes;
  int64_t last = -1;
  for (size_t i = 0; i < from.size(); ++i) {
    gather.slice_sizes[from[i]] = sizes[i];
    if (Contains(gather.collapsed_slice_dims, i)) continue;
    if (from[i] < last) return nullptr;
    last = from[i];
  }
  if (gather.slice_sizes.back() < sizes.back()) return nullptr;
  for (int64_t& i : gather.collapsed_slice_dims) i = from[i];
  for (int64_t& i : gather.start_index_map) i = from[i];
  absl::c_sort(gather.collapsed_slice_dims);
  return builder.Add(Opcode::kGather, match.root()->shape(), {match['x'], match['i']}, std::move(gather));
}

// The number counted to at a place is the place.
Instruction* GatherOfIota(const Match& match, Builder& builder) {
  const Shape& shape = match.root()->shape();
  const Shape& counted = match['t']->shape();
  const PrimitiveType type = match['i']->shape().element_type();
  if (counted.rank() != 1 || match.root()->Get<GatherAttributes>().collapsed_slice_dims.empty() ||
      shape.element_count() != match['i']->shape().element_count() || !hlo::IsIntegral(shape.element_type()) ||
      !FitsIndex(counted.dimensions(0) - 1, type) || counted.dimensions(0) == 0) {
    return nullptr;
  }
  Instruction* index = builder.Reshape(match['i'], shape.dimensions());
  auto constant = [&](int64_t value) {
    return builder.Splat(index->shape(), hlo::LiteralOf(Shape::Scalar(type), value));
  };
  Instruction* clamped =
      builder.Add(Opcode::kClamp, index->shape(), {constant(0), index, constant(counted.dimensions(0) - 1)});
  return builder.Convert(clamped, shape.element_type());
}

// The dimension of which whole slices are taken, each to where its index lies along the same dimension; or -1.
int64_t DimensionOfRows(const Instruction& root, const Shape& operand) {
  const auto& gather = root.Get<GatherAttributes>();
  if (gather.start_index_map.size() != 1 || gather.collapsed_slice_dims != gather.start_index_map ||
      !gather.operand_batching_dims.empty()) {
    return -1;
  }
  const int64_t along = gather.start_index_map[0];
  for (int64_t i = 0; i < operand.rank(); ++i) {
    if (gather.slice_sizes[i] != (i == along ? 1 : operand.dimensions(i))) return -1;
  }
  // The only batch dimension takes the place of the one that is collapsed.
  const bool in_place = root.shape().rank() == operand.rank() &&
                        static_cast<int64_t>(gather.offset_dims.size()) == operand.rank() - 1 &&
                        !Contains(gather.offset_dims, along);
  return in_place ? along : -1;
}

// Rows of rows: the places of places are few.
Instruction* GatherOfGather(const Match& match, Builder& builder) {
  const Instruction &outer = *match.root(), &inner = *match['t'];
  const int64_t along = DimensionOfRows(outer, inner.shape());
  if (along < 0 || DimensionOfRows(inner, match['x']->shape()) != along || match['i']->shape().rank() != 1 ||
      match['j']->shape().rank() > 2 || inner.attributes() != outer.attributes()) {
    return nullptr;
  }
  const int64_t count = outer.shape().dimensions(along);
  if (count >= inner.shape().dimensions(along) && outer.shape().element_count() == count) return nullptr;
  GatherAttributes places;
  places.collapsed_slice_dims = places.start_index_map = {0};
  places.index_vector_dim = outer.Get<GatherAttributes>().index_vector_dim;
  places.slice_sizes = {1};
  Instruction* i = builder.Add(Opcode::kGather, Shape(match['i']->shape().element_type(), {count}),
                               {match['i'], match['j']}, std::move(places));
  return builder.Add(Opcode::kGather, outer.shape(), {match['x'], i}, inner.attributes());
}

// The slices of x of one element along a dimension that lie at the places.
Instruction* TakePiece(Instruction* x, int64_t along, const Piece& piece, Builder& builder) {
  const Shape& operand = x->shape();
  const int64_t count = (piece.end - piece.begin) / piece.repeats, last = piece.place + (count - 1) * piece.step;
  hlo::SliceAttributes slice;
  slice.start = DimensionVector(operand.rank(), 0);
  slice.limit = operand.dimensions();
  slice.stride = DimensionVector(operand.rank(), 1);
  slice.start[along] = std::min(piece.place, last);
  slice.limit[along] = std::max(piece.place, last) + 1;
  slice.stride[along] = std::max<int64_t>(std::abs(piece.step), 1);
  Instruction* taken = builder.Slice(x, slice);
  if (piece.step < 0) {
    taken = builder.Add(Opcode::kReverse, taken->shape(), {taken}, hlo::DimensionsAttributes{{along}});
  }
  const int64_t copies = piece.step == 0 ? count : piece.repeats;
  if (copies == 1) return taken;
  // Copies of each element are a dimension behind its own.
  DimensionVector result = taken->shape().dimensions(), repeated = result, map;
  result[along] *= copies;
  repeated.insert(repeated.begin() + along + 1, copies);
  for (int64_t i = 0; i < operand.rank(); ++i) map.push_back(i <= along ? i : i + 1);
  return builder.Reshape(builder.Broadcast(taken, repeated, map), result);
}

Instruction* TakePieces(Instruction* x, int64_t along, absl::Span<const Piece> pieces, Builder& builder) {
  std::vector<Instruction*> taken;
  for (const Piece& piece : pieces) taken.push_back(TakePiece(x, along, piece, builder));
  if (taken.size() == 1) return taken[0];
  Shape shape = x->shape();
  DimensionVector dimensions = shape.dimensions();
  dimensions[along] = pieces.back().end;
  return builder.Add(Opcode::kConcatenate, Shape(shape.element_type(), dimensions), taken,
                     hlo::DimensionsAttributes{{along}});
}

Instruction* GatherOfPieces(const Match& match, Builder& builder) {
  const Shape& operand = match['x']->shape();
  const int64_t along = DimensionOfRows(*match.root(), operand);
  const std::vector<Piece> pieces = along < 0 ? std::vector<Piece>() : PiecesOf(*match['i'], operand.dimensions(along));
  return pieces.empty() ? nullptr : TakePieces(match['x'], along, pieces, builder);
}

// Elements at the places of a grid: what lies along each of its axes is taken after the other.
Instruction* GatherOfGrid(const Match& match, Builder& builder) {
  const auto& gather = match.root()->Get<GatherAttributes>();
  const Shape &operand = match['x']->shape(), &shape = match.root()->shape();
  const int64_t axes = static_cast<int64_t>(gather.start_index_map.size());
  const int64_t batch_rank = shape.rank() - static_cast<int64_t>(gather.offset_dims.size());
  if (match['i']->opcode() != Opcode::kConcatenate || match['i']->dimensions()[0] != gather.index_vector_dim ||
      gather.index_vector_dim != batch_rank || match['i']->operand_count() != axes || batch_rank != axes ||
      !gather.operand_batching_dims.empty() || gather.collapsed_slice_dims.size() != gather.start_index_map.size()) {
    return nullptr;
  }
  Instruction* taken = match['x'];
  DimensionVector from(batch_rank, -1);  // dimensions of the operand, by those of the batch
  std::vector<std::pair<int64_t, std::vector<Piece>>> along;
  for (int64_t i = 0; i < axes; ++i) {
    const int64_t dimension = gather.start_index_map[i];
    const auto [axis, pieces] =
        PiecesAlong(*match['i']->operand(i), gather.index_vector_dim, operand.dimensions(dimension));
    if (pieces.empty() || from[axis] >= 0) return nullptr;
    from[axis] = dimension;
    along.emplace_back(dimension, pieces);
  }
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const bool is_axis = Contains(gather.collapsed_slice_dims, i);
    if (is_axis != Contains(gather.start_index_map, i) ||
        gather.slice_sizes[i] != (is_axis ? 1 : operand.dimensions(i))) {
      return nullptr;
    }
  }
  for (const auto& [dimension, pieces] : along) taken = TakePieces(taken, dimension, pieces, builder);
  DimensionVector permutation;
  int64_t batch = 0, window = -1;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (!Contains(gather.offset_dims, i)) {
      permutation.push_back(from[batch++]);
      continue;
    }
    do ++window;
    while (Contains(gather.collapsed_slice_dims, window));
    permutation.push_back(window);
  }
  return builder.Transpose(taken, permutation);
}

// The combination of what is there and the update: by one op, or the update alone.
std::optional<Opcode> ScatterCombiner(const Instruction& scatter, bool* overwrites) {
  const Computation& combiner = *scatter.called_computation();
  *overwrites = combiner.parameter_count() == 2 && combiner.root() == combiner.parameter(1);
  return analysis::CombinerOpcode(combiner);
}

// The dimension of which a scatter updates whole slices, each by what lies along the same dimension; or -1.
int64_t DimensionOfUpdates(const Instruction& root, const Shape& shape, const Shape& update) {
  const auto& scatter = root.Get<ScatterAttributes>();
  if (scatter.scatter_dims_to_operand_dims.size() != 1 || !scatter.input_batching_dims.empty() ||
      scatter.inserted_window_dims != scatter.scatter_dims_to_operand_dims || update.rank() != shape.rank()) {
    return -1;
  }
  const int64_t along = scatter.inserted_window_dims[0];
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (i != along && update.dimensions(i) != shape.dimensions(i)) return -1;
  }
  return Contains(scatter.update_window_dims, along) ? -1 : along;
}

// An update of places side by side along one dimension, in order or in the opposite one; or of a few such pieces.
Instruction* ScatterOfPieces(const Match& match, Builder& builder) {
  const Shape &shape = match['x']->shape(), &updates = match['u']->shape();
  bool overwrites = false;
  const std::optional<Opcode> combiner = ScatterCombiner(*match.root(), &overwrites);
  const int64_t along = DimensionOfUpdates(*match.root(), shape, updates);
  if ((!overwrites && !combiner) || along < 0) return nullptr;
  const std::vector<Piece> pieces = PiecesOf(*match['i'], shape.dimensions(along));
  const auto is_run = [](const Piece& piece) { return std::abs(piece.step) == 1 && piece.repeats == 1; };
  if (pieces.empty() || !absl::c_all_of(pieces, is_run)) return nullptr;
  Instruction* result = match['x'];
  for (const Piece& piece : pieces) {
    const int64_t count = piece.end - piece.begin;
    const int64_t first = piece.step > 0 ? piece.place : piece.place - (count - 1);
    // In the order of the places.
    const int64_t part = piece.step > 0 ? piece.begin : piece.end - 1;
    Instruction* update = TakePiece(match['u'], along, {0, count, part, piece.step}, builder);
    std::vector<Instruction*> starts;
    for (int64_t i = 0; i < shape.rank(); ++i) {
      starts.push_back(builder.Constant(hlo::LiteralOf(Shape::Scalar(PrimitiveType::kS64), i == along ? first : 0)));
    }
    if (combiner) {
      update =
          builder.Binary(*combiner, AddDynamicSlice(result, starts, update->shape().dimensions(), builder), update);
    }
    result = AddDynamicUpdateSlice(result, update, starts, builder);
  }
  return result;
}

// Whether all starts are within 0 and `most`: a scalar predicate, null where that is known, which is `known` then.
Instruction* AreWithin(const std::vector<Instruction*>& starts, const DimensionVector& most, bool* known,
                       Builder& builder) {
  Instruction* all = nullptr;
  *known = true;
  auto check = [&](ComparisonDirection direction, Instruction* start, int64_t bound) {
    Instruction* holds = builder.Compare(direction, start, builder.Constant(hlo::LiteralOf(start->shape(), bound)));
    all = all == nullptr ? holds : builder.Binary(Opcode::kAnd, all, holds);
  };
  for (size_t i = 0; i < starts.size(); ++i) {
    const PrimitiveType type = starts[i]->shape().element_type();
    if (starts[i]->IsConstant()) {
      // A u64 past the range of s64 is below zero here.
      const int64_t value = hlo::ElementAsInt64(starts[i]->literal(), 0);
      *known &= value >= 0 && value <= most[i];
      continue;
    }
    if (hlo::IsSignedIntegral(type)) check(ComparisonDirection::kGe, starts[i], 0);
    if (FitsIndex(most[i], type)) check(ComparisonDirection::kLe, starts[i], most[i]);
  }
  return all;
}

Instruction* ScatterOfOne(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& scatter = root.Get<ScatterAttributes>();
  const Shape& shape = match['x']->shape();
  bool overwrites = false;
  const std::optional<Opcode> combiner = ScatterCombiner(root, &overwrites);
  if (!scatter.input_batching_dims.empty() || (!overwrites && !combiner) ||
      !IsOnePlace(match['i']->shape(), scatter.index_vector_dim) || match['u']->shape().element_count() == 0) {
    return nullptr;
  }
  DimensionVector sizes, most;
  size_t window = 0;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const bool inserted = Contains(scatter.inserted_window_dims, i);
    sizes.push_back(inserted ? 1 : match['u']->shape().dimensions(scatter.update_window_dims[window++]));
    most.push_back(shape.dimensions(i) - sizes[i]);
    if (most[i] < 0) return match['x'];
  }
  const std::vector<Instruction*> starts =
      ScalarStarts(match['i'], scatter.scatter_dims_to_operand_dims, shape.rank(), builder);
  bool known = false;
  Instruction* within = AreWithin(starts, most, &known, builder);
  if (!known) return match['x'];
  Instruction* update = builder.Reshape(match['u'], sizes);
  if (combiner || within != nullptr) {
    Instruction* there = AddDynamicSlice(match['x'], starts, sizes, builder);
    if (combiner) update = builder.Binary(*combiner, there, update);
    if (within != nullptr) update = builder.Select(builder.BroadcastScalar(within, sizes), update, there);
  }
  return AddDynamicUpdateSlice(match['x'], update, starts, builder);
}

// An update of one element per row, into rows of one value.
Instruction* ScatterOfElements(const Match& match, Builder& builder) {
  const auto& scatter = match.root()->Get<ScatterAttributes>();
  const Shape& shape = match.root()->shape();
  const PrimitiveType index = match['i']->shape().element_type();
  bool overwrites = false;
  const std::optional<Opcode> combiner = ScatterCombiner(*match.root(), &overwrites);
  const int64_t rank = shape.rank(), updates = match['u']->shape().element_count();
  if ((!overwrites && !combiner) || rank < 2 || updates == 0 || scatter.scatter_dims_to_operand_dims.size() != 1 ||
      static_cast<int64_t>(scatter.input_batching_dims.size()) != rank - 1 ||
      scatter.inserted_window_dims != scatter.scatter_dims_to_operand_dims) {
    return nullptr;
  }
  const int64_t along = scatter.inserted_window_dims[0];
  if (updates * shape.dimensions(along) != shape.element_count() || !FitsIndex(shape.dimensions(along), index)) {
    return nullptr;
  }
  // Rows in the order of the indices' dimensions.
  DimensionVector rows, map;
  for (int64_t i = 0; i < match['i']->shape().rank(); ++i) {
    const auto at = absl::c_find(scatter.scatter_indices_batching_dims, i);
    if (at == scatter.scatter_indices_batching_dims.end()) continue;
    rows.push_back(match['i']->shape().dimensions(i));
    map.push_back(scatter.input_batching_dims[at - scatter.scatter_indices_batching_dims.begin()]);
  }
  const auto spread = [&](Instruction* value) {
    return builder.Broadcast(builder.Reshape(value, rows), shape.dimensions(), map);
  };
  Instruction* value = spread(match['u']);
  if (combiner) value = builder.Binary(*combiner, match['c'], value);
  Instruction* place =
      builder.Add(Opcode::kIota, Shape(index, shape.dimensions()), {}, hlo::DimensionsAttributes{{along}});
  return builder.Select(builder.Compare(ComparisonDirection::kEq, spread(match['i']), place), value, match['c']);
}

// Zeros for sums, ones for products, and so on.
bool IsCombinersIdentity(const Match& match) {
  const std::optional<Opcode> combiner = analysis::CombinerOpcode(*match.root()->called_computation());
  return combiner && analysis::IsIdentityOf(*combiner, *SplatValue(*match['c']));
}
constexpr Guard IdentityC{"c the combiner's identity", IsCombinersIdentity};

bool AddsUpdates(const Match& match) {
  return analysis::CombinerOpcode(*match['t']->called_computation()) == Opcode::kAdd;
}
constexpr Guard AddingT{"t adds", AddsUpdates};

constexpr Rule kGatherScatterRules[] = {
    {"gather(t:broadcast(x), i)", "broadcast(x), where places differ along copies", GatherOfCopies},
    {"gather(x, i)", "gather(x, i), of places before they are clamped", UnclampedPlaces},
    {"gather(t:transpose(x), i)", "gather(x, i), of slices that lie as much together", GatherOfTranspose},
    {"gather(t:iota(), i)", "clamp(0, i, size - 1)", GatherOfIota},
    {"gather(x, i)", "broadcast(x), where slices are the whole of it", GatherOfWhole},
    {"gather(x, i)", "dynamic-slice(x, i), of one place", GatherOfOne},
    {"gather(x, i)", "slice(x), reversed or repeated, of known places at equal distances in a few pieces",
     GatherOfPieces},
    {"gather(x, i)", "transpose(slice(x)), of the places of a grid whose axes are known", GatherOfGrid},
    {"gather(x, t:broadcast(i))", "broadcast(dynamic-slice(x, i)), of one place", GatherOfOnePlace},
    {"gather(t:gather'(x, i), j)", "gather(x, gather(i, j)), of rows", GatherOfGather},
    {"scatter(x, i, u)", "x", EmptyU},
    {"add(x, t:scatter'(0, i, u))", "t(x, i, u)", AddingT, AnyOrder, SignlessZero},
    {"scatter(x, i, c)", "x", IdentityC, SignlessZero},
    {"scatter(c, i, u)", "select(equal(i, iota()), combine(c, u), c), of one element per row", ScatterOfElements},
    {"scatter(x, i, u)", "dynamic-update-slice(x, combine(slice(x), u))..., of places side by side", ScatterOfPieces},
    {"scatter(x, i, u)", "dynamic-update-slice(x, combine(dynamic-slice(x, i), u), i), of one place", ScatterOfOne},
};

}  // namespace

absl::Span<const Rule> GatherScatterRules() { return kGatherScatterRules; }

}  // namespace kiln::passes::simplify
