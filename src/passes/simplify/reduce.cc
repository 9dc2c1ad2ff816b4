// Reduce with one operand and a combiner that is one op. Partial results may be combined in any order.
#include <utility>
#include <vector>

#include "src/analysis/combiner.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

std::optional<Opcode> Combiner(const Instruction& reduce) {
  if (reduce.operand_count() != 2 || !reduce.shape().IsArray()) return std::nullopt;
  return analysis::CombinerOpcode(*reduce.called_computation());
}

bool StartsAtIdentity(const Instruction& reduce, Opcode combiner) {
  std::optional<Literal> init = SplatValue(*reduce.operand(1));
  return init && analysis::IsIdentityOf(combiner, *init);
}

// Reducing dimensions of size 1 combines each element with the initial value once.
Instruction* ReduceUnitDimensions(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const std::optional<Opcode> combiner = Combiner(root);
  if (!combiner) return nullptr;
  const Shape& from = match['x']->shape();
  DimensionVector kept, reduced;  // sizes without those of size 1 that are reduced; reduced ones among them
  for (int64_t i = 0; i < from.rank(); ++i) {
    const bool is_reduced = Contains(root.dimensions(), i);
    if (is_reduced && from.dimensions(i) == 1) continue;
    if (is_reduced) reduced.push_back(static_cast<int64_t>(kept.size()));
    kept.push_back(from.dimensions(i));
  }
  if (!reduced.empty() && kept.size() == from.dimensions().size()) return nullptr;
  Instruction* operand = builder.Reshape(match['x'], kept);
  if (!reduced.empty()) return builder.Reduce(operand, match['i'], reduced, root.called_computation());
  if (StartsAtIdentity(root, *combiner)) return operand;
  return builder.Binary(*combiner, operand, builder.BroadcastScalar(match['i'], kept));
}

Instruction* ReduceOfReduce(const Match& match, Builder& builder) {
  const Instruction& outer = *match.root();
  const Instruction& inner = *match['t'];
  const std::optional<Opcode> combiner = Combiner(outer);
  if (!combiner || Combiner(inner) != combiner || !StartsAtIdentity(inner, *combiner)) return nullptr;
  DimensionVector dimensions(inner.dimensions());
  int64_t kept = 0;
  for (int64_t i = 0; i < match['x']->shape().rank(); ++i) {
    if (Contains(inner.dimensions(), i)) continue;
    if (Contains(outer.dimensions(), kept++)) dimensions.push_back(i);
  }
  absl::c_sort(dimensions);
  return builder.Reduce(match['x'], outer.operand(1), dimensions, outer.called_computation());
}

// A transpose changes the order of combining, and of the dimensions that remain.
Instruction* ReduceOfTranspose(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  if (!Combiner(root)) return nullptr;
  const auto& permutation = root.operand(0)->dimensions();
  DimensionVector dimensions, kept;
  for (int64_t i = 0; i < static_cast<int64_t>(permutation.size()); ++i) {
    (Contains(root.dimensions(), i) ? dimensions : kept).push_back(permutation[i]);
  }
  // What is left is transposed where that is little.
  constexpr int64_t kLeastShare = 8;
  const bool is_little = root.shape().element_count() * kLeastShare <= match['x']->shape().element_count();
  if (!absl::c_is_sorted(kept) && (root.operand(0)->users().size() > 1 || !is_little)) return nullptr;
  absl::c_sort(dimensions);
  Instruction* reduced = builder.Reduce(match['x'], match['i'], dimensions, root.called_computation());
  DimensionVector order;  // of what is left of x, as dimensions of the result
  for (int64_t dimension : kept)
    order.push_back(absl::c_count_if(kept, [&](int64_t other) { return other < dimension; }));
  return builder.Transpose(reduced, order);
}

// Those of `dimensions` of its operand that a reduce keeps, as dimensions of its result.
DimensionVector KeptBy(const Instruction& reduce, const DimensionVector& dimensions) {
  DimensionVector kept;
  for (int64_t dimension : dimensions) {
    if (Contains(reduce.dimensions(), dimension)) continue;
    kept.push_back(dimension -
                   absl::c_count_if(reduce.dimensions(), [&](int64_t reduced) { return reduced < dimension; }));
  }
  return kept;
}

