#include "src/passes/vector_products.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "src/analysis/fusion_model.h"
#include "src/base/cpu_tuning.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// What is smaller is in the caches anyway.
constexpr int64_t kMinVectorBytes = 32 << 10;

// Sums of so few products are made as others of the same rows are.
constexpr int64_t kFewProducts = 16;
constexpr int kMaxVectorSteps = 4;

// The type that products are summed in; of floats narrower than that they are exact.
PrimitiveType SumType(PrimitiveType type) {
  return hlo::IsFloating(type) && hlo::BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
}

// Of an operand of a product with one contracted dimension.
struct ProductSide {
  Instruction* array;
  const DimensionVector& batch;
  int64_t contracted;
  int64_t free = -1;  // its only other dimension, where it has one

  ProductSide(Instruction* operand, const DimensionVector& batch_dimensions, int64_t contracted_dimension)
      : array(operand), batch(batch_dimensions), contracted(contracted_dimension) {
    for (int64_t d = 0; d < rank(); ++d) {
      if (d != contracted && !absl::c_linear_search(batch, d)) free = d;
    }
  }
  int64_t rank() const { return array->shape().rank(); }
  int64_t rows() const { return free < 0 ? 1 : array->shape().dimensions(free); }
};

// Batches side by side in memory, as columns of two arrays that are multiplied with each other: vectors run along them,
// as in any sum of columns, and the smaller array is transposed for that where it must be. Matrices are read again for
// each row of the other side.
Instruction* ExpandAlongBatches(Instruction* dot) {
  constexpr int64_t kMinBatches = 16, kMinElements = 1 << 12, kMaxRows = 8;
  const auto& attributes = dot->Get<hlo::DotAttributes>();
  const int64_t batch = static_cast<int64_t>(attributes.lhs_batch.size());
  const PrimitiveType type = dot->shape().element_type(), sum = SumType(type);
  if (batch == 0 || attributes.lhs_contracting.size() != 1 || !analysis::HasPlainShape(*dot)) return nullptr;
  const ProductSide lhs(dot->operands()[0], attributes.lhs_batch, attributes.lhs_contracting[0]),
      rhs(dot->operands()[1], attributes.rhs_batch, attributes.rhs_contracting[0]);
  // The dimensions of the larger one, that of the other's rows among them, are those that are summed over.
  const bool lhs_is_larger = lhs.array->shape().element_count() > rhs.array->shape().element_count();
  const ProductSide &large = lhs_is_larger ? lhs : rhs, &small = lhs_is_larger ? rhs : lhs;
  const int64_t last = large.rank() - 1;
  if (!absl::c_linear_search(large.batch, last) || large.array->shape().dimensions(last) < kMinBatches ||
      large.array->shape().element_count() < kMinElements || std::min(lhs.rows(), rhs.rows()) > kMaxRows) {
    return nullptr;
  }
  for (const ProductSide* side : {&large, &small}) {
    const PrimitiveType element = side->array->shape().element_type();
    if (side->rank() > batch + 2 || (element != sum && !(element == type && hlo::IsFloating(type)))) return nullptr;
  }
  // Where each side's dimensions are in the product's.
  const int64_t inserted = small.free >= 0 ? 1 : 0;
  const auto place = [&](int64_t d) { return d < large.contracted ? d : d + inserted; };
  DimensionVector dimensions = large.array->shape().dimensions();
  if (inserted == 1) dimensions.insert(dimensions.begin() + large.contracted, small.rows());
  DimensionVector of_large, of_small(small.rank(), large.contracted), order(small.rank());
  for (int64_t d = 0; d < large.rank(); ++d) of_large.push_back(place(d));
  for (int64_t i = 0; i < batch; ++i) of_small[small.batch[i]] = place(large.batch[i]);
  of_small[small.contracted] = place(large.contracted);
  absl::c_iota(order, 0);
  absl::c_sort(order, [&](int64_t a, int64_t b) { return of_small[a] < of_small[b]; });
  absl::c_sort(of_small);
  // The sum's dimensions as the result has them: batches, rows of lhs, rows of rhs.
  const int64_t summed = place(large.contracted);
  DimensionVector wanted;
  for (int64_t d : large.batch) wanted.push_back(place(d));
  for (const ProductSide* side : {&lhs, &rhs}) {
    if (side->free >= 0) wanted.push_back(side == &large ? place(side->free) : large.contracted);
  }
  for (int64_t& d : wanted) d -= d > summed ? 1 : 0;
  Builder b(dot->parent(), dot);
  const auto spread = [&](Instruction* array, const DimensionVector& places) {
    return b.Broadcast(b.Convert(array, sum), dimensions, places);
  };
  Instruction* products =
      b.Binary(Opcode::kMultiply, spread(large.array, of_large), spread(b.Transpose(small.array, order), of_small));
  Instruction* sums = b.Reduce(products, b.Scalar(sum, 0), {summed}, Opcode::kAdd);
  return b.Transpose(b.Convert(sums, type), wanted);
}

