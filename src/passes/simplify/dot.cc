// Dot. Its form is the work of dot-canonicalization; here what makes it vanish or cheaper.
#include "src/passes/simplify/dot.h"

#include <algorithm>

#include "src/passes/simplify/indices.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {

using hlo::DotAttributes;

bool IsDiagonal(const Instruction& compare) {
  if (compare.opcode() != Opcode::kCompare || compare.comparison().direction != ComparisonDirection::kEq ||
      compare.shape().rank() != 2 || compare.shape().dimensions(0) != compare.shape().dimensions(1)) {
    return false;
  }
  const Instruction& a = *compare.operand(0);
  const Instruction& b = *compare.operand(1);
  const PrimitiveType type = a.shape().element_type();
  return a.opcode() == Opcode::kIota && b.opcode() == Opcode::kIota && a.dimensions() != b.dimensions() &&
         hlo::IsIntegral(type) && hlo::BitWidth(type) >= 32;
}

// As a constant, or as frameworks write it: ones where the indices are equal.
bool IsIdentityMatrix(const Instruction& matrix) {
  constexpr int64_t kMaxSize = 1024;
  const Shape& shape = matrix.shape();
  if (shape.rank() != 2 || shape.dimensions(0) != shape.dimensions(1)) return false;
  if (matrix.opcode() == Opcode::kConvert) return IsDiagonal(*matrix.operand(0));
  if (!matrix.IsConstant() || shape.dimensions(0) > kMaxSize || shape.dimensions(0) < 2) return false;
  const Literal one = hlo::OneLiteral(shape.element_type()), zero = hlo::ZeroLiteral(shape.element_type());
  const size_t width = static_cast<size_t>(hlo::ByteWidth(shape.element_type()));
  const auto bytes = matrix.literal().bytes();
  const size_t size = static_cast<size_t>(shape.dimensions(0));
  for (size_t i = 0; i < size * size; ++i) {
    const auto& wanted = (i % (size + 1) == 0 ? one : zero).bytes();
    if (!std::equal(wanted.begin(), wanted.end(), bytes.begin() + i * width)) return false;
  }
  return true;
}

namespace {

// A product over one dimension of each side, without batch dimensions, of at most matrices.
struct Product {
  int64_t lhs_contracting, rhs_contracting;
  double lhs_free, contracted, rhs_free;  // sizes; 1 for those of a vector
  bool lhs_is_matrix, rhs_is_matrix;

  static std::optional<Product> Of(const Instruction& dot) {
    const auto& a = dot.Get<DotAttributes>();
    const Shape& lhs = dot.operand(0)->shape();
    const Shape& rhs = dot.operand(1)->shape();
    if (dot.operand_count() != 2 || !a.lhs_batch.empty() || a.lhs_contracting.size() != 1 || lhs.rank() > 2 ||
        rhs.rank() > 2 || lhs.element_type() != rhs.element_type() ||
        lhs.element_type() != dot.shape().element_type()) {
      return std::nullopt;
    }
    const double contracted = static_cast<double>(lhs.dimensions(a.lhs_contracting[0]));
    if (contracted == 0) return std::nullopt;
    return Product{a.lhs_contracting[0],
                   a.rhs_contracting[0],
                   static_cast<double>(lhs.element_count()) / contracted,
                   contracted,
                   static_cast<double>(rhs.element_count()) / contracted,
                   lhs.rank() == 2,
                   rhs.rank() == 2};
  }
};

Instruction* AddDot(const Instruction& like, Instruction* lhs, int64_t lhs_contracting, Instruction* rhs,
                    int64_t rhs_contracting, Builder& builder) {
  DotAttributes attributes = like.Get<DotAttributes>();
  attributes.lhs_contracting = {lhs_contracting};
  attributes.rhs_contracting = {rhs_contracting};
  DimensionVector dimensions;
  for (int64_t i = 0; i < lhs->shape().rank(); ++i) {
    if (i != lhs_contracting) dimensions.push_back(lhs->shape().dimensions(i));
  }
  for (int64_t i = 0; i < rhs->shape().rank(); ++i) {
    if (i != rhs_contracting) dimensions.push_back(rhs->shape().dimensions(i));
  }
  return builder.Add(Opcode::kDot, Shape(like.shape().element_type(), dimensions), {lhs, rhs}, attributes);
}

bool SamePrecision(const Instruction& a, const Instruction& b) {
  const auto& x = a.Get<DotAttributes>();
  const auto& y = b.Get<DotAttributes>();
  return x.operand_precision == y.operand_precision && x.algorithm == y.algorithm;
}

}  // namespace

