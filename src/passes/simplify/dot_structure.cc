// Products of what has zeros in known places, and sums of products.
#include <utility>

#include "src/passes/simplify/dot.h"
#include "src/passes/simplify/guards.h"

namespace kiln::passes::simplify {

using hlo::DotAttributes;

namespace {

// What stands on the diagonal, a scalar or a vector; null where other elements may not be zero.
Instruction* DiagonalOf(Instruction* matrix, Builder& builder) {
  constexpr int64_t kMaxSize = 1024;
  const Shape& shape = matrix->shape();
  if (matrix->opcode() == Opcode::kSelect) {
    const Instruction& compare = *matrix->operand(0);
    Instruction* taken = matrix->operands()[1];
    if (!IsDiagonal(compare) || taken->opcode() != Opcode::kBroadcast || taken->operand(0)->shape().rank() > 1) {
      return nullptr;
    }
    return taken->operands()[0];
  }
  if (!matrix->IsConstant() || shape.rank() != 2 || shape.dimensions(0) != shape.dimensions(1) ||
      shape.dimensions(0) < 2 || shape.dimensions(0) > kMaxSize) {
    return nullptr;
  }
  const size_t width = static_cast<size_t>(hlo::ByteWidth(shape.element_type()));
  const size_t size = static_cast<size_t>(shape.dimensions(0));
  const auto bytes = matrix->literal().bytes();
  std::vector<std::byte> diagonal;
  for (size_t i = 0; i < size * size; ++i) {
    const auto element = bytes.subspan(i * width, width);
    if (i % (size + 1) == 0) {
      diagonal.insert(diagonal.end(), element.begin(), element.end());
    } else if (absl::c_any_of(element, [](std::byte byte) { return byte != std::byte{0}; })) {
      return nullptr;
    }
  }
  absl::StatusOr<Literal> literal =
      Literal::FromBytes(Shape(shape.element_type(), {shape.dimensions(0)}), absl::MakeConstSpan(diagonal));
  return literal.ok() ? builder.Constant(*std::move(literal)) : nullptr;
}

// Dimensions of an operand that are neither batches nor summed over.
DimensionVector FreeDimensions(const Shape& shape, const DimensionVector& batch, const DimensionVector& contracting) {
  DimensionVector free;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (!Contains(batch, i) && !Contains(contracting, i)) free.push_back(i);
  }
  return free;
}

Shape ShapeOfDot(PrimitiveType type, const Shape& x, const Shape& y, const DotAttributes& a) {
  DimensionVector sizes;
  for (int64_t i : a.lhs_batch) sizes.push_back(x.dimensions(i));
  for (int64_t i : FreeDimensions(x, a.lhs_batch, a.lhs_contracting)) sizes.push_back(x.dimensions(i));
  for (int64_t i : FreeDimensions(y, a.rhs_batch, a.rhs_contracting)) sizes.push_back(y.dimensions(i));
  return Shape(type, sizes);
}

bool IsPlain(const Instruction& dot) {
  return dot.operand_count() == 2 && dot.Get<DotAttributes>().algorithm == hlo::DotAlgorithm::kUnset;
}

}  // namespace

Instruction* DotWithDiagonal(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &matrix = *match['m'];
  const auto& a = root.Get<DotAttributes>();
  Instruction* x = match['x'];
  const bool on_the_left = root.operand(0) == &matrix;
  const DimensionVector& contracting = on_the_left ? a.rhs_contracting : a.lhs_contracting;
  if (!IsPlain(root) || x == &matrix || !a.lhs_batch.empty() || contracting.size() != 1 || matrix.shape().rank() != 2 ||
      x->shape().rank() > 2 || x->shape().element_type() != root.shape().element_type() ||
      matrix.shape().element_type() != root.shape().element_type()) {
    return nullptr;
  }
  Instruction* diagonal = DiagonalOf(match['m'], builder);
  if (diagonal == nullptr) return nullptr;
  // The dimension of the result along which the diagonal lies, which x has where it is summed over.
  const int64_t along = on_the_left || root.shape().rank() == 1 ? 0 : 1;
  if (x->shape().rank() == 2 && contracting[0] != along) x = builder.Transpose(x, {1, 0});
  DimensionVector map;
  if (!diagonal->shape().IsScalar()) map = {along};
  return builder.Binary(Opcode::kMultiply, x, builder.Broadcast(diagonal, root.shape().dimensions(), map));
}

