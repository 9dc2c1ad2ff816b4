// Transpose, reverse and iota.
#include <algorithm>
#include <utility>

#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

bool KeepsOrder(const Match& match) {
  const auto& permutation = match.root()->dimensions();
  return absl::c_is_sorted(permutation);
}

Instruction* TransposeOfTranspose(const Match& match, Builder& builder) {
  const auto& inner = match.root()->operand(0)->dimensions();
  DimensionVector permutation;
  for (int64_t dimension : match.root()->dimensions()) permutation.push_back(inner[dimension]);
  return builder.Transpose(match['x'], permutation);
}

// Two transposes around a reshape, as one with a reshape on one side at most: in pieces of dimensions that all three
// keep whole, they are one permutation.
Instruction* TransposeOfReshapedTranspose(const Match& match, Builder& builder) {
  const Instruction &inner = *match['u'], &outer = *match.root();
  const Shape &turned = inner.shape(), &reshaped = match['t']->shape();
  if (IsEmpty(outer)) return nullptr;
  DimensionVector sizes;  // of the pieces, as the reshape has them
  std::vector<DimensionVector> of_turned(turned.rank()), of_reshaped(reshaped.rank());
  int64_t a = 1, b = 1;  // what is left of a dimension
  for (int64_t i = -1, j = -1;;) {
    while (a == 1 && i + 1 < turned.rank()) a = turned.dimensions(++i);
    while (b == 1 && j + 1 < reshaped.rank()) b = reshaped.dimensions(++j);
    if (a == 1) break;
    const int64_t size = std::min(a, b);
    if (a % size != 0 || b % size != 0) return nullptr;
    a /= size, b /= size;
    of_turned[i].push_back(static_cast<int64_t>(sizes.size()));
    of_reshaped[j].push_back(static_cast<int64_t>(sizes.size()));
    sizes.push_back(size);
  }
  std::vector<int64_t> place(sizes.size()), of_x(sizes.size());  // of a piece in x, and in which dimension
  int64_t next = 0;
  for (int64_t dimension = 0; dimension < turned.rank(); ++dimension) {
    for (int64_t piece : of_turned[absl::c_find(inner.dimensions(), dimension) - inner.dimensions().begin()]) {
      place[piece] = next++;
      of_x[piece] = dimension;
    }
  }
  struct Run {
    int64_t first, size;
  };
  enum Ends { kNone, kOfResult, kOfX };
  // Pieces that lie together in x and in the result, as far as no end of a dimension lies between.
  const auto runs_within = [&](Ends ends) {
    std::vector<Run> runs;
    int64_t previous = -1;
    for (int64_t dimension : outer.dimensions()) {
      bool is_first = true;
      for (int64_t piece : of_reshaped[dimension]) {
        const bool continues = previous >= 0 && place[piece] == place[previous] + 1 &&
                               !(ends == kOfResult && is_first) && !(ends == kOfX && of_x[piece] != of_x[previous]);
        if (continues) {
          runs.back().size *= sizes[piece];
        } else {
          runs.push_back({place[piece], sizes[piece]});
        }
        previous = piece;
        is_first = false;
      }
    }
    return runs;
  };
  if (runs_within(kNone).size() < 2) return builder.Reshape(match['x'], outer.shape().dimensions());
  for (const Ends ends : {kOfResult, kOfX}) {
    const std::vector<Run> runs = runs_within(ends);
    std::vector<Run> in_x = runs;
    absl::c_sort(in_x, [](const Run& x, const Run& y) { return x.first < y.first; });
    DimensionVector before, after, permutation;
    for (const Run& run : in_x) before.push_back(run.size);
    for (const Run& run : runs) {
      after.push_back(run.size);
      permutation.push_back(absl::c_find_if(in_x, [&](const Run& x) { return x.first == run.first; }) - in_x.begin());
    }
    if (ends == kOfX ? before != match['x']->shape().dimensions() : after != outer.shape().dimensions()) continue;
    return builder.Reshape(builder.Transpose(builder.Reshape(match['x'], before), permutation),
                           outer.shape().dimensions());
  }
  return nullptr;
}

Instruction* TransposeOfBroadcast(const Match& match, Builder& builder) {
  const auto& permutation = match.root()->dimensions();
  DimensionVector map;
  for (int64_t dimension : match.root()->operand(0)->dimensions()) {
    map.push_back(absl::c_find(permutation, dimension) - permutation.begin());
  }
  return builder.Broadcast(match['x'], match.root()->shape().dimensions(), map);
}