// Combining equal elements any number of times: max(a, a) = a.
Instruction* IdempotentReduceOfBroadcast(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const std::optional<Opcode> combiner = Combiner(root);
  if (combiner != Opcode::kMaximum && combiner != Opcode::kMinimum && combiner != Opcode::kAnd &&
      combiner != Opcode::kOr) {
    return nullptr;
  }
  if (root.operand(0)->shape().element_count() == 0) return nullptr;
  const auto& map = root.operand(0)->dimensions();
  for (int64_t dimension : root.dimensions()) {
    if (Contains(map, dimension)) return nullptr;
  }
  Instruction* operand = builder.Broadcast(match['x'], root.shape().dimensions(), KeptBy(root, map));
  if (StartsAtIdentity(root, *combiner)) return operand;
  return builder.Binary(*combiner, operand, builder.BroadcastScalar(match['i'], root.shape().dimensions()));
}

// A sum of n equal numbers is n times one of them, a product its power.
Instruction* ReduceOfCopies(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const Instruction& broadcast = *root.operand(0);
  int64_t copies = 1;
  DimensionVector inner;  // dimensions of x that are reduced
  for (int64_t dimension : root.dimensions()) {
    if (!Contains(broadcast.dimensions(), dimension)) copies *= broadcast.shape().dimensions(dimension);
  }
  for (size_t i = 0; i < broadcast.dimensions().size(); ++i) {
    if (Contains(root.dimensions(), broadcast.dimensions()[i])) inner.push_back(static_cast<int64_t>(i));
  }
  // A float must be able to count them.
  const Literal count = hlo::LiteralOf(Shape::Scalar(root.shape().element_type()), copies);
  const bool counts = hlo::ElementAsDouble(count, 0) == static_cast<double>(copies);
  const bool is_product = Combiner(root) == Opcode::kMultiply;
  if (copies <= 1 || ((is_product || hlo::IsFloating(root.shape().element_type())) && !counts)) return nullptr;
  Instruction* x = match['x'];
  if (!inner.empty()) x = builder.Reduce(x, match.root()->operand(1), inner, root.called_computation());
  x = builder.Binary(is_product ? Opcode::kPower : Opcode::kMultiply, x, builder.Splat(x->shape(), count));
  return builder.Broadcast(x, root.shape().dimensions(), KeptBy(root, broadcast.dimensions()));
}

// Dimensions in runs that have the same number of elements on both sides of a reshape; a run of the result that is
// reduced as a whole is one of the operand's.
Instruction* ReduceOfReshape(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& from = match['x']->shape().dimensions();
  const auto& to = root.operand(0)->shape().dimensions();
  if (!Combiner(root) || match['x']->shape().element_count() == 0) return nullptr;
  DimensionVector dimensions;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // Sizes of 1 come and go by themselves.
    if (i < from.size() && from[i] == 1) {
      ++i;
      continue;
    }
    if (j < to.size() && to[j] == 1) {
      ++j;
      continue;
    }
    const size_t first_i = i, first_j = j;
    int64_t a = from[i++], b = to[j++];
    while (a != b) (a < b ? a *= from[i++] : b *= to[j++]);
    bool all = true, any = false;
    for (size_t d = first_j; d < j; ++d) {
      const bool reduced = Contains(root.dimensions(), d);
      all &= reduced || to[d] == 1;
      any |= reduced;
    }
    if (any ? !all : i - first_i != 1 || j - first_j != 1) return nullptr;
    for (size_t d = first_i; any && d < i; ++d) dimensions.push_back(static_cast<int64_t>(d));
  }
  Instruction* reduced = builder.Reduce(match['x'], match['i'], dimensions, root.called_computation());
  return builder.Reshape(reduced, root.shape().dimensions());
}

// Padding with the identity adds nothing along reduced dimensions; along others it adds initial values.
Instruction* ReduceOfPad(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& pad = root.operand(0)->Get<hlo::PadAttributes>();
  const std::optional<Opcode> combiner = Combiner(root);
  const std::optional<Literal> padding = SplatValue(*match['c']);
  if (!combiner || !analysis::IsIdentityOf(*combiner, *padding)) return nullptr;
  hlo::PadAttributes kept;
  for (size_t i = 0; i < pad.low.size(); ++i) {
    if (pad.low[i] < 0 || pad.high[i] < 0) return nullptr;
    if (Contains(root.dimensions(), i)) continue;
    kept.low.push_back(pad.low[i]);
    kept.high.push_back(pad.high[i]);
    kept.interior.push_back(pad.interior[i]);
  }
  Instruction* reduced = builder.Reduce(match['x'], match['i'], root.dimensions(), root.called_computation());
  return kept.low.empty() ? reduced : builder.Add(Opcode::kPad, root.shape(), {reduced, match['i']}, kept);
}