Instruction* DotWithIdentity(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const std::optional<Product> product = Product::Of(root);
  if (!product || !IsIdentityMatrix(*match['i'])) return nullptr;
  const bool on_the_left = root.operand(0) == match['i'];
  // The contracted dimension of x is the result's last one, or its first one.
  const int64_t contracted = on_the_left ? product->rhs_contracting : product->lhs_contracting;
  const bool is_matrix = on_the_left ? product->rhs_is_matrix : product->lhs_is_matrix;
  if (!is_matrix || contracted == (on_the_left ? 0 : 1)) return match['x'];
  return builder.Transpose(match['x'], {1, 0});
}

Instruction* DotToTheRight(const Match& match, Builder& builder) {
  const Instruction& outer = *match.root();
  const Instruction& inner = *match['t'];
  const std::optional<Product> o = Product::Of(outer), i = Product::Of(inner);
  if (!o || !i || !SamePrecision(outer, inner) || !i->rhs_is_matrix) return nullptr;
  // The outer product must be over the free dimension of y.
  if (o->lhs_contracting != (i->lhs_is_matrix ? 1 : 0)) return nullptr;
  const double before = i->lhs_free * i->rhs_free * (i->contracted + o->rhs_free);
  const double after = i->contracted * o->rhs_free * (i->rhs_free + i->lhs_free);
  if (after >= before) return nullptr;
  Instruction* right = AddDot(outer, match['y'], 1 - i->rhs_contracting, match['z'], o->rhs_contracting, builder);
  return AddDot(outer, match['x'], i->lhs_contracting, right, 0, builder);
}

Instruction* DotToTheLeft(const Match& match, Builder& builder) {
  const Instruction& outer = *match.root();
  const Instruction& inner = *match['t'];
  const std::optional<Product> o = Product::Of(outer), i = Product::Of(inner);
  if (!o || !i || !SamePrecision(outer, inner) || !i->lhs_is_matrix || o->rhs_contracting != 0) return nullptr;
  const double before = i->lhs_free * i->rhs_free * (i->contracted + o->lhs_free);
  const double after = o->lhs_free * i->contracted * (i->lhs_free + i->rhs_free);
  if (after >= before) return nullptr;
  Instruction* left = AddDot(outer, match['x'], o->lhs_contracting, match['y'], 1 - i->lhs_contracting, builder);
  return AddDot(outer, left, o->lhs_is_matrix ? 1 : 0, match['z'], i->rhs_contracting, builder);
}

bool IsSmallProduct(const Match& match) {
  const Shape& x = match['x']->shape();
  const Shape& root = match.root()->shape();
  return x.element_type() == root.element_type() && root.element_count() <= x.element_count();
}

