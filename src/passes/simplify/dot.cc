// Dot. Its form is the work of dot-canonicalization; here what makes it vanish or cheaper.
#include "src/passes/simplify/dot.h"

#include <algorithm>

#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {

using hlo::DotAttributes;

namespace {

// Where the two counts of a comparison for equality run along different dimensions of a square.
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

constexpr Rule kRules[] = {
    {"dot(x, _)", "0", EmptyX},
    {"dot(x, y)", "multiply(broadcast(x), broadcast(y)), where sums have one product", OuterProduct, SignlessZero},
    {"dot(0, _)", "0", Integer},
    {"dot(_, 0)", "0", Integer},
    {"dot(x, i)", "x, where i is an identity matrix", DotWithIdentity, FiniteX},
    {"dot(i, x)", "x, where i is an identity matrix", DotWithIdentity, FiniteX},
    {"dot(t:transpose(x), _)", "dot(x, _)", ReadLeftTransposed},
    {"dot(_, t:transpose(x))", "dot(_, x)", ReadRightTransposed},
    {"t:dot(negate(x), negate(y))", "t(x, y)", Unwidened},
    {"t:dot(multiply'(x, broadcast(s)), y)", "multiply(t(x, y), broadcast(s))", Integer, SmallProduct},
    {"t:dot(y, multiply'(x, broadcast(s)))", "multiply(t(y, x), broadcast(s))", Integer, SmallProduct},
    {"t:dot(multiply'(x, c), y)", "multiply(t(x, y), c)", ExactReciprocal, ArgumentX, NoOverflowBetween},
    {"t:dot(y, multiply'(x, c))", "multiply(t(y, x), c)", ExactReciprocal, ArgumentX, NoOverflowBetween},
    {"add(t:dot'(x, y), u:dot'(x, z))", "t(x, add(y, z))", Integer, Like, Unwidened},
    {"add(t:dot'(x, y), u:dot'(z, y))", "t(add(x, z), y)", Integer, Like, Unwidened},
    {"dot(t:dot'(x, y), z)", "dot(x, dot(y, z)), where that is cheaper", DotToTheRight, Integer},
    {"dot(x, t:dot'(y, z))", "dot(dot(x, y), z), where that is cheaper", DotToTheLeft, Integer},
};

}  // namespace

absl::Span<const Rule> DotRules() { return kRules; }

}  // namespace kiln::passes::simplify