// The order in which elements are combined is free.
Instruction* ReduceOfOrder(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &ordered = *root.operand(0);
  if (!Combiner(root)) return nullptr;
  const auto* sort = ordered.GetIf<hlo::SortAttributes>();
  for (int64_t dimension : sort != nullptr ? DimensionVector{sort->dimension} : ordered.dimensions()) {
    if (!Contains(root.dimensions(), dimension)) return nullptr;
  }
  return builder.Reduce(match['x'], match['i'], root.dimensions(), root.called_computation());
}

// Pieces side by side along a reduced dimension are reduced one by one; few, since each is a loop of its own.
Instruction* ReduceOfConcatenate(const Match& match, Builder& builder) {
  constexpr int64_t kMaxPieces = 4;
  const Instruction& root = *match.root();
  const Instruction& concatenate = *match['t'];
  const std::optional<Opcode> combiner = Combiner(root);
  if (!combiner || concatenate.operand_count() > kMaxPieces ||
      !Contains(root.dimensions(), concatenate.dimensions()[0]) || !StartsAtIdentity(root, *combiner)) {
    return nullptr;
  }
  Instruction* all = nullptr;
  for (Instruction* piece : concatenate.operands()) {
    Instruction* reduced = builder.Reduce(piece, match['i'], root.dimensions(), root.called_computation());
    all = all == nullptr ? reduced : builder.Binary(*combiner, all, reduced);
  }
  return all;
}

// Factors that are equal in all terms of a sum.
Instruction* ReduceOfScaled(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const DimensionVector& map = match['s']->dimensions();
  if (absl::c_any_of(map, [&](int64_t dimension) { return Contains(root.dimensions(), dimension); })) return nullptr;
  Instruction* sum = builder.Reduce(match['x'], root.operands()[1], root.dimensions(), root.called_computation());
  return builder.Binary(Opcode::kMultiply, sum,
                        builder.Broadcast(match['y'], root.shape().dimensions(), KeptBy(root, map)));
}

Instruction* ReduceOfShifted(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  uint64_t count = 1;
  for (int64_t dimension : root.dimensions()) {
    count *= static_cast<uint64_t>(root.operand(0)->shape().dimensions(dimension));
  }
  const uint64_t c = static_cast<uint64_t>(hlo::ElementAsInt64(*SplatValue(*match['c']), 0));
  const Literal all = hlo::LiteralOf(Shape::Scalar(root.shape().element_type()), static_cast<int64_t>(count * c));
  Instruction* sum = builder.Reduce(match['v'], root.operands()[1], root.dimensions(), root.called_computation());
  return builder.Binary(Opcode::kAdd, sum, builder.Splat(sum->shape(), all));
}

// The largest of opposite numbers is opposite to the smallest, and so on.
Instruction* ReduceOfNegated(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &operand = *root.operand(0);
  const std::optional<Opcode> combiner = Combiner(root);
  const PrimitiveType type = root.shape().element_type();
  const bool is_least = combiner == Opcode::kMaximum || combiner == Opcode::kOr;  // what is looked for then
  const bool is_logic = combiner == Opcode::kAnd || combiner == Opcode::kOr;
  const Opcode opposite =
      is_logic ? (is_least ? Opcode::kAnd : Opcode::kOr) : (is_least ? Opcode::kMinimum : Opcode::kMaximum);
  Instruction* init = builder.Constant(is_least ? hlo::MaxLiteral(type) : hlo::MinLiteral(type));
  return builder.Unary(operand.opcode(), builder.Reduce(match['x'], init, root.dimensions(), opposite));
}

bool IsInexactSum(const Instruction& op) {
  return !IsIntegralOrPred(op.shape().element_type()) &&
         (op.opcode() == Opcode::kAdd || op.opcode() == Opcode::kMultiply);
}

// Two reduces alike, combined by what they combine with: one reduce of combined elements.
Instruction* CombinedReduces(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &s = *match['s'], &t = *match['t'];
  const std::optional<Opcode> combiner = Combiner(s);
  if (combiner != root.opcode() || Combiner(t) != combiner || IsInexactSum(root) || s.dimensions() != t.dimensions() ||
      match['x']->shape() != match['y']->shape() || !StartsAtIdentity(s, *combiner) ||
      !StartsAtIdentity(t, *combiner)) {
    return nullptr;
  }
  return builder.Reduce(builder.Binary(*combiner, match['x'], match['y']), s.operands()[1], s.dimensions(),
                        s.called_computation());
}