Instruction* TransposeOfIota(const Match& match, Builder& builder) {
  const auto& permutation = match.root()->dimensions();
  const int64_t dimension = match.root()->operand(0)->dimensions()[0];
  const int64_t moved = absl::c_find(permutation, dimension) - permutation.begin();
  return builder.Add(Opcode::kIota, Shape(match.root()->shape().element_type(), match.root()->shape().dimensions()), {},
                     hlo::DimensionsAttributes{{moved}});
}

// Moving only dimensions of size 1 moves nothing in memory.
bool MovesNothing(const Shape& shape, const DimensionVector& permutation) {
  int64_t previous = -1;
  for (int64_t dimension : permutation) {
    if (shape.dimensions(dimension) == 1) continue;
    if (dimension < previous) return false;
    previous = dimension;
  }
  return true;
}

Instruction* TransposeIsReshape(const Match& match, Builder& builder) {
  if (!MovesNothing(match['x']->shape(), match.root()->dimensions())) return nullptr;
  return builder.Reshape(match['x'], match.root()->shape().dimensions());
}

// Products read their operands in any order.
bool IsReadByProducts(const Instruction& transpose) {
  const auto is_product = [](const Instruction* user) {
    return user->opcode() == Opcode::kDot || user->opcode() == Opcode::kConvolution;
  };
  return absl::c_any_of(transpose.users(), [&](const Instruction* user) {
    return is_product(user) || (user->opcode() == Opcode::kReshape && absl::c_any_of(user->users(), is_product));
  });
}

// Pieces by themselves are transposed in squares, where rows come to lie across; few, since each is an op of its own.
// Those whose order stays, as in stacks along a new last dimension, cost nothing.
Instruction* TransposeOfConcatenate(const Match& match, Builder& builder) {
  constexpr int64_t kMaxPieces = 8;
  const auto& permutation = match.root()->dimensions();
  const Instruction& concatenate = *match['t'];
  const auto moves_nothing = [&](const Instruction* operand) { return MovesNothing(operand->shape(), permutation); };
  const bool moves_rows = permutation.back() == concatenate.shape().rank() - 1;
  if ((moves_rows || concatenate.operand_count() > kMaxPieces || IsReadByProducts(*match.root())) &&
      !absl::c_all_of(concatenate.operands(), moves_nothing)) {
    return nullptr;
  }
  std::vector<Instruction*> pieces;
  for (Instruction* operand : concatenate.operands()) pieces.push_back(builder.Transpose(operand, permutation));
  return builder.Concatenate(pieces, absl::c_find(permutation, concatenate.dimensions()[0]) - permutation.begin());
}

Instruction* AddReverse(Instruction* x, const DimensionVector& dimensions, Builder& builder) {
  return builder.Add(Opcode::kReverse, x->shape(), {x}, hlo::DimensionsAttributes{dimensions});
}

// Reversing a dimension of size 1 does nothing.
Instruction* DropReversedDimensions(const Match& match, Builder& builder) {
  const auto& dimensions = match.root()->dimensions();
  DimensionVector kept;
  for (int64_t dimension : dimensions) {
    if (match['x']->shape().dimensions(dimension) != 1) kept.push_back(dimension);
  }
  if (kept.size() == dimensions.size()) return nullptr;
  if (kept.empty()) return match['x'];
  return AddReverse(match['x'], kept, builder);
}

Instruction* ReverseOfReverse(const Match& match, Builder& builder) {
  // What both reverse stays as it was.
  DimensionVector once(match.root()->dimensions());
  for (int64_t dimension : match.root()->operand(0)->dimensions()) {
    auto it = absl::c_find(once, dimension);
    if (it == once.end()) {
      once.push_back(dimension);
    } else {
      once.erase(it);
    }
  }
  if (once.empty()) return match['x'];
  absl::c_sort(once);
  return AddReverse(match['x'], once, builder);
}

// Counting along a dimension of size 1 stays at zero.
bool CountsToOne(const Match& match) { return match.root()->shape().dimensions(match.root()->dimensions()[0]) == 1; }