namespace {

// Sums of one product each: every element of x times every one of y.
Instruction* OuterProduct(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& a = root.Get<DotAttributes>();
  auto kept = [](const Instruction& operand, const DimensionVector& contracting) {
    DimensionVector sizes;
    for (int64_t i = 0; i < operand.shape().rank(); ++i) {
      if (!Contains(contracting, i)) sizes.push_back(operand.shape().dimensions(i));
    }
    return sizes;
  };
  for (int64_t dimension : a.lhs_contracting) {
    if (match['x']->shape().dimensions(dimension) != 1) return nullptr;
  }
  if (!a.lhs_batch.empty() || root.operand_count() != 2) return nullptr;
  int64_t next = 0;  // dimension of the result
  auto spread = [&](Instruction* operand, const DimensionVector& contracting) {
    const DimensionVector sizes = kept(*operand, contracting);
    DimensionVector map(sizes.size());
    for (int64_t& dimension : map) dimension = next++;
    operand = builder.Convert(builder.Reshape(operand, sizes), root.shape().element_type());
    return builder.Broadcast(operand, root.shape().dimensions(), map);
  };
  Instruction* x = spread(match['x'], a.lhs_contracting);
  return builder.Binary(Opcode::kMultiply, x, spread(match['y'], a.rhs_contracting));
}

// Sums of products with 1, or for integers with one number.
Instruction* DotWithSplat(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& a = root.Get<DotAttributes>();
  Instruction* x = match['x'];
  const int64_t side = root.operand(0) == x ? 0 : 1;
  const DimensionVector& contracting = side == 0 ? a.lhs_contracting : a.rhs_contracting;
  const DimensionVector& batch = side == 0 ? a.lhs_batch : a.rhs_batch;
  const PrimitiveType type = root.shape().element_type();
  const Literal c = *SplatValue(*match['c']);
  if (root.operand_count() != 2 || contracting.empty() || a.algorithm != hlo::DotAlgorithm::kUnset ||
      !(hlo::IsIntegral(type) || (IsWideFloat(type) && hlo::IsSplatOf(c, 1))) ||
      hlo::IsComplex(x->shape().element_type())) {
    return nullptr;
  }
  DimensionVector map;  // of the sums, as dimensions of the result
  const int64_t free = x->shape().rank() - static_cast<int64_t>(batch.size() + contracting.size());
  int64_t next = side == 0 ? static_cast<int64_t>(batch.size()) : root.shape().rank() - free;
  for (int64_t i = 0; i < x->shape().rank(); ++i) {
    if (Contains(contracting, i)) continue;
    const auto place = absl::c_find(batch, i);
    map.push_back(place != batch.end() ? place - batch.begin() : next++);
  }
  // Sums of narrow floats are wider.
  const PrimitiveType sum = hlo::IsFloating(type) && hlo::BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
  x = builder.Reduce(builder.Convert(x, sum), builder.Scalar(sum, 0), contracting, Opcode::kAdd);
  if (!hlo::IsSplatOf(c, 1)) {
    Instruction* factor = builder.Convert(builder.Constant(c), type);
    x = builder.Binary(Opcode::kMultiply, x, builder.BroadcastScalar(factor, x->shape().dimensions()));
  }
  return builder.Broadcast(builder.Convert(x, type), root.shape().dimensions(), map);
}

// Rows picked out of a matrix by their numbers; zeros where there is no such row.
Instruction* DotWithOneHot(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& a = root.Get<DotAttributes>();
  const Instruction &h = *match['h'], &compare = *h.operand(0);
  Instruction* x = match['x'];
  const int64_t side = root.operand(0) == &h ? 0 : 1;  // of h
  const DimensionVector& of_h = side == 0 ? a.lhs_contracting : a.rhs_contracting;
  const DimensionVector& of_x = side == 0 ? a.rhs_contracting : a.lhs_contracting;
  if (compare.comparison().direction != ComparisonDirection::kEq || h.shape().rank() != 2 || x->shape().rank() != 2 ||
      of_h.size() != 1 || root.operand_count() != 2 || !a.lhs_batch.empty() || IsEmpty(*x)) {
    return nullptr;
  }
  const int64_t count = h.shape().dimensions(of_h[0]), place = side == 0 ? 0 : 1;
  for (const int64_t i : {0, 1}) {
    const Instruction &counts = *compare.operand(i), &numbers = *compare.operand(1 - i);
    const PrimitiveType type = counts.shape().element_type();
    if (counts.opcode() != Opcode::kIota || counts.dimensions() != of_h || numbers.opcode() != Opcode::kBroadcast ||
        numbers.dimensions() != DimensionVector{1 - of_h[0]} || !hlo::IsIntegral(type) || !FitsIndex(count, type)) {
      continue;
    }
    Instruction* number = numbers.operand(0)->shape().rank() == 1 ? compare.operand(1 - i)->operand(0) : nullptr;
    hlo::GatherAttributes gather;
    gather.collapsed_slice_dims = gather.start_index_map = of_x;
    gather.offset_dims = {1 - place};
    gather.index_vector_dim = 1;
    gather.slice_sizes = x->shape().dimensions();
    gather.slice_sizes[of_x[0]] = 1;
    Instruction* rows = builder.Add(Opcode::kGather, Shape(x->shape().element_type(), root.shape().dimensions()),
                                    {x, number}, std::move(gather));
    const auto bound = [&](int64_t value) {
      return builder.Splat(number->shape(), hlo::LiteralOf(Shape::Scalar(type), value));
    };
    Instruction* exists = builder.Binary(Opcode::kAnd, builder.Compare(ComparisonDirection::kGe, number, bound(0)),
                                         builder.Compare(ComparisonDirection::kLt, number, bound(count)));
    rows = builder.Convert(rows, root.shape().element_type());
    return builder.Select(builder.Broadcast(exists, root.shape().dimensions(), {place}), rows,
                          builder.Splat(rows->shape(), 0));
  }
  return nullptr;
}

// Rows that are all the same are multiplied once.
Instruction* DotOfCopies(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &t = *match['t'];
  DotAttributes a = root.Get<DotAttributes>();
  const int64_t side = root.operand(0) == &t ? 0 : 1;
  DimensionVector* of_t[] = {side == 0 ? &a.lhs_batch : &a.rhs_batch,
                             side == 0 ? &a.lhs_contracting : &a.rhs_contracting};
  if (root.operand_count() != 2 || root.operand(0) == root.operand(1)) return nullptr;
  const int64_t batches = static_cast<int64_t>(a.lhs_batch.size());
  const int64_t free = t.shape().rank() - batches - static_cast<int64_t>(of_t[1]->size());
  const int64_t first = side == 0 ? batches : root.shape().rank() - free;  // of t's free dimensions in the result
  DimensionVector sizes, x_map, places(t.shape().rank(), -1);              // of t without the copies
  DimensionVector kept_sizes, kept;                                        // of the result without them
  for (int64_t i = 0; i < first; ++i) kept.push_back(i);
  int64_t next = first;
  for (int64_t i = 0; i < t.shape().rank(); ++i) {
    const bool is_free = !Contains(*of_t[0], i) && !Contains(*of_t[1], i);
    const bool is_copied = is_free && !Contains(t.dimensions(), i);
    if (is_free && !is_copied) kept.push_back(next);
    if (is_free) ++next;
    if (is_copied) continue;
    places[i] = static_cast<int64_t>(sizes.size());
    sizes.push_back(t.shape().dimensions(i));
  }
  if (static_cast<int64_t>(sizes.size()) == t.shape().rank()) return nullptr;
  for (int64_t i = next; i < root.shape().rank(); ++i) kept.push_back(i);
  for (int64_t i : t.dimensions()) x_map.push_back(places[i]);
  for (DimensionVector* dimensions : of_t) {
    for (int64_t& dimension : *dimensions) dimension = places[dimension];
  }
  for (int64_t i : kept) kept_sizes.push_back(root.shape().dimensions(i));
  Instruction* operands[] = {root.operands()[0], root.operands()[1]};
  operands[side] = builder.Broadcast(match['x'], sizes, x_map);
  Instruction* dot = builder.Add(Opcode::kDot, Shape(root.shape().element_type(), kept_sizes),
                                 {operands[0], operands[1]}, std::move(a));
  return builder.Broadcast(dot, root.shape().dimensions(), kept);
}

// Reads an operand through its transpose, where batch dimensions stay first and free ones in order.
Instruction* ReadTransposed(const Match& match, int64_t side, Builder& builder) {
  const Instruction& root = *match.root();
  const auto& permutation = match['t']->dimensions();
  DotAttributes attributes = root.Get<DotAttributes>();
  DimensionVector& batch = side == 0 ? attributes.lhs_batch : attributes.rhs_batch;
  DimensionVector& contracting = side == 0 ? attributes.lhs_contracting : attributes.rhs_contracting;
  if (contracting.size() != 1 || root.operand_count() != 2) return nullptr;
  int64_t previous = -1;
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (Contains(batch, i) || Contains(contracting, i)) continue;
    if (permutation[i] < previous) return nullptr;
    previous = permutation[i];
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i] = permutation[batch[i]];
    if (batch[i] != static_cast<int64_t>(i)) return nullptr;
  }
  contracting[0] = permutation[contracting[0]];
  std::vector<Instruction*> operands(root.operands().begin(), root.operands().end());
  operands[side] = match['x'];
  return builder.Add(Opcode::kDot, root.shape(), std::move(operands), std::move(attributes));
}
Instruction* ReadLeftTransposed(const Match& match, Builder& builder) { return ReadTransposed(match, 0, builder); }
Instruction* ReadRightTransposed(const Match& match, Builder& builder) { return ReadTransposed(match, 1, builder); }

