#include "src/passes/vector_products.h"

#include "src/analysis/fusion_model.h"
#include "src/base/cpu_tuning.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// What is smaller is in the caches anyway.
constexpr int64_t kMinBytes = 32 << 10;

// Sums of so few products are made as others of the same rows are.
constexpr int64_t kFewProducts = 16;
constexpr int kMaxSteps = 4;

// The type that products are summed in; of floats narrower than that they are exact.
PrimitiveType SumType(PrimitiveType type) {
  return hlo::IsFloating(type) && hlo::BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
}

Instruction* Expand(Instruction* dot) {
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
      matrix->shape().byte_count() < kMinBytes || hlo::IsComplex(type) ||
      hlo::BitWidth(sum) < hlo::BitWidth(matrix->shape().element_type()) ||
      hlo::IsFloating(type) != hlo::IsFloating(matrix->shape().element_type())) {
    return nullptr;
  }
  // Others may read the matrix as well where all make it again at little cost.
  const Instruction* rows = matrix;
  while (rows->opcode() == Opcode::kReshape) rows = rows->operand(0);
  const bool is_made_again = matrix->shape().dimensions(contracted) <= kFewProducts &&
                             contracted + 1 < matrix->shape().rank() && analysis::IsMadeFromArguments(*rows, kMaxSteps);
  const bool is_made = matrix->users().size() == 1 && analysis::BytesMadeOf(*matrix, /*cheap=*/false).has_value();
  // One that comes from memory streams through the kernel.
  const bool is_far = sum == matrix->shape().element_type() && hlo::IsFloating(sum) &&
                      matrix->shape().byte_count() >= Tuning().products.vector_product_bytes;
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

absl::StatusOr<bool> ExpandVectorProducts(Module* module) { return ReplaceOps(module, {Opcode::kDot}, Expand); }

}  // namespace kiln::passes