Instruction* DotOfPad(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &padded = *match['t'];
  const DotAttributes& a = root.Get<DotAttributes>();
  const auto& pad = padded.Get<hlo::PadAttributes>();
  if (!IsPlain(root) || root.operand(0) == root.operand(1)) return nullptr;
  const bool is_left = root.operand(0) == &padded;
  const DimensionVector &batch = is_left ? a.lhs_batch : a.rhs_batch,
                        &contracting = is_left ? a.lhs_contracting : a.rhs_contracting,
                        &others = is_left ? a.rhs_contracting : a.lhs_contracting;
  Instruction* y = match['y'];
  const auto* other_pad =
      y->opcode() == Opcode::kPad && SplatValue(*y->operand(1)) && hlo::IsSplatOf(*SplatValue(*y->operand(1)), 0)
          ? y->GetIf<hlo::PadAttributes>()
          : nullptr;
  // Zero times what is not finite is not zero; against zeros of the other side it is.
  bool is_finite = IsFinite(*y), is_against_zeros = true;
  hlo::SliceAttributes slice = {DimensionVector(y->shape().rank(), 0), y->shape().dimensions(),
                                DimensionVector(y->shape().rank(), 1)};
  hlo::PadAttributes rest;
  rest.low = rest.high = rest.interior = DimensionVector(root.shape().rank(), 0);
  const DimensionVector free = FreeDimensions(padded.shape(), batch, contracting);
  const int64_t first = is_left ? static_cast<int64_t>(batch.size())
                                : root.shape().rank() - static_cast<int64_t>(free.size());  // of these in the result
  for (int64_t i = 0; i < padded.shape().rank(); ++i) {
    if (pad.low[i] == 0 && pad.high[i] == 0 && pad.interior[i] == 0) continue;
    if (pad.low[i] < 0 || pad.high[i] < 0 || pad.interior[i] != 0 || Contains(batch, i)) return nullptr;
    const auto summed = absl::c_find(contracting, i);
    if (summed == contracting.end()) {
      const int64_t at = first + (absl::c_find(free, i) - free.begin());
      rest.low[at] = pad.low[i];
      rest.high[at] = pad.high[i];
      is_against_zeros = false;
      continue;
    }
    const int64_t other = others[summed - contracting.begin()];
    slice.start[other] = pad.low[i];
    slice.limit[other] -= pad.high[i];
    is_against_zeros &= other_pad != nullptr && other_pad->low[other] >= pad.low[i] &&
                        other_pad->high[other] >= pad.high[i] && other_pad->interior[other] == 0;
  }
  if (!is_finite && !is_against_zeros) return nullptr;
  y = builder.Slice(y, slice);
  Instruction *lhs = is_left ? match['x'] : y, *rhs = is_left ? y : match['x'];
  Instruction* dot =
      builder.Add(Opcode::kDot, ShapeOfDot(root.shape().element_type(), lhs->shape(), rhs->shape(), a), {lhs, rhs}, a);
  if (dot->shape() == root.shape()) return dot;
  Instruction* zero = builder.Constant(hlo::ZeroLiteral(root.shape().element_type()));
  return builder.Add(Opcode::kPad, root.shape(), {dot, zero}, rest);
}