Instruction* ExpandVectorProduct(Instruction* dot) {
  if (Instruction* columns = ExpandAlongBatches(dot); columns != nullptr) return columns;
  const auto& attributes = dot->Get<hlo::DotAttributes>();
  const size_t batch = attributes.lhs_batch.size();
  if (!analysis::HasPlainShape(*dot) || attributes.lhs_contracting.size() != 1) return nullptr;
  const bool vector_first = dot->operand(0)->shape().dimensions().size() == batch + 1;
  Instruction* vector = dot->operands()[vector_first ? 0 : 1];
  Instruction* matrix = dot->operands()[vector_first ? 1 : 0];
  const DimensionVector& of_matrix = vector_first ? attributes.rhs_batch : attributes.lhs_batch;
  const DimensionVector& of_vector = vector_first ? attributes.lhs_batch : attributes.rhs_batch;
  const int64_t contracted = (vector_first ? attributes.rhs_contracting : attributes.lhs_contracting)[0];
  const PrimitiveType type = dot->shape().element_type(), sum = SumType(type);
  if (vector->shape().dimensions().size() != batch + 1 || matrix->shape().dimensions().size() != batch + 2 ||
      matrix->shape().byte_count() < kMinVectorBytes || hlo::IsComplex(type) ||
      hlo::BitWidth(sum) < hlo::BitWidth(matrix->shape().element_type()) ||
      hlo::IsFloating(type) != hlo::IsFloating(matrix->shape().element_type())) {
    return nullptr;
  }
  // Others may read the matrix as well where all make it again at little cost.
  const Instruction* rows = matrix;
  while (rows->opcode() == Opcode::kReshape) rows = rows->operand(0);
  const bool is_made_again = matrix->shape().dimensions(contracted) <= kFewProducts &&
                             contracted + 1 < matrix->shape().rank() &&
                             analysis::IsMadeFromArguments(*rows, kMaxVectorSteps);
  const bool is_made = matrix->users().size() == 1 && analysis::BytesMadeOf(*matrix, /*cheap=*/false).has_value();
  // One that comes from memory streams through the kernel.
  const ProductTuning& costs = Tuning().products;
  const int64_t far_bytes =
      contracted + 1 < matrix->shape().rank() ? costs.vector_product_bytes : costs.row_vector_product_bytes;
  const bool is_far =
      sum == matrix->shape().element_type() && hlo::IsFloating(sum) && matrix->shape().byte_count() >= far_bytes;
  if (!is_made && !is_made_again && !is_far) return nullptr;
  DimensionVector places(batch + 1, contracted);
  for (size_t i = 0; i < batch; ++i) {
    if (of_matrix[i] != static_cast<int64_t>(i)) return nullptr;
    places[of_vector[i]] = of_matrix[i];
  }
  // A broadcast keeps the order of dimensions.
  if (!absl::c_is_sorted(places)) return nullptr;
  Builder builder(dot->parent(), dot);
  Instruction* spread = builder.Broadcast(builder.Convert(vector, sum), matrix->shape().dimensions(), places);
  Instruction* products = builder.Binary(Opcode::kMultiply, builder.Convert(matrix, sum), spread);
  return builder.Convert(builder.Reduce(products, builder.Scalar(sum, 0), {contracted}, Opcode::kAdd), type);
}

}  // namespace

absl::StatusOr<bool> ExpandVectorProducts(Module* module) {
  return ReplaceOps(module, {Opcode::kDot}, ExpandVectorProduct);
}

}  // namespace kiln::passes
