#include "src/passes/simplify/known_places.h"

#include <algorithm>
#include <optional>

#include "src/hlo/evaluator.h"
#include "src/hlo/module.h"
#include "src/passes/simplify/indices.h"
#include "src/passes/simplify/rule.h"

namespace kiln::passes::simplify {
namespace {

constexpr int kMaxSteps = 100;  // each as often as it is used
constexpr int64_t kMaxElements = 4096;

const Instruction& Unshaped(const Instruction& x) { return x.opcode() == Opcode::kReshape ? *x.operand(0) : x; }

// Some elements that `steps` ops at most compute of counts and constants.
std::optional<Literal> KnownElements(const Instruction& x, int* steps) {
  const bool is_plain = hlo::IsElementwise(x.opcode()) || x.opcode() == Opcode::kIota ||
                        x.opcode() == Opcode::kBroadcast || x.opcode() == Opcode::kReshape;
  if (x.IsConstant()) return x.literal();
  if (!is_plain || !x.shape().IsArray() || x.shape().element_count() > kMaxElements || --*steps < 0) {
    return std::nullopt;
  }
  std::vector<Literal> operands;
  for (const Instruction* operand : x.operands()) {
    std::optional<Literal> known = KnownElements(*operand, steps);
    if (!known) return std::nullopt;
    operands.push_back(*std::move(known));
  }
  absl::StatusOr<Literal> value = hlo::EvaluateInstruction(x, operands);
  return value.ok() ? std::optional<Literal>(*std::move(value)) : std::nullopt;
}

// All of the places as one piece; nothing where they are none.
std::optional<Piece> WholePiece(const Literal& places) {
  const auto place = [&](int64_t i) { return hlo::ElementAsInt64(places, i); };
  const int64_t count = places.element_count();
  Piece piece = {0, count, place(0), 0};
  while (piece.repeats < count && place(piece.repeats) == piece.place) ++piece.repeats;
  if (piece.repeats == count) {
    piece.repeats = 1;
  } else {
    piece.step = place(piece.repeats) - piece.place;
  }
  if (count % piece.repeats != 0) return std::nullopt;
  for (int64_t i = 0; i < count; ++i) {
    if (place(i) != piece.place + i / piece.repeats * piece.step) return std::nullopt;
  }
  return piece;
}

// In a few pieces, each place within `size`; none where they are more.
std::vector<Piece> Divided(const Literal& places, int64_t size) {
  constexpr size_t kMaxPieces = 4;
  const auto place = [&](int64_t i) { return hlo::ElementAsInt64(places, i); };
  const int64_t count = places.element_count();
  for (int64_t i = 0; i < count; ++i) {
    if (place(i) < 0 || place(i) >= size) return {};
  }
  if (const std::optional<Piece> whole = WholePiece(places)) return {*whole};
  std::vector<Piece> pieces;
  for (int64_t begin = 0, end = 0; begin < count; begin = end) {
    end = begin + 1;
    int64_t step = 1;
    // Two places are always at an equal distance.
    if (end + 1 < count && place(end + 1) - place(end) == place(end) - place(begin)) {
      step = place(end) - place(begin);
      while (end < count && place(end) - place(end - 1) == step) ++end;
    }
    if (pieces.size() == kMaxPieces) return {};
    pieces.push_back({begin, end, place(begin), step});
  }
  return pieces;
}

// The one dimension along which what `steps` ops at most make of counts, vectors and constants differs.
constexpr int64_t kNoDimension = -1, kUnknown = -2;
int64_t DimensionOf(const Instruction& x, int* steps) {
  if (SplatValue(x)) return kNoDimension;
  if (--*steps < 0) return kUnknown;
  if (x.opcode() == Opcode::kIota) return x.dimensions()[0];
  if (x.opcode() == Opcode::kBroadcast) return x.operand(0)->shape().rank() == 1 ? x.dimensions()[0] : kUnknown;
  if (!hlo::IsElementwise(x.opcode())) return kUnknown;
  int64_t dimension = kNoDimension;
  for (const Instruction* operand : x.operands()) {
    const int64_t own = DimensionOf(*operand, steps);
    if (own == kUnknown || (dimension >= 0 && own >= 0 && own != dimension)) return kUnknown;
    dimension = std::max(dimension, own);
  }
  return dimension;
}

// The same ops over `count` elements alone, or null.
Instruction* AddLine(const Instruction& x, int64_t count, Builder& builder, int* steps) {
  const Shape line(x.shape().element_type(), {count});
  if (const std::optional<Literal> same = SplatValue(x)) {
    return builder.Splat(x.shape().IsScalar() ? x.shape() : line, *same);
  }
  if (x.opcode() == Opcode::kIota) return builder.Add(Opcode::kIota, line, {}, hlo::DimensionsAttributes{{0}});
  if (x.opcode() == Opcode::kBroadcast) {
    const std::optional<Literal> known = KnownElements(*x.operand(0), steps);
    return known ? builder.Constant(*known) : nullptr;
  }
  std::vector<Instruction*> operands;
  for (const Instruction* operand : x.operands()) {
    operands.push_back(AddLine(*operand, count, builder, steps));
    if (operands.back() == nullptr) return nullptr;
  }
  return builder.Add(x.opcode(), line, operands, x.attributes());
}

}  // namespace

std::vector<Piece> PiecesOf(const Instruction& indices, int64_t size) {
  const int64_t count = indices.shape().element_count();
  if (count < 2) return {};
  if (const std::optional<int64_t> first = FirstOfCount(Unshaped(indices)); first && *first + count <= size) {
    return {{0, count, *first, 1}};
  }
  if (const std::optional<Literal> same = SplatValue(indices)) {
    const int64_t place = hlo::ElementAsInt64(*same, 0);
    return place >= 0 && place < size ? std::vector<Piece>{{0, count, place, 0}} : std::vector<Piece>();
  }
  int steps = kMaxSteps;
  const std::optional<Literal> known = KnownElements(indices, &steps);
  return known ? Divided(*known, size) : std::vector<Piece>();
}

std::pair<int64_t, std::vector<Piece>> PiecesAlong(const Instruction& indices, int64_t vector_dimension, int64_t size) {
  const Instruction* x = &indices;
  DimensionVector dimensions = x->shape().dimensions();
  if (dimensions[vector_dimension] != 1) return {};
  if (x->opcode() == Opcode::kReshape) {
    dimensions.erase(dimensions.begin() + vector_dimension);
    if (x->operand(0)->shape().dimensions() != dimensions) return {};
    x = x->operand(0);
  }
  int steps = kMaxSteps;
  const int64_t dimension = DimensionOf(*x, &steps);
  if (dimension < 0 || dimensions[dimension] < 2 || dimensions[dimension] > kMaxElements) return {};
  hlo::Module scratch("line");
  Computation* computation = scratch.AddComputation("line");
  Builder builder(computation, /*origin=*/nullptr);
  Instruction* line = AddLine(*x, dimensions[dimension], builder, &steps);
  if (line == nullptr) return {};
  computation->set_root(line);
  const absl::StatusOr<Literal> places = hlo::Evaluate(*computation, {});
  if (!places.ok()) return {};
  return {dimension, Divided(*places, size)};
}

}  // namespace kiln::passes::simplify