Instruction* DotOfColumns(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &dot = *match['t'];
  if (!IsPlain(dot) || root.operand_count() != 2 || root.operand(0) == root.operand(1)) return nullptr;
  DotAttributes a = root.Get<DotAttributes>(), swapped = dot.Get<DotAttributes>();
  const int64_t rank = dot.shape().rank(), batches = static_cast<int64_t>(swapped.lhs_batch.size()),
                of_y = match['y']->shape().rank() - batches - static_cast<int64_t>(swapped.rhs_contracting.size()),
                of_x = rank - batches - of_y;
  const bool is_left = root.operand(0) == &dot;
  DimensionVector &batch = is_left ? a.lhs_batch : a.rhs_batch,
                  &contracting = is_left ? a.lhs_contracting : a.rhs_contracting;
  const auto is_batch = [&](int64_t dimension) { return Contains(batch, dimension); };
  for (int64_t i = batches; i < rank; ++i) {
    if (is_batch(i) != (i >= batches + of_x)) return nullptr;
  }
  if (of_x == 0 || of_y == 0) return nullptr;
  for (DimensionVector* dimensions : {&batch, &contracting}) {
    for (int64_t& dimension : *dimensions) {
      if (dimension >= batches) dimension += dimension < batches + of_x ? of_y : -of_x;
    }
  }
  std::swap(swapped.lhs_batch, swapped.rhs_batch);
  std::swap(swapped.lhs_contracting, swapped.rhs_contracting);
  if (swapped.operand_precision.size() == 2) std::swap(swapped.operand_precision[0], swapped.operand_precision[1]);
  Instruction *x = match['x'], *y = match['y'];
  const Shape shape = ShapeOfDot(dot.shape().element_type(), y->shape(), x->shape(), swapped);
  Instruction* columns = builder.Add(Opcode::kDot, shape, {y, x}, std::move(swapped));
  Instruction *lhs = is_left ? columns : match['z'], *rhs = is_left ? match['z'] : columns;
  return builder.Add(Opcode::kDot, root.shape(), {lhs, rhs}, std::move(a));
}

Instruction* ReduceOfDot(const Match& match, Builder& builder) {
  const Instruction &root = *match.root(), &dot = *match['t'];
  DotAttributes a = dot.Get<DotAttributes>();
  const PrimitiveType type = dot.shape().element_type();
  if (!IsPlain(dot)) return nullptr;
  Instruction *x = match['x'], *y = match['y'];
  const bool is_exact = hlo::IsIntegral(type) && x->shape().element_type() == type && y->shape().element_type() == type;
  const int64_t batches = static_cast<int64_t>(a.lhs_batch.size());
  const DimensionVector free_x = FreeDimensions(x->shape(), a.lhs_batch, a.lhs_contracting),
                        free_y = FreeDimensions(y->shape(), a.rhs_batch, a.rhs_contracting);
  DimensionVector of_x, of_y, lhs_batch, rhs_batch;  // summed before the product; batches that stay
  for (int64_t i = 0; i < dot.shape().rank(); ++i) {
    const bool is_summed = Contains(root.dimensions(), i);
    if (i < batches) {
      (is_summed ? a.lhs_contracting : lhs_batch).push_back(a.lhs_batch[i]);
      (is_summed ? a.rhs_contracting : rhs_batch).push_back(a.rhs_batch[i]);
    } else if (is_summed) {
      const int64_t of_free = i - batches, in_x = static_cast<int64_t>(free_x.size());
      if (!is_exact) return nullptr;
      if (of_free < in_x) {
        of_x.push_back(free_x[of_free]);
      } else {
        of_y.push_back(free_y[of_free - in_x]);
      }
    }
  }
  // Sums over both sides would be a product of sums: one of the two comes first.
  if (!of_x.empty() && !of_y.empty()) return nullptr;
  a.lhs_batch = std::move(lhs_batch);
  a.rhs_batch = std::move(rhs_batch);
  const auto sum = [&](Instruction* operand, const DimensionVector& summed, DimensionVector* batch,
                       DimensionVector* contracting) {
    if (summed.empty()) return operand;
    for (DimensionVector* dimensions : {batch, contracting}) {
      for (int64_t& dimension : *dimensions) {
        dimension -= absl::c_count_if(summed, [&](int64_t other) { return other < dimension; });
      }
    }
    return builder.Reduce(operand, root.operands()[1], summed, root.called_computation());
  };
  x = sum(x, of_x, &a.lhs_batch, &a.lhs_contracting);
  y = sum(y, of_y, &a.rhs_batch, &a.rhs_contracting);
  return builder.Add(Opcode::kDot, root.shape(), {x, y}, std::move(a));
}

}  // namespace kiln::passes::simplify