// Whether integers that wrap around before they are multiplied do so as the sums of products do.
bool IsUnwidened(const Match& match) {
  const Instruction& t = *match['t'];
  return absl::c_all_of(t.operands(), [&](const Instruction* operand) {
    const PrimitiveType type = operand->shape().element_type();
    return hlo::IsFloating(type) || hlo::IsComplex(type) || type == t.shape().element_type();
  });
}
constexpr Guard Unwidened{"integers as wide as sums", IsUnwidened};

bool AreLike(const Match& match) {
  const Instruction &t = *match['t'], &u = *match['u'];
  return t.attributes() == u.attributes() && t.operand(0)->shape() == u.operand(0)->shape() &&
         t.operand(1)->shape() == u.operand(1)->shape();
}
constexpr Guard Like{"t like u", AreLike};

// Whether scaling x takes an array, which no kernel makes anyway.
bool IsArgument(const Match& match) {
  return match['x']->IsParameter() && match['x']->shape().element_type() == match.root()->shape().element_type();
}
constexpr Guard ArgumentX{"x an argument as wide as sums", IsArgument};

constexpr Rule kDotRules[] = {
    {"dot(x, _)", "0", EmptyX},
    {"dot(x, y)", "multiply(broadcast(x), broadcast(y)), where sums have one product", OuterProduct, SignlessZero,
     Rounds},
    {"dot(0, x)", "0", FiniteX},
    {"dot(x, 0)", "0", FiniteX},
    {"dot(x, c)", "broadcast(multiply(reduce.add(x, 0), c)), where c is 1 or of integers", DotWithSplat, AnyOrder},
    {"dot(c, x)", "broadcast(multiply(reduce.add(x, 0), c)), where c is 1 or of integers", DotWithSplat, AnyOrder},
    {"dot(t:broadcast(x), _)", "broadcast(dot(x, _)), of copied rows", DotOfCopies, AnyOrder},
    {"dot(_, t:broadcast(x))", "broadcast(dot(_, x)), of copied rows", DotOfCopies, AnyOrder},
    {"dot(x, i)", "x, where i is an identity matrix", DotWithIdentity, FiniteX, SignlessZero},
    {"dot(i, x)", "x, where i is an identity matrix", DotWithIdentity, FiniteX, SignlessZero},
    {"dot(h:convert(compare(_, _)), x)", "gather(x, numbers), of one-hot rows", DotWithOneHot, FiniteX, SignlessZero},
    {"dot(x, h:convert(compare(_, _)))", "gather(x, numbers), of one-hot rows", DotWithOneHot, FiniteX, SignlessZero},
    {"dot(x, m:select(compare(_, _), _, 0))", "multiply(x, broadcast(d)), where m is diagonal", DotWithDiagonal,
     FiniteX, SignlessZero},
    {"dot(m:select(compare(_, _), _, 0), x)", "multiply(x, broadcast(d)), where m is diagonal", DotWithDiagonal,
     FiniteX, SignlessZero},
    {"dot(x, m:constant())", "multiply(x, broadcast(d)), where m is diagonal", DotWithDiagonal, FiniteX, SignlessZero},
    {"dot(m:constant(), x)", "multiply(x, broadcast(d)), where m is diagonal", DotWithDiagonal, FiniteX, SignlessZero},
    {"dot(t:pad(x, 0), y)", "pad(dot(x, slice(y)), 0)", DotOfPad, AnyOrder, SignlessZero},
    {"dot(y, t:pad(x, 0))", "pad(dot(slice(y), x), 0)", DotOfPad, AnyOrder, SignlessZero},
    {"reduce.add(t:dot'(x, y), 0)", "dot(x, y) over the batch too; of integers, of sums of x or y", ReduceOfDot,
     AnyOrder, SignlessZero},
    {"dot(t:transpose(x), _)", "dot(x, _)", ReadLeftTransposed},
    {"dot(_, t:transpose(x))", "dot(_, x)", ReadRightTransposed},
    {"t:dot(negate(x), negate(y))", "t(x, y)", Unwidened},
    {"t:dot(multiply'(x, broadcast(s)), y)", "multiply(t(x, y), broadcast(s))", Integer, SmallProduct},
    {"t:dot(y, multiply'(x, broadcast(s)))", "multiply(t(y, x), broadcast(s))", Integer, SmallProduct},
    {"t:dot(multiply'(x, c), y)", "multiply(t(x, y), c)", ExactReciprocal, ArgumentX, NoOverflowBetween},
    {"t:dot(y, multiply'(x, c))", "multiply(t(y, x), c)", ExactReciprocal, ArgumentX, NoOverflowBetween},
    {"add(t:dot'(x, y), u:dot'(x, z))", "t(x, add(y, z))", Integer, Like, Unwidened},
    {"add(t:dot'(x, y), u:dot'(z, y))", "t(add(x, z), y)", Integer, Like, Unwidened},
    {"dot(t:dot'(x, y), z)", "dot(dot(y, x), z), where columns of t are batches", DotOfColumns},
    {"dot(z, t:dot'(x, y))", "dot(z, dot(y, x)), where columns of t are batches", DotOfColumns},
    {"dot(t:dot'(x, y), z)", "dot(x, dot(y, z)), where that is cheaper", DotToTheRight, Integer},
    {"dot(x, t:dot'(y, z))", "dot(dot(x, y), z), where that is cheaper", DotToTheLeft, Integer},
};

}  // namespace

absl::Span<const Rule> DotRules() { return kDotRules; }

}  // namespace kiln::passes::simplify