// Dimensions that are only copies are the same in reverse.
Instruction* ReverseOfBroadcast(const Match& match, Builder& builder) {
  const Instruction& broadcast = *match.root()->operand(0);
  const auto& map = broadcast.dimensions();
  DimensionVector reversed;  // of x
  for (int64_t dimension : match.root()->dimensions()) {
    const auto it = absl::c_find(map, dimension);
    if (it != map.end()) reversed.push_back(it - map.begin());
  }
  if (reversed.size() == match.root()->dimensions().size() && broadcast.users().size() > 1) return nullptr;
  Instruction* x = match['x'];
  absl::c_sort(reversed);
  if (!reversed.empty()) x = AddReverse(x, reversed, builder);
  return builder.Broadcast(x, broadcast.shape().dimensions(), map);
}

// What is padded in front comes behind.
Instruction* ReverseOfPad(const Match& match, Builder& builder) {
  const DimensionVector& dimensions = match.root()->dimensions();
  hlo::PadAttributes pad = match['t']->Get<hlo::PadAttributes>();
  for (int64_t dimension : dimensions) std::swap(pad.low[dimension], pad.high[dimension]);
  return builder.Add(Opcode::kPad, match.root()->shape(), {AddReverse(match['x'], dimensions, builder), match['y']},
                     pad);
}

// Pieces in the other order, each reversed; few, since each is an op of its own.
Instruction* ReverseOfConcatenate(const Match& match, Builder& builder) {
  constexpr int64_t kMaxPieces = 8;
  const Instruction& concatenate = *match['t'];
  if (concatenate.operand_count() > kMaxPieces) return nullptr;
  std::vector<Instruction*> pieces;
  for (Instruction* piece : concatenate.operands())
    pieces.push_back(AddReverse(piece, match.root()->dimensions(), builder));
  const int64_t along = concatenate.dimensions()[0];
  if (Contains(match.root()->dimensions(), along)) absl::c_reverse(pieces);
  return builder.Concatenate(pieces, along);
}

Instruction* ReverseOfTranspose(const Match& match, Builder& builder) {
  const DimensionVector& permutation = match['t']->dimensions();
  DimensionVector dimensions;  // of x
  for (int64_t dimension : match.root()->dimensions()) dimensions.push_back(permutation[dimension]);
  absl::c_sort(dimensions);
  return builder.Transpose(AddReverse(match['x'], dimensions, builder), permutation);
}

// Counting down.
Instruction* ReverseOfIota(const Match& match, Builder& builder) {
  const Shape& shape = match.root()->shape();
  const PrimitiveType type = shape.element_type();
  const int64_t along = match['t']->dimensions()[0], last = shape.dimensions(along) - 1;
  if (!Contains(match.root()->dimensions(), along)) return match['t'];
  const Literal number = hlo::LiteralOf(Shape::Scalar(type), last);
  const bool is_counted = RangeOf(*match['t']).high < ValueRange::kInfinity && hlo::BitWidth(type) >= 32;
  if (!is_counted || last == 0) return nullptr;
  return builder.Binary(Opcode::kSubtract, builder.Splat(shape, number), match['t']);
}

constexpr Rule kTransposeRules[] = {
    {"transpose(x)", "x", Guard{"the order stays", KeepsOrder}},
    {"transpose(transpose(x))", "transpose(x)", TransposeOfTranspose},
    {"transpose(t:reshape'(u:transpose'(x)))", "reshape(transpose(x)), or a reshape before, or only one of both",
     TransposeOfReshapedTranspose},
    {"transpose(x)", "reshape(x), where only sizes of 1 move", TransposeIsReshape},
    {"transpose(broadcast(x))", "broadcast(x)", TransposeOfBroadcast},
    {"transpose(t:concatenate'(...))", "concatenate(transpose(p), transpose(q), ...)", TransposeOfConcatenate},
    {"transpose(iota())", "iota()", TransposeOfIota},
    {"iota()", "0", Guard{"it counts to 1", CountsToOne}},
    {"reverse(x)", "reverse(x), without dimensions of size 1", DropReversedDimensions},
    {"reverse(reverse(x))", "reverse(x), of what one of both reverses", ReverseOfReverse},
    {"reverse(broadcast(x))", "broadcast(reverse(x))", ReverseOfBroadcast},
    {"reverse(t:pad'(x, y))", "pad(reverse(x), y)", ReverseOfPad},
    {"reverse(t:concatenate'(...))", "concatenate(reverse(q), reverse(p), ...)", ReverseOfConcatenate},
    {"reverse(t:transpose'(x))", "transpose(reverse(x))", ReverseOfTranspose},
    {"reverse(t:iota())", "subtract(size - 1, iota())", ReverseOfIota},
};

}  // namespace

absl::Span<const Rule> TransposeRules() { return kTransposeRules; }

}  // namespace kiln::passes::simplify