// Several reduces at once that have nothing to do with each other.
Instruction* ApartReduces(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const Computation& combiner = *root.called_computation();
  const Instruction& results = *combiner.root();
  const int64_t count = root.operand_count() / 2;
  if (!root.shape().IsTuple() || results.opcode() != Opcode::kTuple) return nullptr;
  for (int64_t k = 0; k < count; ++k) {
    const Instruction& op = *results.operand(k);
    const Instruction *a = combiner.parameter(k), *b = combiner.parameter(count + k);
    if (op.operand_count() != 2 || !analysis::IdentityOf(op.opcode(), op.shape().element_type()) ||
        !((op.operand(0) == a && op.operand(1) == b) || (op.operand(0) == b && op.operand(1) == a))) {
      return nullptr;
    }
  }
  std::vector<Instruction*> parts;
  for (int64_t k = 0; k < count; ++k) {
    parts.push_back(builder.Reduce(root.operands()[k], root.operands()[count + k], root.dimensions(),
                                   results.operand(k)->opcode()));
  }
  return builder.Tuple(std::move(parts));
}

constexpr Rule kReduceRules[] = {
    {"reduce(_, _, _, _, ...)", "tuple(reduce(x, i), reduce(y, j), ...), of reduces apart from each other",
     ApartReduces},
    {"reduce(x, i)", "broadcast(i)", EmptyX},
    {"reduce(x, i)", "combine(reshape(x), i), of dimensions of size 1", ReduceUnitDimensions},
    {"reduce(t:reduce'(x, _), _)", "reduce(x), by one combiner", ReduceOfReduce, AnyOrder},
    {"reduce(transpose(x), i)", "transpose(reduce(x, i)), where little is left", ReduceOfTranspose, AnyOrder},
    {"reduce(reverse(x), i)", "reduce(x, i), of reversed dimensions", ReduceOfOrder, AnyOrder},
    {"reduce(sort(x), i)", "reduce(x, i), of the sorted dimension", ReduceOfOrder, AnyOrder},
    {"reduce(reshape(x), i)", "reduce(x, i), of whole dimensions", ReduceOfReshape, AnyOrder},
    {"reduce(pad(x, c), i)", "reduce(x, i), where c is the identity", ReduceOfPad, AnyOrder},
    {"reduce(t:concatenate'(...), i)", "combine(reduce(p), reduce(q), ...), of its operands", ReduceOfConcatenate,
     AnyOrder},
    {"reduce(broadcast(x), i)", "broadcast(x), where combining equal values gives that value",
     IdempotentReduceOfBroadcast},
    {"reduce.add(broadcast(x), 0)", "multiply(x, number of copies)", ReduceOfCopies, Integer},
    {"reduce.add(broadcast(x), 0)", "multiply(x, number of copies)", ReduceOfCopies, Floating, Rounds, SignlessZero},
    {"reduce.multiply(broadcast(x), 1)", "power(x, number of copies)", ReduceOfCopies, Integer},
    {"t:reduce.add(multiply'(v, c), 0)", "multiply(t(v, 0), c)", Integer},
    {"t:reduce.add(negate'(x), 0)", "negate(t(x, 0))", Integer},
    {"t:reduce.add(negate'(x), 0)", "negate(t(x, 0))", Floating, SignlessZero},
    {"t:reduce.add(multiply'(x, s:broadcast(y)), 0)", "multiply(t(x, 0), broadcast(y)), of equal factors of sums",
     ReduceOfScaled, Integer},
    {"reduce.add(add'(v, c), 0)", "add(reduce(v, 0), c * number of terms)", ReduceOfShifted, Integer},
    {"reduce.maximum(negate'(x), lowest)", "negate(reduce.minimum(x, highest))", ReduceOfNegated, Floating},
    {"reduce.minimum(negate'(x), highest)", "negate(reduce.maximum(x, lowest))", ReduceOfNegated, Floating},
    {"reduce.or(not'(x), false)", "not(reduce.and(x, true))", ReduceOfNegated},
    {"reduce.and(not'(x), true)", "not(reduce.or(x, false))", ReduceOfNegated},
    {"elementwise(s:reduce'(x, _), t:reduce'(y, _))", "reduce(combine(x, y)), by that combiner", CombinedReduces},
};

}  // namespace

absl::Span<const Rule> ReduceRules() { return kReduceRules; }

}  // namespace kiln::passes::simplify
